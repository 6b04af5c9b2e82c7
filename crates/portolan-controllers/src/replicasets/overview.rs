//! How far the rollouts of one replica set are, for people: read and judged as the controller does it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
use portolan_api::count::{agree, are};
use portolan_api::labels::conditions;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_api::{FieldError, semantic};
use portolan_rollout::{Kind, Plan, Status};
use portolan_runtime::watch::Delta;
use serde::Serialize;
use std::sync::Arc;
use tokio::time::Instant;

use super::decisions::Reading;
use super::evaluate::{Fullness, Rollout, View, judge, visit};
use super::key::SetKey;
use super::message::Input;
use super::refusals;
use super::set::{Mistake, Set};
use super::state::State;
use crate::absence::Judgement;
use crate::moment::Moment;
use crate::upkeep::Keeper;

/// A replica set and everything that its rollouts depend on.
#[derive(Clone, Debug)]
pub struct Objects {
    /// The replica set.
    pub set: ManifestWorkReplicaSet,
    /// Its works; others are passed over.
    pub works: Vec<ManifestWork>,
    /// Placements of its namespace.
    pub placements: Vec<Placement>,
    /// OCM decisions of its namespace.
    pub decisions: Vec<PlacementDecision>,
    /// Clusters, for whether they can be reached.
    pub clusters: Vec<ManagedCluster>,
}

/// How far the rollouts of a replica set are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// Namespace of the replica set.
    pub namespace: String,
    /// Name of the replica set.
    pub name: String,
    /// Whether nothing is started because somebody said so.
    pub paused: bool,
    /// Whether this template goes no further because somebody said so.
    pub aborted: bool,
    /// The whole in one word.
    pub state: OverviewState,
    /// Clusters that the placements select.
    pub clusters: usize,
    /// Those of them that are done.
    pub done: usize,
    /// What is wrong with the replica set, in words.
    pub mistakes: Vec<String>,
    /// Each placement in the order of the references.
    pub placements: Vec<PlacementOverview>,
}

/// How far the rollouts of a replica set are, in one word: the reasons of the condition `PlacementRolledOut`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum OverviewState {
    /// The replica set has a mistake; its works are left as they are.
    Invalid,
    /// A Placement is missing, or its decision cannot be followed yet.
    PlacementUnknown,
    /// The placements select no cluster.
    NoClusters,
    /// Every cluster is done.
    Complete,
    /// Aborted by hand.
    Aborted,
    /// Paused by hand.
    Paused,
    /// More clusters failed than maxFailures allows; no further cluster is started.
    MaxFailuresExceeded,
    /// The rollout goes on.
    Progressing,
}

impl Overview {
    /// Whether there are clusters, and every cluster is done.
    pub fn is_complete(&self) -> bool {
        self.state == OverviewState::Complete
    }

    /// Whether nothing is left to wait for: every cluster is done or has run out of time, and as many failures are tolerated.
    pub fn is_left_to_failures(&self) -> bool {
        let is_settled = |placement: &PlacementOverview| {
            let mut groups = placement.groups.iter();
            let mut failures = placement.failures.iter();
            groups.all(|group| group.done + group.failed == group.clusters)
                && failures.all(|cluster| cluster.status == Status::TimeOut)
        };
        let mut placements = self.placements.iter();
        self.state == OverviewState::Progressing
            && self.placements.iter().all(is_settled)
            && placements.any(|placement| !placement.failures.is_empty())
    }

    fn judge(&self) -> OverviewState {
        let any = |is: fn(&PlacementOverview) -> bool| self.placements.iter().any(is);
        if !self.mistakes.is_empty() {
            OverviewState::Invalid
        } else if any(|placement| placement.problem.is_some()) {
            OverviewState::PlacementUnknown
        } else if self.clusters == 0 {
            OverviewState::NoClusters
        } else if self.done == self.clusters {
            OverviewState::Complete
        } else if self.aborted {
            OverviewState::Aborted
        } else if self.paused {
            OverviewState::Paused
        } else if any(|placement| placement.max_failure_breach) {
            OverviewState::MaxFailuresExceeded
        } else {
            OverviewState::Progressing
        }
    }
}

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

