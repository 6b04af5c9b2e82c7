//! What the tests of layout and plan are made of: numbered clusters, and a placement with the objects of its decision.

use std::ops::RangeInclusive;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::{
    cluster::{self, Placement, PlacementStatus, UpdateStrategyType},
    multicluster,
};

use super::{Desired, Layout, PublishScores, ScorePolicy, cluster_name, decision_entries, layout};
use crate::{
    model::{Chosen, Group},
    plan::{Observed, Plan, Write, plan},
};

pub(crate) const NAMESPACE: &str = "apps";

/// `c007`: numbers and names sort alike.
pub(crate) fn name(number: usize) -> String {
    format!("c{number:03}")
}

pub(crate) fn names(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(name).collect()
}

pub(crate) fn chosen(number: usize, score: i64) -> Chosen {
    Chosen {
        name: name(number).into(),
        score,
        avoided: 0,
    }
}

/// A group of clusters, all with the score 1.
pub(crate) fn group(name: &str, numbers: impl IntoIterator<Item = usize>) -> Group {
    Group {
        name: name.to_owned(),
        clusters: numbers.into_iter().map(|number| chosen(number, 1)).collect(),
    }
}

/// The only group of a placement without groups.
pub(crate) fn all(numbers: impl IntoIterator<Item = usize>) -> Vec<Group> {
    vec![group("", numbers)]
}

/// Clusters cut into unnamed groups.
pub(crate) fn cut(numbers: RangeInclusive<usize>, size: usize) -> Vec<Group> {
    let numbers: Vec<_> = numbers.collect();
    numbers
        .chunks(size)
        .map(|numbers| group("", numbers.iter().copied()))
        .collect()
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

/// A placement and what is observed of its decision.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) placement: Placement,
    pub(crate) observed: Observed,
    pub(crate) grouped: bool,
    pub(crate) ordered: bool,
    pub(crate) update: UpdateStrategyType,
    pub(crate) publish: PublishScores,
    pub(crate) now: Timestamp,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            placement: Placement {
                metadata: ObjectMeta {
                    name: Some("web".to_owned()),
                    namespace: Some(NAMESPACE.to_owned()),
                    ..ObjectMeta::default()
                },
                ..Placement::default()
            },
            observed: Observed::default(),
            grouped: false,
            ordered: false,
            update: UpdateStrategyType::RollingUpdate,
            publish: PublishScores::Always,
            now: at(0),
        }
    }

    pub(crate) fn layout(&self, groups: &[Group]) -> Layout {
        let desired = Desired {
            placement: &self.placement,
            groups,
            grouped: self.grouped,
            ordered: self.ordered,
            profile_namespace: NAMESPACE,
        };
        let policy = ScorePolicy {
            publish: self.publish,
            in_decisions: true,
            now: self.now,
        };
        layout(desired, &self.observed.decisions, &self.observed.slices, policy)
    }

    pub(crate) fn plan(&self, groups: &[Group]) -> Plan {
        plan(&self.observed, &self.layout(groups), self.update, None)
    }

    /// Plans the status of the placement as well.
    pub(crate) fn plan_with_status(&self, groups: &[Group]) -> Plan {
        let layout = self.layout(groups);
        let selected: usize = groups.iter().map(|group| group.clusters.len()).sum();
        let status = PlacementStatus {
            number_of_selected_clusters: i32::try_from(selected).unwrap(),
            decision_groups: layout.decision_groups.clone(),
            ..PlacementStatus::default()
        };
        plan(&self.observed, &layout, self.update, Some(status))
    }

    /// Plans and does every write.
    pub(crate) fn settle(&mut self, groups: &[Group]) {
        let _ = self.run(groups);
    }

    /// Plans, does every write, and tells the plan.
    pub(crate) fn run(&mut self, groups: &[Group]) -> Plan {
        let plan = self.plan(groups);
        plan.writes().for_each(|write| write.apply(&mut self.observed));
        plan
    }

    pub(crate) fn slice(&self, index: usize) -> &multicluster::PlacementDecision {
        let name = format!("web-decision-{index}");
        self.observed
            .slices
            .iter()
            .find(|object| object.metadata.name.as_deref() == Some(&name))
            .unwrap()
    }

    pub(crate) fn slice_mut(&mut self, index: usize) -> &mut multicluster::PlacementDecision {
        let name = format!("web-decision-{index}");
        let mut slices = self.observed.slices.iter_mut();
        slices
            .find(|object| object.metadata.name.as_deref() == Some(&name))
            .unwrap()
    }

    /// Clusters of the slices, by index.
    pub(crate) fn slices(&self) -> Vec<Vec<String>> {
        (0..self.observed.slices.len())
            .map(|index| slice_clusters(self.slice(index)))
            .collect()
    }

    /// Revisions of the slices, by index.
    pub(crate) fn revisions(&self) -> Vec<String> {
        let revision = |index| {
            label(
                &self.slice(index).metadata,
                "multicluster.x-k8s.io/decision-revision",
            )
        };
        (0..self.observed.slices.len()).map(revision).collect()
    }
}

