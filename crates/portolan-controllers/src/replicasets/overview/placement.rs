//! How far the rollout to one placement of a replica set is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use portolan_rollout::{Kind, Plan, Status};
use serde::Serialize;

use crate::replicasets::rollout::Rollout;
use crate::replicasets::set::Set;

/// How far the rollout to one placement is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacementOverview {
    /// Name of the placement.
    pub name: String,
    /// Type of the strategy.
    pub strategy: &'static str,
    /// Why its decision cannot be followed.
    pub problem: Option<String>,
    /// What the conditions of the Placement say is wrong with it, and what in the replica set does something else than it seems
    /// to.
    pub warnings: Vec<String>,
    /// Its groups in order.
    pub groups: Vec<GroupOverview>,
    /// Clusters that are to get the template now.
    pub starting: Vec<String>,
    /// Clusters that have the template and neither succeeded nor failed, each with what its agent says.
    pub in_progress: Vec<ClusterOverview>,
    /// Clusters whose success has to last longer.
    pub soaking: Vec<ClusterOverview>,
    /// Clusters that failed or ran out of time.
    pub failures: Vec<ClusterOverview>,
    /// Clusters that are offline and caught up later.
    pub offline: Vec<String>,
    /// Clusters that left the decision while they cannot be reached, or are just back: their works are kept.
    pub kept: Vec<String>,
    /// More failed than may; nothing new is started.
    pub max_failure_breach: bool,
    /// Seconds that are left, judged by the clusters that are done. Nothing before there is one, or while it stands.
    pub estimate: Option<u64>,
}

/// One group of a placement, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupOverview {
    /// Name of the group.
    pub group_name: String,
    /// Position of the group.
    pub group_index: i32,
    /// Whether it has to succeed before any other is started.
    pub mandatory: bool,
    /// Its clusters.
    pub clusters: usize,
    /// Succeeded, and long enough ago.
    pub done: usize,
    /// Succeeded, and not long enough ago.
    pub soaking: usize,
    /// On their way.
    pub in_progress: usize,
    /// Failed or out of time.
    pub failed: usize,
    /// Offline and not done.
    pub offline: usize,
    /// Waiting for their turn.
    pub waiting: usize,
}

/// One cluster that there is something to say about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterOverview {
    /// Its name.
    pub cluster: String,
    /// Its state.
    pub status: Status,
    /// Since when.
    pub since: Option<Timestamp>,
    /// When its soak time or deadline ends.
    pub until: Option<Timestamp>,
    /// Why it has not succeeded: the reason of the condition of its work, or of why it has no work.
    pub reason: Option<String>,
    /// The same in words, cut at 1,000 characters.
    pub message: Option<String>,
}

pub(super) fn describe(placement: &mut PlacementOverview, rollout: &Rollout<'_>, plan: &Plan, set: &Set) {
    let offline: BTreeSet<&str> = plan.clusters_skipped.iter().map(String::as_str).collect();
    let timed_out: BTreeSet<&str> = plan
        .clusters_time_out
        .iter()
        .map(|cluster| cluster.cluster_name.as_str())
        .collect();
    let deadlines: BTreeMap<&str, Timestamp> = plan
        .clusters_to_rollout
        .iter()
        .filter_map(|cluster| Some((cluster.cluster_name.as_str(), cluster.recheck_time?)))
        .collect();
    let mut took = Vec::new();
    for (key, members) in rollout.groups.iter() {
        let mut group = GroupOverview {
            group_name: key.group_name.clone(),
            group_index: key.group_index,
            mandatory: rollout.reference.strategy.is_mandatory(key),
            clusters: members.len(),
            ..GroupOverview::default()
        };
        for name in members.iter().map(String::as_str) {
            let work = rollout.current(name);
            let since = work.and_then(|work| work.since(rollout.now()));
            let count = match work.map(|work| work.report.status) {
                _ if offline.contains(name) => &mut group.offline,
                _ if timed_out.contains(name) => &mut group.failed,
                None if rollout.failed_refusal(name).is_some() => &mut group.failed,
                None => &mut group.waiting,
                Some(Status::Succeeded) if !rollout.is_done(name) => &mut group.soaking,
                Some(Status::Succeeded) => {
                    took.extend(work.and_then(|work| work.took(rollout.now())));
                    &mut group.done
                }
                Some(Status::Failed | Status::TimeOut) => &mut group.failed,
                Some(status) => {
                    let until = deadlines.get(name).copied();
                    let cluster = shown(rollout, name, status, since, until);
                    placement.in_progress.push(cluster);
                    &mut group.in_progress
                }
            };
            *count += 1;
        }
        placement.groups.push(group);
    }
    list(placement, rollout, plan);
    placement.offline.clone_from(&plan.clusters_skipped);
    placement.max_failure_breach = plan.max_failure_breach;
    if !plan.max_failure_breach && !set.is_paused() && !set.is_aborted() {
        placement.estimate = estimate(placement, rollout, took);
    }
}

