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
    let versions = async |world: &World| {
        let mut versions = Vec::new();
        for name in ["p", "top"] {
            versions.extend(
                world
                    .decisions(name)
                    .await
                    .into_iter()
                    .map(|object| object.metadata),
            );
            versions.extend(world.slices(name).await.into_iter().map(|object| object.metadata));
            versions.push(world.api::<Placement>().get(name).await.unwrap().metadata);
        }
        versions
            .into_iter()
            .map(|metadata| metadata.resource_version)
            .collect::<Vec<_>>()
    };
    let before = versions(&world).await;
    assert_eq!(before.len(), 6);
    world.stop().await;
    world.start().await;
    assert_eq!(versions(&world).await, before);
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