/// Looks at a replica set as the controller would.
pub fn overview(objects: Objects, now: Timestamp) -> Overview {
    let namespace = objects.set.metadata.namespace.clone().unwrap_or_default();
    let name = objects.set.metadata.name.clone().unwrap_or_default();
    let key = SetKey::new(&namespace, &name);
    // Nothing is waited for here, so any monotonic time will do.
    let now = Moment {
        wall: now,
        instant: Instant::now(),
    };
    let mut state = State::new(Duration::ZERO, true);
    let warnings = |placement: &str| {
        let named = |object: &&Placement| object.metadata.name.as_deref() == Some(placement);
        objects
            .placements
            .iter()
            .find(named)
            .map(said)
            .unwrap_or_default()
    };
    let warnings: BTreeMap<String, Vec<String>> = objects
        .set
        .spec
        .placement_refs
        .iter()
        .map(|reference| (reference.name.clone(), warnings(&reference.name)))
        .collect();
    let unruled = unruled(&objects.set);
    let refused = objects
        .set
        .status
        .as_ref()
        .map(|status| refusals::refusals(&status.conditions, now));
    state.refusals.insert(key.clone(), refused.unwrap_or_default());
    take_in(&mut state, objects);
    let mut overview = Overview {
        namespace,
        name,
        paused: false,
        aborted: false,
        state: OverviewState::Progressing,
        clusters: 0,
        done: 0,
        mistakes: Vec::new(),
        placements: Vec::new(),
    };
    state.look_at(&key, now, |view| fill(&mut overview, view));
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for (position, placement) in overview.placements.iter_mut().enumerate() {
        match named.get(&placement.name) {
            // The first reference has said what there is to say about the Placement.
            Some(first) => *placement = repeated(placement, position, *first),
            None => {
                let of_placement = warnings.get(&placement.name).cloned().unwrap_or_default();
                placement.warnings.splice(..0, of_placement);
                if placement.strategy != "All" {
                    placement.warnings.extend(unruled.clone());
                }
            }
        }
        named.entry(placement.name.clone()).or_insert(position);
    }
    let mut said = BTreeSet::new();
    overview.mistakes.retain(|mistake| said.insert(mistake.clone()));
    overview.state = overview.judge();
    overview
}

/// Hands the objects to the state of a controller.
fn take_in(state: &mut State, objects: Objects) {
    let Objects {
        set,
        works,
        placements,
        decisions,
        clusters,
    } = objects;
    state.handle(Input::Set(Delta::Applied(Arc::new(set))));
    works
        .into_iter()
        .for_each(|work| state.handle(Input::Work(Delta::Applied(Arc::new(work)))));
    placements
        .into_iter()
        .for_each(|object| state.handle(Input::Placement(Delta::Applied(Arc::new(object)))));
    decisions
        .into_iter()
        .for_each(|object| state.handle(Input::Decision(Delta::Applied(Arc::new(object)))));
    clusters
        .into_iter()
        .for_each(|object| state.handle(Input::Cluster(Delta::Applied(Arc::new(object)))));
}

/// A reference to a Placement that an earlier one names. It gets no cluster, because the first one has them all.
fn repeated(placement: &PlacementOverview, position: usize, first: usize) -> PlacementOverview {
    let warning = format!(
        "spec.placementRefs[{position}].name = {:?} has no effect: spec.placementRefs[{first}] names the same Placement; \
         accepted: each Placement once",
        placement.name
    );
    PlacementOverview {
        name: placement.name.clone(),
        strategy: placement.strategy,
        warnings: vec![warning],
        ..PlacementOverview::default()
    }
}

/// Workloads that one line names.
const NAMED: usize = 3;

