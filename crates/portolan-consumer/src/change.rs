//! The difference between two states of a decision.

use std::collections::BTreeSet;

use crate::{Chosen, Cluster, DecisionSet};

/// One difference between what a consumer was told before and what is decided now. A cluster that moves between slices
/// makes no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The cluster was decided for.
    Added(Chosen),
    /// The cluster is no longer decided for.
    Removed(Cluster),
    /// The clusters that stayed have another order. Reported only to those who asked for it.
    Reordered(Vec<Cluster>),
    /// The decision exists and is for no cluster.
    Emptied,
    /// The decision no longer exists.
    Gone,
}

/// Whether a consumer cares about the order of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// It does not. In a decision whose order means nothing, a move between slices would be a change of order.
    #[default]
    Ignored,
    /// It does.
    Followed,
}

/// What makes `new` of `old`: removals first, so that a consumer with limited room has it.
pub(crate) fn difference(old: Option<&DecisionSet>, new: &DecisionSet, order: Order) -> Vec<Change> {
    let had = old.map(DecisionSet::as_a_set).unwrap_or_default();
    let has = new.as_a_set();
    let removed = old.into_iter().flat_map(DecisionSet::clusters);
    let mut changes: Vec<Change> = removed
        .filter(|cluster| !has.contains(cluster))
        .map(|cluster| Change::Removed(cluster.clone()))
        .collect();
    let added = new.chosen.iter().filter(|chosen| !had.contains(&chosen.cluster));
    changes.extend(added.map(|chosen| Change::Added(chosen.clone())));
    if order == Order::Followed && old.is_some_and(|old| stayers(old, &has) != stayers(new, &had)) {
        changes.push(Change::Reordered(new.clusters().cloned().collect()));
    }
    if new.is_empty() && old.is_none_or(|old| !old.is_empty()) {
        changes.push(Change::Emptied);
    }
    changes
}

fn stayers<'a>(set: &'a DecisionSet, other: &BTreeSet<&Cluster>) -> Vec<&'a Cluster> {
    set.clusters().filter(|cluster| other.contains(cluster)).collect()
}
