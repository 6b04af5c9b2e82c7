//! Replica sets where OCM's scheduler decides, and controllers that are switched on and off on their own.

use portolan_api::cluster::{Placement, PlacementDecision};
use portolan_controllers::{Carrying, Output};
use serde_json::json;

use super::*;

/// A decision in the shape in which OCM's scheduler leaves it: no annotation of ours, and a status of the Placement without
/// our conditions.
async fn decided_by_ocm(world: &World, placement: &str, clusters: &[&str]) {
    let name = format!("{placement}-decision-1");
    let api = world.api::<PlacementDecision>();
    if api.get_opt(&name).await.unwrap().is_none() {
        let uid = world
            .api::<Placement>()
            .get(placement)
            .await
            .unwrap()
            .metadata
            .uid;
        world
            .create::<PlacementDecision>(json!({
                "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
                "metadata": {"name": name, "namespace": world.namespace, "labels": {
                    "cluster.open-cluster-management.io/placement": placement,
                    "cluster.open-cluster-management.io/decision-group-index": "0",
                    "cluster.open-cluster-management.io/decision-group-name": "",
                }, "ownerReferences": [{
                    "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
                    "name": placement, "uid": uid, "controller": true, "blockOwnerDeletion": true,
                }]},
            }))
            .await;
    }
    let entries: Vec<Value> = clusters
        .iter()
        .map(|cluster| json!({"clusterName": cluster, "reason": ""}))
        .collect();
    let status = Patch::Merge(json!({"status": {"decisions": entries}}));
    let how = PatchParams::default();
    api.patch_status(&name, &how, &status).await.unwrap();
    let status = json!({"status": {
        "numberOfSelectedClusters": clusters.len(),
        "decisionGroups": [{
            "decisionGroupIndex": 0, "decisionGroupName": "", "clustersCount": clusters.len(), "decisions": [name],
        }],
        "conditions": [{
            "type": "PlacementSatisfied", "status": "True", "reason": "AllDecisionsScheduled", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    }});
    let placements = world.api::<Placement>();
    placements
        .patch_status(placement, &how, &Patch::Merge(status))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn replica_sets_follow_the_decisions_of_another_scheduler_and_nothing_is_decided() {
    let mut world = world(&[("c1", ""), ("c2", "")]).await;
    placement(&world, "all", &[]).await;
    placement(&world, "other", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    let mut settings = World::settings();
    settings.scheduling = Output::Off;
    settings.replica_sets = Carrying::On;
    world.start_with(settings).await;
    decided_by_ocm(&world, "all", &["c1"]).await;
    until_versions(&world, "app", &["c1=1"]).await;
    decided_by_ocm(&world, "all", &["c1", "c2"]).await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    for cluster in ["c1", "c2"] {
        report(&world, "app", cluster, Says::Available).await;
    }
    until_condition(&world, "app", "PlacementRolledOut", ("True", "Complete")).await;
    decided_by_ocm(&world, "all", &["c2"]).await;
    until_versions(&world, "app", &["c2=1"]).await;
    assert!(world.decisions("other").await.is_empty(), "OCM decides");
    assert_eq!(world.condition("other", "PlacementMisconfigured").await, None);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replica_sets_beside_a_scheduler_that_hands_single_placements_over() {
    let mut world = world(&[("c1", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    let mut settings = World::settings();
    settings.only_handed_over = true;
    settings.replica_sets = Carrying::On;
    world.start_with(settings).await;
    decided_by_ocm(&world, "all", &["c1"]).await;
    until_versions(&world, "app", &["c1=1"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scheduling_replica_sets_are_left_to_others_unless_they_are_switched_on() {
    let mut world = world(&[("c1", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    let mut settings = World::settings();
    settings.scheduling = Output::Off;
    world.start_with(settings).await;
    decided_by_ocm(&world, "all", &["c1"]).await;
    world.until_idle().await;
    assert!(works(&world, "app").await.is_empty());
    let set = world.api::<ManifestWorkReplicaSet>().get("app").await.unwrap();
    assert_eq!(set.metadata.finalizers, None);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scheduling_runs_without_replica_sets() {
    let mut world = world(&[("c1", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    let mut settings = World::settings();
    settings.replica_sets = Carrying::Off;
    settings.finished_works = Carrying::Off;
    settings.cluster_profiles = Output::Off;
    settings.work_syncer = Output::Off;
    world.start_with(settings).await;
    world.until_decided("all", &["c1"]).await;
    world.until_idle().await;
    assert!(works(&world, "app").await.is_empty());
    world.stop().await;
}
