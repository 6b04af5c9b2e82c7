//! How far the rollouts of one replica set are, for people: read and judged as the controller does it.

mod placement;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
use portolan_api::count::{agree, are};
use portolan_api::labels::conditions;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_api::{FieldError, semantic};
use portolan_rollout::{Kind, Status};
use portolan_runtime::watch::Delta;
use serde::Serialize;
use std::sync::Arc;
use tokio::time::Instant;

pub use placement::{ClusterOverview, GroupOverview, PlacementOverview};

use crate::absence::Judgement;
use crate::moment::Moment;
use crate::reconcile::Reconciler;
use crate::replicasets::decisions::Reading;
use crate::replicasets::evaluate::{Fullness, judge, visit};
use crate::replicasets::key::SetKey;
use crate::replicasets::message::Input;
use crate::replicasets::refusals;
use crate::replicasets::set::Mistake;
use crate::replicasets::state::State;
use crate::replicasets::verdict::View;

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
    let warnings = warnings(&objects);
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
    warn(&mut overview.placements, &warnings, unruled.as_ref());
    let mut said = BTreeSet::new();
    overview.mistakes.retain(|mistake| said.insert(mistake.clone()));
    overview.state = overview.judge();
    overview
}

/// The warnings of the placements that a replica set refers to, by the name of the placement.
fn warnings(objects: &Objects) -> BTreeMap<String, Vec<String>> {
    let of = |placement: &str| {
        let named = |object: &&Placement| object.metadata.name.as_deref() == Some(placement);
        let object = objects.placements.iter().find(named);
        object.map(said).unwrap_or_default()
    };
    let references = objects.set.spec.placement_refs.iter();
    references
        .map(|reference| (reference.name.clone(), of(&reference.name)))
        .collect()
}

/// Adds the warnings of each placement, and that no rule tells whether works succeed, where a rollout waits for that.
fn warn(
    placements: &mut [PlacementOverview],
    warnings: &BTreeMap<String, Vec<String>>,
    unruled: Option<&String>,
) {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for (position, placement) in placements.iter_mut().enumerate() {
        match named.get(&placement.name) {
            // The first reference has said what there is to say about the Placement.
            Some(first) => *placement = repeated(placement, position, *first),
            None => {
                let of_placement = warnings.get(&placement.name).cloned().unwrap_or_default();
                placement.warnings.splice(..0, of_placement);
                if placement.strategy != "All" {
                    placement.warnings.extend(unruled.cloned());
                }
            }
        }
        named.entry(placement.name.clone()).or_insert(position);
    }
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
                Ok(plan) => placement::describe(&mut placement, &rollout, &plan, set),
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
        Mistake::OwnerLabel(label) => vec![crate::replicasets::status::too_long_a_name(label)],
        Mistake::Template(errors) | Mistake::Strategy(errors) => {
            errors.iter().map(FieldError::to_string).collect()
        }
    }
}
