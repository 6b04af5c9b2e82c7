//! Tiny fleets: a set `all` bound to namespace `apps`, and whatever a test adds.

use jiff::Timestamp;
use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
use serde_json::{Value, json};

use crate::decide::{Decision, Stored, decide};
use crate::engine::Engine;
use crate::fleet::Inventory;
use crate::layout::PublishScores;
use crate::outcome::Outcome;
use crate::placement::PlacementKey;

pub(crate) fn object<T: serde::de::DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn now() -> Timestamp {
    at("2026-01-01T12:00:00Z")
}

/// A cluster with labels such as `env=prod`.
pub(crate) fn cluster(name: &str, labels: &[&str]) -> ManagedCluster {
    let labels: serde_json::Map<String, Value> = labels
        .iter()
        .filter_map(|pair| pair.split_once('='))
        .map(|(k, v)| (k.into(), json!(v)))
        .collect();
    object(json!({"metadata": {"name": name, "labels": labels}, "spec": {"hubAcceptsClient": true}}))
}

pub(crate) fn with_status(mut cluster: ManagedCluster, status: Value) -> ManagedCluster {
    cluster.status = Some(object(status));
    cluster
}

pub(crate) fn with_taints(mut cluster: ManagedCluster, taints: Value) -> ManagedCluster {
    cluster.spec.taints = object(taints);
    cluster
}

pub(crate) fn placement(spec: Value) -> Placement {
    object(json!({"metadata": {"name": "web", "namespace": "apps"}, "spec": spec}))
}

pub(crate) fn key() -> PlacementKey {
    PlacementKey::new("apps", "web")
}

/// One OCM decision of the placement `web`.
pub(crate) fn decision(number: usize, group: (usize, &str), clusters: &[&str]) -> PlacementDecision {
    decision_of("web", number, group, clusters)
}

pub(crate) fn decision_of(
    placement: &str,
    number: usize,
    group: (usize, &str),
    clusters: &[&str],
) -> PlacementDecision {
    let entries: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    object(json!({
        "metadata": {"name": format!("{placement}-decision-{number}"), "namespace": "apps", "labels": {
            "cluster.open-cluster-management.io/placement": placement,
            "cluster.open-cluster-management.io/decision-group-index": group.0.to_string(),
            "cluster.open-cluster-management.io/decision-group-name": group.1,
        }},
        "status": {"decisions": entries},
    }))
}

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) stored: Stored,
}

impl World {
    /// Clusters that are all in the bound set `all`, and the placement `web`.
    pub(crate) fn new(clusters: &[ManagedCluster], spec: Value) -> World {
        let mut engine = Engine::new(Inventory::ManagedClusters);
        engine.apply_set(&object(json!({
            "metadata": {"name": "all"},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
        })));
        engine.apply_binding(&object(json!({
            "metadata": {"name": "all", "namespace": "apps"}, "spec": {"clusterSet": "all"},
        })));
        clusters.iter().for_each(|cluster| engine.apply_cluster(cluster));
        engine.apply_placement(&placement(spec));
        World {
            engine,
            stored: Stored::default(),
        }
    }

    pub(crate) fn with_prior(mut self, decisions: Vec<PlacementDecision>) -> World {
        self.engine.observe_decisions(&key(), &decisions);
        self.stored.decisions = decisions;
        self
    }

    pub(crate) fn outcome(&mut self) -> Outcome {
        self.engine.evaluate(&key(), now()).unwrap()
    }

    pub(crate) fn decide(&mut self) -> Decision {
        decide(
            &mut self.engine,
            &key(),
            &self.stored,
            PublishScores::Always,
            now(),
        )
        .unwrap()
    }

    /// Names of the selected clusters from best to worst.
    pub(crate) fn selected(&mut self) -> Vec<String> {
        let outcome = self.outcome();
        outcome
            .selected_by_rank()
            .iter()
            .map(|id| self.engine.fleet().name(*id).to_string())
            .collect()
    }

    /// `name:cluster,cluster` of each group.
    pub(crate) fn groups(&mut self) -> Vec<String> {
        let outcome = self.outcome();
        let group = |group: &crate::model::Group| {
            let names: Vec<&str> = group.clusters.iter().map(|chosen| &*chosen.name).collect();
            format!("{}:{}", group.name, names.join(","))
        };
        outcome
            .named_groups(self.engine.fleet())
            .iter()
            .map(group)
            .collect()
    }

    pub(crate) fn total(&mut self, cluster: &str) -> i64 {
        let outcome = self.outcome();
        outcome
            .total(self.engine.fleet().find("apps", cluster).unwrap())
            .unwrap()
    }
}
