//! A fleet of ClusterProfiles and nothing else.

use portolan_api::multicluster::ClusterProfile;
use serde_json::{Value, json};

use super::fixture::*;
use crate::engine::Engine;
use crate::fleet::Inventory;

fn profile(
    namespace: &str,
    name: &str,
    set: &str,
    healthy: Option<&str>,
    properties: Value,
) -> ClusterProfile {
    let conditions: Vec<Value> = healthy
        .map(|status| {
            json!({"type": "ControlPlaneHealthy", "status": status, "reason": "x", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
        })
        .into_iter()
        .collect();
    object(json!({
        "metadata": {"name": name, "namespace": namespace, "labels": {"multicluster.x-k8s.io/clusterset": set}},
        "spec": {"clusterManager": {"name": "test"}},
        "status": {"conditions": conditions, "properties": properties},
    }))
}

fn world(spec: Value) -> World {
    let mut engine = Engine::new(Inventory::ClusterProfiles);
    for profile in [
        profile(
            "apps",
            "a",
            "blue",
            Some("True"),
            json!([{"name": "gpu", "value": "8"}]),
        ),
        profile("apps", "b", "blue", Some("False"), json!([])),
        profile("apps", "c", "green", None, json!([])),
        profile(
            "apps",
            "d",
            "green",
            Some("True"),
            json!([{"name": "gpu", "value": "16"}]),
        ),
        profile("elsewhere", "e", "blue", Some("True"), json!([])),
    ] {
        engine.apply_profile(&profile);
    }
    engine.apply_placement(&placement(spec));
    World {
        engine,
        stored: Default::default(),
    }
}

#[test]
fn a_placement_chooses_healthy_profiles_of_its_namespace_without_a_binding() {
    assert_eq!(world(json!({})).selected(), ["a", "d"]);
}

#[test]
fn cluster_sets_are_values_of_the_clusterset_label() {
    assert_eq!(world(json!({"clusterSets": ["green"]})).selected(), ["d"]);
}

#[test]
fn ill_health_is_a_taint_that_can_be_tolerated() {
    let unavailable = json!({"tolerations": [
        {"key": "cluster.open-cluster-management.io/unavailable", "operator": "Exists"},
    ]});
    assert_eq!(world(unavailable).selected(), ["a", "b", "d"]);
    let unreachable = json!({"tolerations": [
        {"key": "cluster.open-cluster-management.io/unreachable", "operator": "Exists"},
    ]});
    assert_eq!(world(unreachable).selected(), ["a", "c", "d"]);
}

#[test]
fn properties_are_claims() {
    let spec = json!({"numberOfClusters": 1, "prioritizerPolicy": {"configurations": [
        {"scoreCoordinate": {"type": "Property", "property": "gpu"}, "weight": 10},
    ]}});
    assert_eq!(world(spec).selected(), ["d"]);
    let spec = json!({"predicates": [{"requiredClusterSelector": {"claimSelector": {"matchExpressions": [
        {"key": "gpu", "operator": "In", "values": ["8"]},
    ]}}}]});
    assert_eq!(world(spec).selected(), ["a"]);
}

#[test]
fn slices_refer_to_profiles_of_the_placements_namespace() {
    let slices = world(json!({})).decide().layout.slices.unwrap();
    let reference = slices[0].decisions[0].cluster_profile_ref.as_ref().unwrap();
    assert_eq!(
        (reference.name.as_str(), reference.namespace.as_deref()),
        ("a", Some("apps"))
    );
}

#[test]
fn of_profiles_that_share_a_member_only_the_oldest_counts_and_none_when_tied() {
    let twin = |name: &str, created: &str| -> ClusterProfile {
        let mut twin = profile("apps", name, "blue", Some("True"), json!([]));
        twin.metadata.creation_timestamp = Some(object(json!(created)));
        let labels = twin.metadata.labels.get_or_insert_default();
        labels.insert(
            "multicluster.x-k8s.io/inventory-member-id".into(),
            "member-1".into(),
        );
        twin
    };
    let mut world = world(json!({"clusterSets": ["blue"]}));
    world.engine.apply_profile(&twin("x", "2026-01-01T00:00:01Z"));
    assert_eq!(world.selected(), ["a", "x"]);
    assert_eq!(world.engine.evaluate_due(now()).len(), 1);
    world.engine.apply_profile(&twin("w", "2026-01-01T00:00:00Z"));
    assert_eq!(
        world.engine.due().len(),
        1,
        "x no longer counts, though only w changed"
    );
    assert_eq!(world.selected(), ["a", "w"]);
    let verdict = crate::explain::explain(&mut world.engine, &key(), now()).unwrap();
    let x = verdict
        .clusters
        .iter()
        .find(|verdict| verdict.cluster == "x")
        .unwrap();
    assert!(x.reason.contains("inventory-member-id=member-1"), "{}", x.reason);
    world.engine.apply_profile(&twin("x", "2026-01-01T00:00:00Z"));
    assert_eq!(world.selected(), ["a"]);
}

#[test]
fn the_smallest_change_is_found_for_profiles_too() {
    let flip = |spec: Value, cluster: &str| {
        let mut world = world(spec);
        let flip = crate::explain::explain_cluster(&mut world.engine, &key(), cluster, now())
            .unwrap()
            .1
            .unwrap();
        flip.edits.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let gpu = json!({"predicates": [{"requiredClusterSelector": {"claimSelector": {"matchExpressions": [
        {"key": "gpu", "operator": "In", "values": ["8"]},
    ]}}}]});
    assert_eq!(flip(gpu, "d"), ["have the cluster report claim gpu=8"]);
    assert_eq!(
        flip(json!({"numberOfClusters": 1}), "d"),
        ["set spec.numberOfClusters to 2"]
    );
    assert_eq!(
        flip(json!({"clusterSets": ["blue"]}), "d"),
        ["set label multicluster.x-k8s.io/clusterset=blue on the cluster"]
    );
    assert_eq!(flip(json!({}), "a"), ["set spec.numberOfClusters to 0"]);
}