pub(crate) fn label(metadata: &ObjectMeta, key: &str) -> String {
    super::label(metadata, key).unwrap_or("none").to_owned()
}

pub(crate) fn slice_clusters(slice: &multicluster::PlacementDecision) -> Vec<String> {
    slice
        .decisions
        .iter()
        .filter_map(cluster_name)
        .map(str::to_owned)
        .collect()
}

pub(crate) fn decision_clusters(decision: &cluster::PlacementDecision) -> Vec<String> {
    decision_entries(decision)
        .iter()
        .map(|entry| entry.cluster_name.clone())
        .collect()
}

/// One line for each write: what, which object, and how many clusters from which to which.
pub(crate) fn transcript(plan: &Plan) -> Vec<Vec<String>> {
    let phases = plan.phases.iter().map(|phase| {
        let mut lines: Vec<_> = phase.writes.iter().map(line).collect();
        lines.sort();
        lines
    });
    phases.collect()
}

fn line(write: &Write) -> String {
    let of = |metadata: &ObjectMeta| metadata.name.clone().unwrap_or_default();
    let group = |metadata: &ObjectMeta| {
        label(
            metadata,
            "cluster.open-cluster-management.io/decision-group-index",
        )
    };
    let revision = |metadata: &ObjectMeta| label(metadata, "multicluster.x-k8s.io/decision-revision");
    match write {
        Write::CreateDecision(object) => {
            format!(
                "decision {} create group {}",
                of(&object.metadata),
                group(&object.metadata)
            )
        }
        Write::DecisionMetadata(metadata) => format!("decision {} group {}", of(metadata), group(metadata)),
        Write::DecisionStatus { object, status } => {
            let clusters: Vec<_> = status
                .decisions
                .iter()
                .map(|entry| entry.cluster_name.clone())
                .collect();
            format!("decision {} = {}", object.name, runs(&clusters))
        }
        Write::DeleteDecision(object) => format!("decision {} delete", object.name),
        Write::CreateSlice(slice) | Write::ReplaceSlice(slice) => {
            let verb = if matches!(write, Write::CreateSlice(_)) {
                " create"
            } else {
                ""
            };
            let clusters = runs(&slice_clusters(slice));
            format!(
                "slice {}{verb} r{} = {clusters}",
                of(&slice.metadata),
                revision(&slice.metadata)
            )
        }
        Write::DeleteSlice(slice) => format!("slice {} delete", slice.name),
        Write::PlacementStatus(_) => "placement status".to_owned(),
    }
}

/// `c001..c003 c007`: neighbours in one piece.
fn runs(clusters: &[String]) -> String {
    let numbers: Vec<usize> = clusters.iter().map(|name| name[1..].parse().unwrap()).collect();
    let pieces = numbers
        .chunk_by(|left, right| left + 1 == *right)
        .map(|run| match run {
            [one] => name(*one),
            run => format!("{}..{}", name(run[0]), name(run[run.len() - 1])),
        });
    pieces.collect::<Vec<_>>().join(" ")
}