/// That workloads count as a success as soon as they exist, in one line.
fn unruled(set: &ManifestWorkReplicaSet) -> Option<String> {
    let workloads = semantic::workloads_without_rule(&set.spec.manifest_work_template);
    let names: Vec<&str> = workloads
        .iter()
        .take(NAMED)
        .map(|workload| workload.title.as_str())
        .collect();
    let more = match workloads.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let count = workloads.len();
    (count > 0).then(|| {
        format!(
            "a cluster is done as soon as {}{more} {} there, whether {} or not: no condition rule says when {}; `portolan \
             lint` has one to paste",
            names.join(", "),
            are(count),
            agree(count, "it works", "they work"),
            agree(count, "it does", "they do")
        )
    })
}

/// What the conditions of a Placement say is wrong with it. Two of them may say the same, and a Placement that is misconfigured
/// is unsatisfied for that reason.
fn said(placement: &Placement) -> Vec<String> {
    let list = placement.status.iter().flat_map(|status| &status.conditions);
    let is_misconfigured = list.clone().any(|condition| {
        condition.type_ == conditions::PLACEMENT_MISCONFIGURED && condition.status == "True"
    });
    let wrong = list.filter(|condition| match condition.type_.as_str() {
        conditions::PLACEMENT_SATISFIED => condition.status == "False" && !is_misconfigured,
        conditions::PLACEMENT_MISCONFIGURED | conditions::PLACEMENT_WARNING => condition.status == "True",
        _ => false,
    });
    let mut messages: Vec<String> = Vec::new();
    for message in wrong.map(|condition| &condition.message) {
        if !messages.contains(message) {
            messages.push(message.clone());
        }
    }
    messages
}

fn fill(overview: &mut Overview, view: &View<'_>) {
    let set = view.set;
    (overview.paused, overview.aborted) = (set.is_paused(), set.is_aborted());
    let references = match &set.references {
        Ok(references) => references,
        Err(mistake) => {
            overview.mistakes = words(mistake);
            return;
        }
    };
    let (primary, taken) = visit(view, references, |reference, found| {
        let strategy = match reference.strategy.kind {
            Kind::All => "All",
            Kind::Progressive { .. } => "Progressive",
            Kind::ProgressivePerGroup { .. } => "ProgressivePerGroup",
        };
        let mut placement = PlacementOverview {
            name: reference.placement.clone(),
            strategy,
            warnings: reference
                .strategy
                .warnings
                .iter()
                .map(FieldError::statement)
                .collect(),
            ..PlacementOverview::default()
        };
        match found {
            Ok(rollout) => match rollout.plan() {
                Ok(plan) => describe(&mut placement, &rollout, &plan, set),
                Err(errors) => overview.mistakes.extend(errors.iter().map(FieldError::to_string)),
            },
            Err(Reading::Unsettled(why)) => placement.problem = Some(why),
            Err(_) => placement.problem = Some("there is no such Placement in this namespace".to_owned()),
        }
        overview.clusters += placement.groups.iter().map(|group| group.clusters).sum::<usize>();
        overview.done += placement.groups.iter().map(|group| group.done).sum::<usize>();
        overview.placements.push(placement);
    });
    let unwanted = primary
        .values()
        .filter(|(key, work)| !work.is_leaving && !taken.contains(&key.cluster));
    let mut fullness = Fullness::default();
    for (key, work) in unwanted {
        if judge(view, references, key, work, &mut fullness) != Judgement::Delete
            && let Some(placement) = overview
                .placements
                .iter_mut()
                .find(|placement| placement.name == work.placement)
        {
            placement.kept.push(key.cluster.clone());
        }
    }
}

fn words(mistake: &Mistake) -> Vec<String> {
    match mistake {
        Mistake::OwnerLabel(label) => vec![super::status::too_long_a_name(label)],
        Mistake::Template(errors) | Mistake::Strategy(errors) => {
            errors.iter().map(FieldError::to_string).collect()
        }
    }
}

fn describe(placement: &mut PlacementOverview, rollout: &Rollout<'_>, plan: &Plan, set: &Set) {
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
    placement.offline.clone_from(&plan.clusters_skipped);
    placement.max_failure_breach = plan.max_failure_breach;
    if !plan.max_failure_breach && !set.is_paused() && !set.is_aborted() {
        placement.estimate = estimate(placement, rollout, took);
    }
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
