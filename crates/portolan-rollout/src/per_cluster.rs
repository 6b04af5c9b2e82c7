//! A bounded number of clusters at a time.

use std::collections::BTreeSet;

use crate::classify::{Times, Verdict, classify};
use crate::cluster::Cluster;
use crate::draft::Draft;
use crate::groups::GroupKey;

/// What bounds the clusters that are started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How many may be rolling out at once.
    pub(crate) slots: usize,
    /// How many may fail.
    pub(crate) budget: usize,
}

/// Looks at those that have the workload, by name, and then starts others in the order of their groups.
///
/// Soaking clusters, and failed ones whose time is not up, keep their slots; one that timed out gives it back. As soon
/// as all slots are taken nothing further is looked at. Past the budget, clusters that were never started are not.
pub(crate) fn per_cluster<'a>(
    candidates: impl Iterator<Item = (&'a GroupKey, &'a str)>,
    existing: &[Cluster],
    bounds: Bounds,
    times: &Times,
) -> Draft {
    let mut draft = Draft::default();
    let mut failures = 0;
    let mut known = BTreeSet::new();
    for cluster in existing {
        known.insert(cluster.cluster_name.as_str());
        let mut status = cluster.status;
        if !draft.breach || cluster.is_started() {
            let verdict = classify(cluster.clone(), times);
            status = verdict.status();
            match verdict {
                Verdict::RollingOut(cluster) => draft.to_rollout.push(cluster),
                Verdict::TimedOut(cluster) => draft.timed_out.push(cluster),
                Verdict::Settled(_) => {}
            }
        }
        if status.is_failure() {
            failures += 1;
            draft.breach = failures > bounds.budget;
        }
        if draft.to_rollout.len() >= bounds.slots {
            return draft;
        }
    }
    if draft.breach {
        return draft;
    }
    let free = bounds.slots.saturating_sub(draft.to_rollout.len());
    let started = candidates
        .filter(|(_, name)| !known.contains(name))
        .take(free)
        .map(|(group, name)| Cluster::new(name, group));
    draft.to_rollout.extend(started);
    draft
}
