//! The whole answer for one placement: outcome, conditions, objects.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{
    DecisionGroupStatus, Placement, PlacementDecision, PlacementStatus, SortBy, UpdateStrategyType,
};
use portolan_api::decision;
use portolan_api::labels::multicluster as multicluster_labels;
use portolan_api::multicluster;

use crate::conditions::{self, Condition};
use crate::engine::Engine;
use crate::filter::taint_toleration::earliest;
use crate::fleet::Inventory;
use crate::layout::{self, Desired, Layout, PublishScores, ScorePolicy, SlicesRefused};
use crate::model::Group;
use crate::outcome::Outcome;
use crate::placement::PlacementKey;
use crate::status::Code;

/// What the placement has stored: all of its own objects, and those of others that might be in the way.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// OCM decisions.
    pub decisions: Vec<PlacementDecision>,
    /// KEP slices.
    pub slices: Vec<multicluster::PlacementDecision>,
}

impl Stored {
    /// Sorts both kinds by the number of each object: the order in which readers meet them.
    pub fn sort(&mut self) {
        self.decisions
            .sort_by_cached_key(|decision| number(&decision.metadata, None));
        self.slices
            .sort_by_cached_key(|slice| number(&slice.metadata, Some(multicluster_labels::DECISION_INDEX)));
    }
}

/// The number in a label or at the end of the name, then the name.
fn number(metadata: &ObjectMeta, label_key: Option<&str>) -> (u64, String) {
    let name = metadata.name.as_deref().unwrap_or_default();
    let labelled = label_key.and_then(|key| layout::label(metadata, key)?.parse().ok());
    let suffix = || name.rsplit('-').next().and_then(|suffix| suffix.parse().ok());
    (labelled.or_else(suffix).unwrap_or(u64::MAX), name.to_owned())
}

/// How a decision is published.
#[derive(Clone, Copy, Debug)]
pub struct Publication<'a> {
    /// When decisions carry scores.
    pub scores: PublishScores,
    /// Whether the server has a field for them in OCM decisions.
    pub scores_in_decisions: bool,
    /// The one namespace that slices refer to for ClusterProfiles, if it is not the placement's own.
    pub profile_namespace: Option<&'a str>,
}

impl From<PublishScores> for Publication<'static> {
    fn from(scores: PublishScores) -> Self {
        Publication {
            scores,
            scores_in_decisions: true,
            profile_namespace: None,
        }
    }
}

/// Outcome, conditions and objects of one placement.
#[derive(Debug)]
#[must_use = "a decision does nothing until it is planned and written"]
pub struct Decision {
    /// How the decision came about.
    pub outcome: Outcome,
    /// Conditions for the placement's status.
    pub conditions: Vec<Condition>,
    /// The objects to be there in the end. On Misconfigured or Error: those that are there.
    pub layout: Layout,
    /// When to evaluate again though nothing changed.
    pub requeue_at: Option<Timestamp>,
}

/// Decides one placement of the engine. The engine must have observed `stored.decisions`.
pub fn decide<'a>(
    engine: &mut Engine,
    key: &PlacementKey,
    stored: &Stored,
    publication: impl Into<Publication<'a>>,
    now: Timestamp,
) -> Option<Decision> {
    let outcome = engine.evaluate(key, now)?;
    let placement = engine.placement(key)?;
    Some(assemble(engine, placement, outcome, stored, publication, now))
}

/// Adds conditions and objects to an outcome.
pub fn assemble<'a>(
    engine: &Engine,
    placement: &Placement,
    outcome: Outcome,
    stored: &Stored,
    publication: impl Into<Publication<'a>>,
    now: Timestamp,
) -> Decision {
    let publication = publication.into();
    let keeps = outcome.status.keeps_last_decision();
    let layout = match keeps {
        true => keep(placement, &outcome, stored),
        false => lay_out(engine, placement, &outcome, stored, publication, now),
    };
    let kept = keeps.then(|| {
        layout
            .decision_groups
            .iter()
            .map(|group| group.cluster_count.max(0) as usize)
            .sum()
    });
    let mut conditions = conditions::of(engine, placement, &outcome, kept);
    if let Err(refused) = &layout.slices {
        conditions.extend(conditions::of_refusal(refused));
    }
    let selected = outcome.selected.len();
    conditions.extend(conditions::of_size(selected, update_strategy(placement)));
    let requeue_at = earliest(outcome.requeue_at, layout.scores_due);
    Decision {
        outcome,
        conditions,
        layout,
        requeue_at,
    }
}

