//! The OCM decisions of a placement: one object per 100 clusters of a group, numbered from 1.
//!
//! The layout follows the groups alone: what is observed only contributes identity and annotations of others.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::{
    cluster::{
        ClusterDecision, DecisionGroupStatus, PlacementDecision, PlacementDecisionStatus, content_hash,
    },
    labels::{ocm as labels, ocm::MAX_DECISIONS, portolan},
};

use super::{
    Desired,
    identity::{Identity, Managed, label},
};
use crate::model::{Chosen, Group};

/// Observed OCM decisions by name: those with our label, and those on a name of our scheme, which have to be
/// written over when the name is needed.
pub(crate) fn observed<'a>(
    identity: &Identity,
    decisions: &'a [PlacementDecision],
) -> BTreeMap<&'a str, &'a PlacementDecision> {
    decisions
        .iter()
        .filter(|object| identity.is_in_namespace(&object.metadata))
        .filter_map(|object| Some((object.metadata.name.as_deref()?, object)))
        .filter(|(name, object)| {
            is_labelled(identity, object) || identity.number_of(name, None).is_some_and(|number| number > 0)
        })
        .collect()
}

/// Whether readers count the object to our decision.
pub(crate) fn is_labelled(identity: &Identity, object: &PlacementDecision) -> bool {
    label(&object.metadata, labels::PLACEMENT) == Some(identity.label_value().as_str())
}

/// The observed state of a final object.
pub(super) fn counterpart<'a>(
    observed: &BTreeMap<&str, &'a PlacementDecision>,
    object: &PlacementDecision,
) -> Option<&'a PlacementDecision> {
    observed.get(object.metadata.name.as_deref()?).copied()
}

/// The entries of an object. No status is the same as an empty one.
pub(crate) fn clusters(object: &PlacementDecision) -> &[ClusterDecision] {
    object.status.as_ref().map_or(&[], |status| &status.decisions)
}

/// Index and name of an object's group, as labelled.
pub(crate) fn group_labels(metadata: &ObjectMeta) -> (&str, &str) {
    let value = |key| label(metadata, key).unwrap_or_default();
    (
        value(labels::DECISION_GROUP_INDEX),
        value(labels::DECISION_GROUP_NAME),
    )
}

/// Final OCM decisions in order.
pub(super) fn decisions(
    desired: &Desired<'_>,
    identity: &Identity,
    observed: &BTreeMap<&str, &PlacementDecision>,
    publish_scores: bool,
) -> Vec<PlacementDecision> {
    let mut decisions = Vec::new();
    for (index, group) in desired.groups.iter().enumerate() {
        for clusters in chunks(group) {
            let name = identity.object_name(decisions.len() + 1);
            let managed = managed(identity, index, group, clusters);
            let observed = observed.get(name.as_str()).map(|object| &object.metadata);
            decisions.push(PlacementDecision {
                metadata: identity.metadata(&name, observed, managed),
                status: Some(status(clusters, publish_scores)),
            });
        }
    }
    decisions
}

/// `status.decisionGroups` for the same numbering.
pub(super) fn decision_groups(groups: &[Group], identity: &Identity) -> Vec<DecisionGroupStatus> {
    let mut number = 0;
    let mut next = || {
        number += 1;
        identity.object_name(number)
    };
    let statuses = groups
        .iter()
        .enumerate()
        .map(|(index, group)| DecisionGroupStatus {
            decision_group_index: i32::try_from(index).unwrap_or(i32::MAX),
            decision_group_name: group.name.clone(),
            decisions: chunks(group).map(|_| next()).collect(),
            cluster_count: i32::try_from(group.clusters.len()).unwrap_or(i32::MAX),
        });
    statuses.collect()
}

/// An empty group still has one, empty, object.
fn chunks(group: &Group) -> impl Iterator<Item = &[Chosen]> {
    let empty = group.clusters.is_empty().then_some(&group.clusters[..]);
    empty.into_iter().chain(group.clusters.chunks(MAX_DECISIONS))
}

fn managed(identity: &Identity, index: usize, group: &Group, clusters: &[Chosen]) -> Managed {
    let index = index.to_string();
    let hash = content_hash(&index, clusters.iter().map(|cluster| &*cluster.name));
    Managed {
        labels_are_exact: true,
        ..Managed::default()
    }
    .shortened(
        labels::PLACEMENT,
        portolan::PLACEMENT_NAME,
        Some(&identity.placement),
    )
    .label(labels::DECISION_GROUP_INDEX, index)
    .shortened(
        labels::DECISION_GROUP_NAME,
        portolan::DECISION_GROUP_NAME,
        Some(&group.name),
    )
    .annotation(portolan::CONTENT, hash)
}

fn status(clusters: &[Chosen], publish_scores: bool) -> PlacementDecisionStatus {
    let decisions = clusters.iter().map(|cluster| ClusterDecision {
        cluster_name: cluster.name.to_string(),
        // OCM always writes an empty reason, and readers compare.
        reason: String::new(),
        score: if publish_scores { cluster.score } else { 0 },
    });
    PlacementDecisionStatus {
        decisions: decisions.collect(),
    }
}
