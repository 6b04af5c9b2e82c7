//! What a placement decided last, as the engine wants to be told: OCM decisions.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{ClusterDecision, PlacementDecision, PlacementDecisionStatus};
use portolan_api::labels::ocm;
use portolan_api::multicluster;
use portolan_engine::decide::Stored;
use portolan_engine::placement::{PlacementKey, owns_decision, owns_slice};

/// The last decision of a placement. Where OCM decisions are not written, the slices tell it.
pub(super) fn of(key: &PlacementKey, stored: Stored, writes_decisions: bool) -> Vec<PlacementDecision> {
    if writes_decisions {
        let mut decisions = stored.decisions;
        decisions.retain(|decision| owns_decision(key, decision));
        return decisions;
    }
    let slices = stored.slices.iter().filter(|slice| owns_slice(key, slice));
    slices.map(decision).collect()
}

fn decision(slice: &multicluster::PlacementDecision) -> PlacementDecision {
    let labels = slice.metadata.labels.iter().flatten();
    let groups = labels
        .filter(|(key, _)| [ocm::DECISION_GROUP_INDEX, ocm::DECISION_GROUP_NAME].contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()));
    let namespace = slice.metadata.namespace.as_deref().unwrap_or_default();
    let names = slice
        .decisions
        .iter()
        .filter_map(|entry| entry.profile(namespace));
    let decisions = names.map(|(_, name)| ClusterDecision {
        cluster_name: name.to_owned(),
        ..ClusterDecision::default()
    });
    PlacementDecision {
        metadata: ObjectMeta {
            labels: Some(groups.collect::<BTreeMap<_, _>>()),
            ..ObjectMeta::default()
        },
        status: Some(PlacementDecisionStatus {
            decisions: decisions.collect(),
        }),
    }
}