/// Lists the clusters that soak, that failed and that are to begin.
fn list(placement: &mut PlacementOverview, rollout: &Rollout<'_>, plan: &Plan) {
    let shown = |cluster: &portolan_rollout::Cluster| {
        let (since, until) = (cluster.last_transition_time, cluster.recheck_time);
        shown(rollout, &cluster.cluster_name, cluster.status, since, until)
    };
    for cluster in &plan.clusters_to_rollout {
        match cluster.status {
            Status::Succeeded => placement.soaking.push(shown(cluster)),
            Status::Failed => placement.failures.push(shown(cluster)),
            Status::ToApply if rollout.current(&cluster.cluster_name).is_none() => {
                placement.starting.push(cluster.cluster_name.clone());
            }
            _ => {}
        }
    }
    placement
        .failures
        .extend(plan.clusters_time_out.iter().map(shown));
}

fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// A cluster with what is known of why it has not succeeded.
fn shown(
    rollout: &Rollout<'_>,
    cluster: &str,
    status: Status,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> ClusterOverview {
    let why = rollout.current(cluster).and_then(|work| work.report.why.as_ref());
    let refusal = rollout.failed_refusal(cluster).map(|refusal| refusal.cause);
    ClusterOverview {
        cluster: cluster.to_owned(),
        status,
        since: since.map(whole_second),
        // Never before it is over.
        until: until.map(|until| match until.subsec_nanosecond() {
            0 => until,
            _ => whole_second(until + Duration::from_secs(1)),
        }),
        reason: why
            .map(|why| why.reason.clone())
            .or(refusal.map(|cause| cause.reason().to_owned())),
        message: why
            .map(|why| why.message.clone())
            .or(refusal.map(|cause| cause.about(cluster))),
    }
}

/// Steps that are left, each as long as half of the clusters that are done took at most, and the soak time.
fn estimate(placement: &PlacementOverview, rollout: &Rollout<'_>, mut took: Vec<i64>) -> Option<u64> {
    took.sort_unstable();
    let typical = u64::try_from(*took.get(took.len() / 2)?).ok()?;
    let left = |group: &GroupOverview| group.soaking + group.in_progress + group.waiting;
    let open: Vec<&GroupOverview> = placement.groups.iter().filter(|group| left(group) > 0).collect();
    let strategy = &rollout.reference.strategy;
    let steps = match &strategy.kind {
        Kind::All => usize::from(!open.is_empty()),
        Kind::ProgressivePerGroup { .. } => open.len(),
        Kind::Progressive { max_concurrency, .. } => {
            let outside: Vec<&GroupOverview> =
                placement.groups.iter().filter(|group| !group.mandatory).collect();
            let total: usize = outside.iter().map(|group| group.clusters).sum();
            let slots = max_concurrency.map_or(total, |amount| amount.slots(total)).max(1);
            let mandatory = open.iter().filter(|group| group.mandatory).count();
            mandatory + outside.into_iter().map(left).sum::<usize>().div_ceil(slots)
        }
    };
    let soak = match strategy.kind {
        Kind::All => 0,
        _ => strategy.soak.as_secs(),
    };
    Some(
        u64::try_from(steps)
            .ok()?
            .saturating_mul(typical.saturating_add(soak)),
    )
}
