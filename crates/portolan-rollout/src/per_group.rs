//! One group after the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::amount::Amount;
use crate::classify::{Times, Verdict, classify};
use crate::cluster::{Cluster, Status};
use crate::draft::Draft;
use crate::groups::GroupKey;

/// One group, as the walk sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) key: &'a GroupKey,
    pub(crate) members: &'a BTreeSet<String>,
    /// The rollout has been past it before: what is unfinished in it joined later, and is not waited for.
    pub(crate) is_behind: bool,
}

/// Classifies those that have the workload and walks the groups up to the first that is not through.
///
/// A group is started as a whole. It is through when nothing in it is on its way or soaking, its failures fit the
/// budget, and, where clusters of it are offline, at least one has succeeded: a group that nobody could reach has
/// proved nothing.
pub(crate) fn per_group(
    steps: &[Step<'_>],
    existing: &[Cluster],
    offline: &BTreeSet<&str>,
    budget: Amount,
    times: &Times,
) -> Draft {
    let mut draft = Draft::default();
    let mut known: BTreeMap<&str, Status> = BTreeMap::new();
    for cluster in existing.iter().filter(|cluster| cluster.is_started()) {
        let verdict = classify(cluster.clone(), times);
        known.insert(&cluster.cluster_name, verdict.status());
        match verdict {
            Verdict::RollingOut(cluster) => draft.to_rollout.push(cluster),
            Verdict::TimedOut(cluster) => draft.timed_out.push(cluster),
            Verdict::Settled(_) => {}
        }
    }
    let behind: BTreeSet<&GroupKey> = steps
        .iter()
        .filter(|step| step.is_behind)
        .map(|step| step.key)
        .collect();
    for step in steps {
        let limit = budget.budget(step.members.len());
        let mut failures = 0;
        let mut succeeded = false;
        let mut is_anyone_offline = false;
        for name in step.members {
            match known.get(name.as_str()) {
                Some(status) => {
                    succeeded |= *status == Status::Succeeded;
                    failures += usize::from(status.is_failure());
                }
                None if offline.contains(name.as_str()) => is_anyone_offline = true,
                None => draft.to_rollout.push(Cluster::new(name, step.key)),
            }
        }
        draft.breach = failures > limit;
        let is_waited_for = |cluster: &&Cluster| {
            // A failure that the budget allows holds nobody up, and neither does one who came late.
            cluster.status != Status::Failed && !behind.contains(&cluster.group_key)
        };
        let in_flight = draft.to_rollout.iter().filter(is_waited_for).count();
        let unproved = is_anyone_offline && !succeeded && !step.is_behind;
        if in_flight > 0 || draft.breach || unproved {
            break;
        }
    }
    draft
}
