//! What a reader that knows revisions sees in a set of slices.
//!
//! A revision is complete when the slices that carry it agree on the count and their indexes are exactly
//! 0 to count-1. A reader acts on the highest complete revision and otherwise keeps what it has.

use std::collections::{BTreeMap, BTreeSet};

use portolan_api::multicluster;

use crate::{Cluster, Decision, Slice};

/// One complete revision of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its number.
    pub number: u64,
    /// Its entries in index order, repetitions included.
    pub entries: Vec<Cluster>,
}

impl Revision {
    /// The clusters a reader acts on.
    pub fn clusters(&self) -> BTreeSet<Cluster> {
        self.entries.iter().cloned().collect()
    }

    /// Whether no cluster is listed twice, which the revisioned draft asks of a revision before it may be used.
    pub fn is_valid(&self) -> bool {
        self.clusters().len() == self.entries.len()
    }
}

/// The complete revisions of a decision, lowest first.
pub fn complete_revisions(decision: &Decision<'_>) -> Vec<Revision> {
    by_revision(decision.slices.iter())
}

/// [`complete_revisions`] of slices that are known to be those of one decision.
pub fn complete_in<'a>(
    slices: impl IntoIterator<Item = &'a multicluster::PlacementDecision>,
) -> Vec<Revision> {
    by_revision(slices.into_iter().map(Slice::of_kep).collect::<Vec<_>>().iter())
}

/// The revision a reader acts on, if any is complete.
pub fn highest_complete(decision: &Decision<'_>) -> Option<Revision> {
    complete_revisions(decision).pop()
}

/// The highest revision that any slice carries, complete or not.
pub fn highest_seen(decision: &Decision<'_>) -> Option<u64> {
    decision.slices.iter().filter_map(Slice::revision).max()
}

fn by_revision<'s, 'a: 's>(slices: impl Iterator<Item = &'s Slice<'a>>) -> Vec<Revision> {
    let mut carriers: BTreeMap<u64, Vec<&Slice<'_>>> = BTreeMap::new();
    for slice in slices {
        if let Some(revision) = slice.revision() {
            carriers.entry(revision).or_default().push(slice);
        }
    }
    carriers
        .into_iter()
        .filter_map(|(number, slices)| complete(number, slices))
        .collect()
}

fn complete(number: u64, mut slices: Vec<&Slice<'_>>) -> Option<Revision> {
    let count = slices.first()?.slice_count()?;
    if slices.iter().any(|slice| slice.slice_count() != Some(count)) || slices.len() as u64 != count {
        return None;
    }
    slices.sort_by_key(|slice| slice.index());
    let in_place = (0..)
        .zip(&slices)
        .all(|(place, slice)| slice.index() == Some(place));
    in_place.then(|| Revision {
        number,
        entries: slices
            .iter()
            .flat_map(|slice| slice.clusters.iter().cloned())
            .collect(),
    })
}
