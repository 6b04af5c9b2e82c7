//! Decisions follow the fleet, in both kinds, and nothing is written when nothing changed.

use kube::api::DeleteParams;
use portolan_api::cluster::Placement;
use serde_json::json;

use crate::world::{World, eventually};

fn by_label() -> serde_json::Value {
    json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn both_kinds_of_decisions_follow_the_fleet() {
    let mut world = World::new().await;
    world.clusters(1..=3, &[("env", "prod")]).await;
    world.cluster("dev", &[("env", "dev")]).await;
    world.placement("p", by_label()).await;
    world.start().await;
    world.until_decided("p", &["c001", "c002", "c003"]).await;
    world.label("dev", "env", Some("prod")).await;
    world.until_decided("p", &["c001", "c002", "c003", "dev"]).await;
    world.label("c002", "env", None).await;
    world.until_decided("p", &["c001", "c003", "dev"]).await;
    let satisfied = world.condition("p", "PlacementSatisfied").await.unwrap();
    assert_eq!(
        (satisfied.0.as_str(), satisfied.1.as_str()),
        ("True", "AllDecisionsScheduled")
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_with_nothing_changed_writes_nothing() {
    let mut world = World::new().await;
    world.clusters(1..=5, &[("env", "prod")]).await;
    world.placement("p", by_label()).await;
    world.placement("top", json!({"numberOfClusters": 2})).await;
    world.start().await;
    let before = versions(&world, &["p", "top"]).await;
    assert_eq!(before.len(), 6);
    world.stop().await;
    world.start().await;
    assert_eq!(versions(&world, &["p", "top"]).await, before);
    world.stop().await;
}

/// Versions of everything that is written for the placements, and of the placements.
async fn versions(world: &World, placements: &[&str]) -> Vec<Option<String>> {
    let mut versions = Vec::new();
    for name in placements {
        let decisions = world.decisions(name).await.into_iter();
        versions.extend(decisions.map(|object| object.metadata.resource_version));
        let slices = world.slices(name).await.into_iter();
        versions.extend(slices.map(|object| object.metadata.resource_version));
        let placement = world.api::<Placement>().get(name).await.unwrap();
        versions.push(placement.metadata.resource_version);
    }
    versions
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_moves_no_cluster_because_others_have_chosen_it_since() {
    let mut world = World::new().await;
    world.clusters(1..=4, &[]).await;
    world.label("c001", "only", Some("this")).await;
    world.placement("first", json!({"numberOfClusters": 2})).await;
    world.start().await;
    world.until_decided("first", &["c001", "c002"]).await;
    // What others decide is no trigger: the first stays where it is though its cluster fills up.
    let only = json!({"predicates": [
        {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"only": "this"}}}},
    ]});
    for name in ["x", "y", "z"] {
        world.placement(name, only.clone()).await;
        world.until_decided(name, &["c001"]).await;
    }
    world.until_idle().await;
    let before = versions(&world, &["first", "x", "y", "z"]).await;
    world.stop().await;
    world.start().await;
    assert_eq!(versions(&world, &["first", "x", "y", "z"]).await, before);
    // When it is looked at for a reason of its own, the crowd counts.
    world
        .patch_placement(
            "first",
            json!({"spec": {"predicates": [{"requiredClusterSelector": {}}]}}),
        )
        .await;
    world.until_decided("first", &["c002", "c003"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_placement_leaves_nothing_behind_unless_asked_to() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[]).await;
    for name in ["gone", "kept"] {
        world.placement(name, json!({})).await;
    }
    world.start().await;
    world.until_decided("gone", &["c001", "c002"]).await;
    world.until_decided("kept", &["c001", "c002"]).await;
    let placements = world.api::<Placement>();
    placements.delete("kept", &DeleteParams::orphan()).await.unwrap();
    placements
        .delete("gone", &DeleteParams::background())
        .await
        .unwrap();
    eventually("the objects of the deleted placement are gone", async || {
        world.decisions("gone").await.is_empty() && world.slices("gone").await.is_empty()
    })
    .await;
    world.stop().await;
    world.start().await;
    assert_eq!(world.decided("kept").await, ["c001", "c002"]);
    world.stop().await;
}