fn lay_out(
    engine: &Engine,
    placement: &Placement,
    outcome: &Outcome,
    stored: &Stored,
    publication: Publication<'_>,
    now: Timestamp,
) -> Layout {
    let policy = ScorePolicy {
        publish: publication.scores,
        in_decisions: publication.scores_in_decisions,
        now,
    };
    let own = placement.metadata.namespace.as_deref().unwrap_or_default();
    let namespace = publication.profile_namespace.unwrap_or(own);
    let groups = outcome.named_groups(engine.fleet());
    let desired = Desired {
        placement,
        groups: &groups,
        grouped: has_groups(placement),
        ordered: matches!(placement.spec.sort_by, Some(SortBy::Score)),
        profile_namespace: namespace,
    };
    let mut layout = layout::layout(desired, &stored.decisions, &stored.slices, policy);
    // The order by score changes again when Steady counts this decision. Storing the decision is no trigger, so the scores
    // are due by the clock. Without the order nobody reads them that closely, and a write for every decision is too much.
    if layout.ordered && policy.publish != PublishScores::Never && outcome.makes_steady() {
        layout.scores_due = earliest(layout.scores_due, Some(policy.next_refresh(placement)));
    }
    layout
}

/// The objects as they are. A placement that was wrong from the start has none: it gets one empty OCM decision, as
/// OCM's own readers expect, and no slice.
fn keep(placement: &Placement, outcome: &Outcome, stored: &Stored) -> Layout {
    let ordered = matches!(placement.spec.sort_by, Some(SortBy::Score));
    let born = stored.decisions.is_empty() && stored.slices.is_empty();
    if born && outcome.status.code == Code::Misconfigured {
        let desired = Desired {
            placement,
            groups: &[Group::default()],
            grouped: false,
            ordered,
            profile_namespace: "",
        };
        let policy = ScorePolicy {
            publish: PublishScores::Never,
            in_decisions: true,
            now: Timestamp::UNIX_EPOCH,
        };
        let empty = layout::layout(desired, &[], &[], policy);
        return Layout {
            slices: Err(SlicesRefused::NoDecision),
            ..empty
        };
    }
    Layout {
        decision_groups: groups_of(&stored.decisions),
        decisions: stored.decisions.clone(),
        slices: Ok(stored.slices.clone()),
        scores_due: None,
        writes_decision_status: false,
        ordered,
    }
}

/// `status.decisionGroups` as stored decisions tell it.
fn groups_of(decisions: &[PlacementDecision]) -> Vec<DecisionGroupStatus> {
    let mut groups: std::collections::BTreeMap<i32, DecisionGroupStatus> = std::collections::BTreeMap::new();
    for object in decisions {
        // An object whose group cannot be read is in no group that could be told.
        let Ok(key) = decision::group(&object.metadata) else {
            continue;
        };
        let key = key.unwrap_or_default();
        let index = i32::try_from(key.index).unwrap_or(i32::MAX);
        let group = groups.entry(index).or_insert_with(|| DecisionGroupStatus {
            decision_group_index: index,
            decision_group_name: key.name,
            ..DecisionGroupStatus::default()
        });
        group.decisions.extend(object.metadata.name.clone());
        let clusters = decision::clusters(object).count();
        group.cluster_count = group
            .cluster_count
            .saturating_add(i32::try_from(clusters).unwrap_or(i32::MAX));
    }
    groups.into_values().collect()
}

/// Whether the placement divides its clusters into groups.
pub fn has_groups(placement: &Placement) -> bool {
    placement
        .spec
        .decision_strategy
        .as_ref()
        .is_some_and(|strategy| strategy.group_strategy.is_some())
}

/// How the placement wants its OCM objects to be updated.
pub fn update_strategy(placement: &Placement) -> UpdateStrategyType {
    let strategy = placement
        .spec
        .decision_strategy
        .as_ref()
        .and_then(|strategy| strategy.update_strategy.as_ref());
    strategy.and_then(|strategy| strategy.r#type).unwrap_or_default()
}

impl Decision {
    /// The status to write last, but for the times of conditions.
    pub fn placement_status(&self) -> PlacementStatus {
        let selected: i32 = self
            .layout
            .decision_groups
            .iter()
            .map(|group| group.cluster_count)
            .sum();
        PlacementStatus {
            number_of_selected_clusters: selected,
            decision_groups: self.layout.decision_groups.clone(),
            ..PlacementStatus::default()
        }
    }
}

/// Which inventory a set of objects speaks of when nobody says: profiles only when there is no ManagedCluster.
pub fn detect_inventory(managed_clusters: usize, profiles: usize) -> Inventory {
    match (managed_clusters, profiles) {
        (0, 1..) => Inventory::ClusterProfiles,
        _ => Inventory::ManagedClusters,
    }
}
