//! What is to be done for one replica set, from what is known at one moment.

use std::collections::{BTreeMap, BTreeSet};

use portolan_rollout::Groups;

use super::decisions::Reading;
use super::key::WorkKey;
use super::message::WorkWrite;
use super::rollout::Rollout;
use super::set::{Mistake, Reference};
use super::verdict::{Primaries, Tally, Verdict, View, earliest};
use super::works::Work;
use crate::absence::Judgement;
use crate::sabotage::{Rule, sabotaged};

/// Decides what is to be done.
///
/// A cluster that several placements select belongs to the first of them in the order of the references. Nothing is
/// deleted while any of the decisions is in doubt.
pub(super) fn evaluate(view: &View<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    let references = match &view.set.references {
        Ok(references) => references,
        Err(mistake) => {
            verdict.tally.mistake = Some(mistake.clone());
            return verdict;
        }
    };
    let mut in_doubt = false;
    let mut mistakes = Vec::new();
    let (primary, taken) = visit(view, references, |reference, found| {
        let name = &reference.placement;
        match found {
            Ok(rollout) => match rollout.plan() {
                Ok(plan) => rollout.carry_out(&plan, &mut verdict),
                Err(errors) => mistakes.extend(errors),
            },
            Err(doubtful) => {
                in_doubt = true;
                match doubtful {
                    Reading::Unsettled(why) => verdict.tally.unsettled.push((name.clone(), why)),
                    _ => verdict.tally.missing.push(name.clone()),
                }
            }
        }
    });
    if !mistakes.is_empty() {
        return Verdict {
            tally: Tally {
                mistake: Some(Mistake::Strategy(mistakes)),
                ..Tally::default()
            },
            ..Verdict::default()
        };
    }
    let is_wanted = |key: &WorkKey| {
        taken.contains(&key.cluster)
            && primary
                .get(key.cluster.as_str())
                .is_none_or(|(primary, _)| *primary == key)
    };
    let mut fullness = Fullness::default();
    for (key, work) in view
        .works
        .iter()
        .filter(|(key, work)| !work.is_leaving && !is_wanted(key))
    {
        if in_doubt {
            verdict.tally.kept_on_doubt += 1;
            continue;
        }
        match judge(view, references, key, work, &mut fullness) {
            Judgement::Delete => verdict.works.push(WorkWrite::Delete {
                key: key.clone(),
                uid: work.uid.clone(),
            }),
            Judgement::Keep => verdict.tally.absent.push(key.cluster.clone()),
            Judgement::KeepUntil(at) => {
                verdict.tally.absent.push(key.cluster.clone());
                verdict.recheck = earliest(verdict.recheck, Some(at));
            }
        }
    }
    verdict.selected = (!in_doubt).then_some(taken);
    verdict
}

/// What becomes of a work that no decision wants.
pub(super) fn judge(
    view: &View<'_>,
    references: &[Reference],
    key: &WorkKey,
    work: &Work,
    fullness: &mut Fullness,
) -> Judgement {
    let is_referred_to = references
        .iter()
        .any(|reference| reference.placement == work.placement);
    let absence = view.absences.of(&key.cluster);
    match absence.filter(|_| is_referred_to && !sabotaged(Rule::SilentIsNotUnwanted)) {
        Some(absence) => {
            let placement = work.placement.as_str();
            let (wanted, read) = (|| (view.wanted)(placement), || (view.read)(placement));
            absence.judge(|| fullness.of(placement, wanted, read), view.now)
        }
        None => Judgement::Delete,
    }
}

/// Whether placements have as many clusters as they ask for, by their names. Each is asked for once: thousands of clusters may be
/// absent, and to read a decision takes all of its clusters.
#[derive(Debug, Default)]
pub(super) struct Fullness(BTreeMap<String, bool>);

impl Fullness {
    /// A placement that asks for no number never has as many.
    fn of(
        &mut self,
        placement: &str,
        wanted: impl FnOnce() -> Option<usize>,
        read: impl FnOnce() -> Reading,
    ) -> bool {
        if let Some(known) = self.0.get(placement) {
            return *known;
        }
        let is_full = wanted().is_some_and(|wanted| match read() {
            Reading::Groups(groups) => groups.cluster_count() >= wanted,
            _ => false,
        });
        self.0.insert(placement.to_owned(), is_full);
        is_full
    }
}

/// Goes through the placements in the order of the references, each with the clusters that none before it has. Tells the
/// works that count, and the clusters that belong to any of them.
pub(super) fn visit<'a>(
    view: &View<'a>,
    references: &[Reference],
    mut each: impl FnMut(&Reference, Result<Rollout<'_>, Reading>),
) -> (Primaries<'a>, BTreeSet<String>) {
    let primary = primaries(view, references);
    let mut taken: BTreeSet<String> = BTreeSet::new();
    // Nothing is left of a placement that was visited before, so that its decision is not read again.
    let mut visited: BTreeMap<&str, Groups> = BTreeMap::new();
    for reference in references {
        let reading = match visited.get(reference.placement.as_str()) {
            Some(emptied) => Reading::Groups(emptied.clone()),
            None => (view.read)(&reference.placement),
        };
        match reading {
            Reading::Groups(groups) => {
                let groups = groups.without(|cluster| taken.contains(cluster));
                visited
                    .entry(&reference.placement)
                    .or_insert_with(|| groups.without(|_| true));
                let rollout = Rollout {
                    view,
                    reference,
                    groups: &groups,
                    primary: &primary,
                };
                each(reference, Ok(rollout));
                taken.extend(groups.clusters().map(str::to_owned));
            }
            doubtful => {
                // What it has it keeps; no other placement takes it over on doubt.
                let held = primary
                    .iter()
                    .filter(|(_, (_, work))| work.placement == reference.placement);
                taken.extend(held.map(|(cluster, _)| (*cluster).to_owned()));
                each(reference, Err(doubtful));
            }
        }
    }
    (primary, taken)
}

/// The one work of each cluster that counts, where there are several: that of the first placement, then by name.
fn primaries<'a>(view: &View<'a>, references: &[Reference]) -> Primaries<'a> {
    let rank = |work: &Work| {
        let position = references
            .iter()
            .position(|reference| reference.placement == work.placement);
        (work.is_leaving, position.unwrap_or(usize::MAX))
    };
    let mut primary: BTreeMap<&str, (&WorkKey, &Work)> = BTreeMap::new();
    for (key, work) in view.works {
        let best = primary.entry(&key.cluster).or_insert((key, work));
        if rank(work) < rank(best.1) {
            *best = (key, work);
        }
    }
    primary
}

#[cfg(test)]
mod fullness_tests {
    use super::*;

    #[test]
    fn the_decision_of_a_placement_is_read_once_for_all_absent_clusters() {
        let mut fullness = Fullness::default();
        let mut reads = 0;
        for _ in 0..1_000 {
            let read = || {
                reads += 1;
                Reading::Groups(Groups::default())
            };
            assert!(fullness.of("none", || Some(0), read));
        }
        assert_eq!(reads, 1);
        let never = || -> Reading { panic!("a placement that asks for no number is not read") };
        assert!(!fullness.of("all", || None, never));
    }
}
