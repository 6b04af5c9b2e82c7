//! From slices to one set.
//!
//! Without revisions the set is the union. With revisions it is one of them, whole: a state in which some slices are new
//! and some are old is nothing to act on.

use std::collections::{BTreeMap, BTreeSet};

use portolan_api::count::counted;

use crate::{DecisionSet, Revision, Slice};

/// Why a decision cannot be acted on at the moment. Whoever acted on it before keeps what it has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hold {
    /// Slices carry different revisions, and nothing says which of them is whole.
    #[error("the slices carry different revisions: {}", listed(.0))]
    Mixed(Vec<Option<Revision>>),
    /// No revision is whole.
    #[error("revision {revision} is not whole: {}, {}", carrying(.slices), wanted(.count))]
    Incomplete {
        /// The newest revision there is.
        revision: Revision,
        /// How many slices carry it.
        slices: usize,
        /// How many it has, if its slices agree.
        count: Option<u64>,
    },
    /// The newest whole revision contradicts itself.
    #[error("revision {revision} is whole but {why}")]
    Invalid {
        /// The revision.
        revision: Revision,
        /// The contradiction.
        why: String,
    },
}

/// Makes one set of the slices of one decision, for somebody who has acted on none of it yet. Slices of other decisions
/// must not be among them.
pub fn assemble<'a>(slices: impl IntoIterator<Item = &'a Slice>) -> Result<DecisionSet, Hold> {
    assemble_after(slices.into_iter().collect(), None)
}

/// The same for somebody who has acted on a revision already.
pub(crate) fn assemble_after(
    mut slices: Vec<&Slice>,
    acted_on: Option<&Revision>,
) -> Result<DecisionSet, Hold> {
    slices.sort_by_key(|slice| slice.place());
    match choose(&slices, acted_on)? {
        Some((revision, slices)) => Ok(union(&slices, Some(revision.clone()))),
        None => Ok(union(&slices, None)),
    }
}

type Chosen<'a> = (&'a Revision, Vec<&'a Slice>);

/// The slices of the revision to act on, or none where there are no revisions.
fn choose<'a>(slices: &[&'a Slice], acted_on: Option<&Revision>) -> Result<Option<Chosen<'a>>, Hold> {
    let mut revisions: BTreeMap<&Revision, Vec<&Slice>> = BTreeMap::new();
    for slice in slices {
        if let Some(revision) = &slice.revision {
            revisions.entry(revision).or_default().push(slice);
        }
    }
    let Some((newest, of_newest)) = revisions.last_key_value() else {
        return Ok(None);
    };
    let carrying: usize = revisions.values().map(Vec::len).sum();
    if revisions
        .values()
        .flatten()
        .all(|slice| slice.slice_count.is_none())
    {
        // Nothing tells how many slices there should be; what can be seen is whether all say the same.
        return if revisions.len() == 1 && carrying == slices.len() {
            Ok(Some((newest, of_newest.clone())))
        } else {
            let values: BTreeSet<Option<Revision>> =
                slices.iter().map(|slice| slice.revision.clone()).collect();
            Err(Hold::Mixed(values.into_iter().collect()))
        };
    }
    let ordered = revisions
        .keys()
        .all(|revision| matches!(revision, Revision::Number(_)));
    let incomplete = || Hold::Incomplete {
        revision: (*newest).clone(),
        slices: of_newest.len(),
        count: count_of(of_newest),
    };
    let mut whole: Vec<Chosen<'a>> = Vec::new();
    let mut contradiction = None;
    for (revision, slices) in &revisions {
        if !is_complete(slices) {
            continue;
        }
        match contradiction_in(slices) {
            None => whole.push((revision, slices.clone())),
            Some(why) => {
                contradiction = Some(Hold::Invalid {
                    revision: (*revision).clone(),
                    why,
                });
            }
        }
    }
    if !ordered && whole.len() > 1 {
        let values = whole.iter().map(|(revision, _)| Some((*revision).clone()));
        return Err(Hold::Mixed(values.collect()));
    }
    let Some((revision, slices)) = whole.pop() else {
        return Err(contradiction.unwrap_or_else(incomplete));
    };
    // An older revision is whole and a newer one, on which somebody acted, is in pieces: that is no way back.
    if ordered && acted_on.is_some_and(|acted_on| revision < acted_on) && revision < *newest {
        return Err(incomplete());
    }
    Ok(Some((revision, slices)))
}

/// The slices agree on their number and are numbered 0 to that number less one.
fn is_complete(slices: &[&Slice]) -> bool {
    let Some(count) = count_of(slices) else {
        return false;
    };
    let indexes: BTreeSet<u64> = slices.iter().filter_map(|slice| slice.index).collect();
    slices.len() as u64 == count && indexes.len() == slices.len() && indexes.last() == Some(&(count - 1))
}

fn count_of(slices: &[&Slice]) -> Option<u64> {
    let count = slices.first()?.slice_count.filter(|count| *count > 0)?;
    slices
        .iter()
        .all(|slice| slice.slice_count == Some(count))
        .then_some(count)
}

/// What the draft forbids inside one revision.
fn contradiction_in(slices: &[&Slice]) -> Option<String> {
    let first = slices.first()?;
    if let Some(other) = slices.iter().find(|slice| slice.scheduler != first.scheduler) {
        let name = |slice: &Slice| slice.scheduler.clone().unwrap_or_default();
        return Some(format!(
            "its slices name two schedulers, {:?} and {:?}",
            name(first),
            name(other)
        ));
    }
    if let Some(other) = slices
        .iter()
        .find(|slice| slice.placement_key != first.placement_key)
    {
        let key = |slice: &Slice| slice.placement_key.clone().unwrap_or_default();
        return Some(format!(
            "its slices have two placement-keys, {:?} and {:?}",
            key(first),
            key(other)
        ));
    }
    let mut seen = BTreeSet::new();
    let mut clusters = slices
        .iter()
        .flat_map(|slice| &slice.chosen)
        .map(|chosen| &chosen.cluster);
    let twice = clusters.find(|cluster| !seen.insert(*cluster))?;
    Some(format!("lists {twice} twice"))
}

/// Every cluster once, where it comes first.
fn union(slices: &[&Slice], revision: Option<Revision>) -> DecisionSet {
    let mut seen = BTreeSet::new();
    let entries = slices.iter().flat_map(|slice| &slice.chosen);
    let chosen = entries.filter(|entry| seen.insert(&entry.cluster)).cloned();
    DecisionSet {
        chosen: chosen.collect(),
        revision,
        scheduler: slices.iter().find_map(|slice| slice.scheduler.clone()),
        placement_key: slices.iter().find_map(|slice| slice.placement_key.clone()),
        problems: slices.iter().flat_map(|slice| slice.problems.clone()).collect(),
    }
}

fn listed(revisions: &[Option<Revision>]) -> String {
    let name = |revision: &Option<Revision>| revision.as_ref().map_or("none".to_owned(), Revision::to_string);
    revisions.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn carrying(slices: &usize) -> String {
    counted(*slices, "slice")
}

fn wanted(count: &Option<u64>) -> String {
    match count {
        Some(count) => format!("{count} wanted"),
        None => "which do not agree on how many there are".to_owned(),
    }
}
