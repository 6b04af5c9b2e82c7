//! What is to be done for one replica set, from what is known at one moment.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use portolan_api::FieldError;
use portolan_api::work::Summary;
use portolan_rollout::{Cluster, Existing, Groups, Input, Plan, Status, is_done, plan};
use serde_json::json;
use tokio::time::Instant;

use super::attempts::Attempt;
use super::decisions::Reading;
use super::failures::{Failure, most_frequent};
use super::key::WorkKey;
use super::message::WorkWrite;
use super::refusals::{Cause, REFUSALS, Refusal};
use super::set::{Mistake, Reference, Set};
use super::works::Work;
use crate::absence::{Absence, Absences, Judgement};
use crate::bound::Right;
use crate::moment::Moment;
use crate::sabotage::{Rule, broken};

/// What is known at one moment.
pub(super) struct View<'a> {
    pub(super) set: &'a Set,
    /// Every work of the replica set.
    pub(super) works: &'a BTreeMap<WorkKey, Work>,
    /// What the decision of a placement says.
    pub(super) read: &'a dyn Fn(&str) -> Reading,
    /// How many clusters a placement asks for, where it says a number.
    pub(super) wanted: &'a dyn Fn(&str) -> Option<usize>,
    pub(super) offline: &'a BTreeSet<String>,
    pub(super) absences: &'a Absences,
    /// Whether a cluster may get a work that it does not have.
    pub(super) right: &'a dyn Fn(&str) -> Right,
    /// By cluster.
    pub(super) refusals: &'a BTreeMap<String, Refusal>,
    /// By cluster.
    pub(super) attempts: &'a BTreeMap<String, Attempt>,
    pub(super) now: Moment,
}

/// What is to be done, and what there is to tell.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) works: Vec<WorkWrite>,
    pub(super) tally: Tally,
    /// Clusters whose turn it was and that no bound set has.
    pub(super) unbound: Vec<String>,
    /// Clusters whose turn it was and whose former work is still leaving.
    pub(super) losing: Vec<String>,
    /// Every cluster that a decision names; nothing while one is in doubt.
    pub(super) selected: Option<BTreeSet<String>>,
    /// When to look again although nothing happened.
    pub(super) recheck: Option<Instant>,
}

/// How far the rollouts of a replica set are.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) mistake: Option<Mistake>,
    pub(super) placements: Vec<PlacementTally>,
    /// Placements that are not there.
    pub(super) missing: Vec<String>,
    /// Placements whose decision cannot be believed yet, and why.
    pub(super) unsettled: Vec<(String, String)>,
    /// Works that would be deleted, were it certain that nobody wants them.
    pub(super) kept_on_doubt: usize,
    /// Clusters that no decision names and whose works are kept, because they cannot be reached or have just come back.
    pub(super) absent: Vec<String>,
    /// Clusters that refuse their work, by name.
    pub(super) refused: BTreeMap<String, Refused>,
    /// Settings of the strategies that do something else than they seem to, such as positions that no group has.
    pub(super) strategy_warnings: Vec<FieldError>,
    /// Why works fail, the most frequent causes of each placement.
    pub(super) failures: Vec<Failure>,
}

/// A cluster that refuses its work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused {
    pub(super) cause: Cause,
    /// Whether it counts as failed.
    pub(super) is_failed: bool,
}

/// How far the rollout to one placement is.
#[derive(Clone, Debug, Default)]
pub(super) struct PlacementTally {
    pub(super) name: String,
    pub(super) groups: usize,
    pub(super) summary: Summary,
    /// Clusters that succeeded and have soaked.
    pub(super) done: usize,
    pub(super) failed: usize,
    pub(super) offline: usize,
    /// Clusters that have the template and neither succeeded nor failed.
    pub(super) in_progress: usize,
    pub(super) is_over_budget: bool,
}

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
    match absence.filter(|_| is_referred_to && !broken(Rule::SilentIsNotUnwanted)) {
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

/// The one work of each cluster that counts, by cluster.
type Primaries<'a> = BTreeMap<&'a str, (&'a WorkKey, &'a Work)>;

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

/// The rollout to one placement.
pub(super) struct Rollout<'a> {
    view: &'a View<'a>,
    pub(super) reference: &'a Reference,
    pub(super) groups: &'a Groups,
    primary: &'a Primaries<'a>,
}

impl<'a> Rollout<'a> {
    pub(super) fn now(&self) -> Moment {
        self.view.now
    }

    fn work(&self, cluster: &str) -> Option<(&'a WorkKey, &'a Work)> {
        self.primary.get(cluster).copied()
    }

    pub(super) fn current(&self, cluster: &str) -> Option<&'a Work> {
        let (_, work) = self.work(cluster)?;
        (!work.is_leaving && self.view.set.is_current(work.content)).then_some(work)
    }

    fn refusal(&self, cluster: &str) -> Option<&Refusal> {
        self.view
            .refusals
            .get(cluster)
            .filter(|_| self.current(cluster).is_none())
    }

    /// Why a cluster without its work counts as failed. One that counted before a restart counts at its first refusal.
    pub(super) fn failed_refusal(&self, cluster: &str) -> Option<&Refusal> {
        self.refusal(cluster)
            .filter(|refusal| refusal.times >= REFUSALS || self.view.set.refused.contains(cluster))
    }

    pub(super) fn plan(&self) -> Result<Plan, Vec<FieldError>> {
        let existing: Vec<Existing> = self
            .groups
            .clusters()
            .filter_map(|cluster| self.existing(cluster))
            .collect();
        let input = Input {
            groups: self.groups,
            existing: &existing,
            unreachable: self.view.offline,
            now: self.view.now.wall,
        };
        plan(&self.reference.strategy, &input)
    }

    /// The attempt of a cluster at the template, unless it has ended with a success.
    fn attempt(&self, cluster: &str) -> Option<&Attempt> {
        let soak = self.reference.strategy.soak_time();
        let attempt = self.view.attempts.get(cluster);
        attempt.filter(|attempt| !attempt.has_soaked(soak))
    }

    /// A work with another template is none: the cluster waits for its turn. One that was given the template has had its turn,
    /// whatever somebody made of the work meanwhile.
    fn existing(&self, cluster: &str) -> Option<Existing> {
        let (now, attempt) = (self.view.now, self.attempt(cluster));
        let awaited = attempt.map(|attempt| attempt.awaited(now));
        let first_report_time = attempt.and_then(|attempt| attempt.first_report(now));
        let (work, status, since) = match (self.current(cluster), self.failed_refusal(cluster)) {
            (Some(work), _) => {
                let since = work.since(now);
                let status = work.report.status;
                let since = awaited.filter(|_| status == Status::ToApply).or(since);
                (Some(work), status, since)
            }
            (None, Some(refusal)) => (None, Status::Failed, Some(refusal.first.wall(now))),
            (None, None) => (None, Status::ToApply, Some(awaited?)),
        };
        Some(Existing {
            cluster_name: cluster.to_owned(),
            group_key: work.and_then(|work| work.group.clone()),
            status,
            last_transition_time: since,
            first_report_time,
        })
    }

    fn carry_out(&self, plan: &Plan, verdict: &mut Verdict) {
        if !self.view.set.is_paused() && !self.view.set.is_aborted() {
            let refused = plan.clusters_time_out.iter();
            for cluster in plan.clusters_to_rollout.iter().chain(refused) {
                self.start(cluster, verdict);
            }
        }
        let started: HashSet<WorkKey> = verdict.works.iter().map(WorkWrite::key).collect();
        for cluster in self.groups.clusters() {
            self.label(cluster, &started, verdict);
        }
        if let Some(after) = plan.recheck_after {
            let at = self.view.now.instant.checked_add(after);
            verdict.recheck = earliest(verdict.recheck, at);
        }
        verdict.tally.placements.push(self.tally(plan));
        let warnings = self.reference.strategy.warnings.iter().cloned();
        verdict.tally.strategy_warnings.extend(warnings);
        if self.groups.cluster_count() > 0 {
            let absent = self.reference.strategy.absent_positions(self.groups);
            verdict.tally.strategy_warnings.extend(absent);
        }
        let refused = self.groups.clusters().filter_map(|cluster| {
            let refused = Refused {
                cause: self.refusal(cluster)?.cause,
                is_failed: self.failed_refusal(cluster).is_some(),
            };
            Some((cluster.to_owned(), refused))
        });
        verdict.tally.refused.extend(refused);
        let failing = self.groups.clusters().filter_map(|cluster| {
            let failure = self.current(cluster)?.report.failure()?;
            Some((cluster, failure))
        });
        verdict.tally.failures.extend(most_frequent(failing));
    }

    /// Gives a cluster the template, unless it has it, is being removed, is still losing an older work, or has just refused
    /// it.
    fn start(&self, cluster: &Cluster, verdict: &mut Verdict) {
        let name = cluster.cluster_name.as_str();
        if self.current(name).is_some() || self.view.absences.of(name) == Some(Absence::Leaving) {
            return;
        }
        if let Some(refusal) = self.refusal(name)
            && refusal.until > self.view.now.instant
        {
            verdict.recheck = earliest(verdict.recheck, Some(refusal.until));
            return;
        }
        let now = self.view.now;
        let since = self.attempt(name).map_or(now.wall, |attempt| attempt.begun(now));
        let since = since.to_string();
        let (set, placement) = (self.view.set, &self.reference.placement);
        let right = match broken(Rule::BoundClustersOnly) {
            true => Right::Granted,
            false => (self.view.right)(name),
        };
        // A work that is there stays as it is without the right: whoever lost a cluster must not change what runs there.
        match (self.work(name), right) {
            (Some((_, work)), _) if work.is_leaving => verdict.losing.push(name.to_owned()),
            (_, Right::Missing) => verdict.unbound.push(name.to_owned()),
            (_, Right::Unknown) => {
                let why = "it is not known yet which clusters are bound to this namespace";
                let unsettled = (placement.clone(), why.to_owned());
                if !verdict.tally.unsettled.contains(&unsettled) {
                    verdict.tally.unsettled.push(unsettled);
                }
            }
            (Some((key, work)), Right::Granted) => verdict.works.push(WorkWrite::Replace {
                version: work.version.clone(),
                work: Arc::new(set.work(name, Some(&key.name), placement, &cluster.group_key, since)),
            }),
            (None, Right::Granted) => {
                let work = set.work(name, None, placement, &cluster.group_key, since);
                verdict.works.push(WorkWrite::Create(Arc::new(work)));
            }
        }
    }

    /// Puts labels right. They are no part of the template and wait for nobody.
    fn label(&self, cluster: &str, started: &HashSet<WorkKey>, verdict: &mut Verdict) {
        let Some((key, work)) = self.work(cluster).filter(|(_, work)| !work.is_leaving) else {
            return;
        };
        let wanted = self.view.set.labels(&self.reference.placement);
        if wanted
            .iter()
            .any(|(key, value)| work.labels.get(key) != Some(value))
            && !started.contains(key)
        {
            verdict.works.push(WorkWrite::Labels {
                key: key.clone(),
                version: work.version.clone(),
                labels: json!(wanted),
            });
        }
    }

    /// Whether the cluster has succeeded for as long as it should, wherever the rollout is now.
    pub(super) fn is_done(&self, cluster: &str) -> bool {
        let existing = self.existing(cluster);
        existing.is_some_and(|existing| is_done(&self.reference.strategy, &existing, self.view.now.wall))
    }

    fn tally(&self, plan: &Plan) -> PlacementTally {
        let mut tally = PlacementTally {
            name: self.reference.placement.clone(),
            groups: self
                .groups
                .iter()
                .filter(|(_, members)| !members.is_empty())
                .count(),
            offline: plan.clusters_skipped.len(),
            is_over_budget: plan.max_failure_breach,
            ..PlacementTally::default()
        };
        let timed_out: BTreeSet<&str> = plan
            .clusters_time_out
            .iter()
            .map(|cluster| cluster.cluster_name.as_str())
            .collect();
        let summary = &mut tally.summary;
        for cluster in self.groups.clusters() {
            summary.desired_total += 1;
            summary.total += i32::from(self.work(cluster).is_some_and(|(_, work)| !work.is_leaving));
            let Some(work) = self.current(cluster) else {
                tally.failed += usize::from(self.failed_refusal(cluster).is_some());
                continue;
            };
            let report = &work.report;
            summary.updated += 1;
            summary.applied += i32::from(report.is_applied);
            summary.available += i32::from(report.is_available);
            summary.degraded += i32::from(report.is_degraded);
            summary.progressing += i32::from(report.is_progressing);
            tally.in_progress += usize::from(matches!(report.status, Status::ToApply | Status::Progressing));
            let is_failed = report.status == Status::Failed || timed_out.contains(cluster);
            tally.failed += usize::from(is_failed);
            tally.done += usize::from(self.is_done(cluster));
        }
        tally
    }
}

fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    [one, other].into_iter().flatten().min()
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
