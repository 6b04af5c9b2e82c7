//! A fleet of ClusterProfiles and nothing else.

use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams};
use portolan_api::multicluster::ClusterProfile;
use portolan_controllers::Settings;
use serde_json::json;

use crate::world::World;

fn settings() -> Settings {
    let mut settings = World::settings();
    settings.inventory = portolan_engine::fleet::Inventory::ClusterProfiles;
    settings
}

async fn profile(world: &World, name: &str, member: &str) {
    world
        .create::<ClusterProfile>(json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {
                "name": name, "namespace": world.namespace,
                "labels": {
                    "x-k8s.io/cluster-manager": "test",
                    "multicluster.x-k8s.io/clusterset": "blue",
                    "multicluster.x-k8s.io/inventory-member-id": member,
                },
            },
            "spec": {"clusterManager": {"name": "test"}},
        }))
        .await;
    health(world, name, "True").await;
}

async fn health(world: &World, name: &str, status: &str) {
    let patch = Patch::Merge(json!({"status": {"conditions": [{
        "type": "ControlPlaneHealthy", "status": status, "reason": "Test", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}}));
    let api = world.api::<ClusterProfile>();
    api.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn placements_choose_among_profiles_of_their_namespace_without_ocm() {
    let mut world = World::new().await;
    for name in ["a", "b", "c"] {
        profile(&world, name, name).await;
    }
    world.placement("p", json!({"clusterSets": ["blue"]})).await;
    world.start_with(settings()).await;
    world.until_decided("p", &["a", "b", "c"]).await;
    health(&world, "b", "False").await;
    world.until_decided("p", &["a", "c"]).await;
    health(&world, "b", "True").await;
    world.until_decided("p", &["a", "b", "c"]).await;
    let profiles = world.api::<ClusterProfile>();
    profiles.delete("a", &DeleteParams::default()).await.unwrap();
    world.until_decided("p", &["b", "c"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_profiles_with_one_member_id_the_oldest_counts_and_the_next_follows() {
    let mut world = World::new().await;
    profile(&world, "old", "one").await;
    profile(&world, "other", "two").await;
    // Creation times are whole seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    profile(&world, "new", "one").await;
    world.placement("p", json!({})).await;
    world.start_with(settings()).await;
    world.until_decided("p", &["old", "other"]).await;
    let profiles = world.api::<ClusterProfile>();
    profiles.delete("old", &DeleteParams::default()).await.unwrap();
    world.until_decided("p", &["new", "other"]).await;
    // A twin that comes while running changes nothing.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    profile(&world, "another", "one").await;
    world.until_idle().await;
    world.until_decided("p", &["new", "other"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn profiles_of_the_same_cluster_are_named_on_the_placements_that_may_choose_them() {
    let mut world = World::new().await;
    profile(&world, "first", "one").await;
    profile(&world, "other", "two").await;
    world.placement("p", json!({})).await;
    world
        .placement("elsewhere", json!({"clusterSets": ["green"]}))
        .await;
    world.start_with(settings()).await;
    world.until_decided("p", &["first", "other"]).await;
    assert_eq!(world.condition("p", "DuplicateMember").await, None);
    // Which of them is the older is told by whole seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    profile(&world, "second", "one").await;
    let message = world
        .until_condition("p", "DuplicateMember", ("True", "SameMemberId"))
        .await;
    for word in ["first, second", "one", "first, the oldest, counts"] {
        assert!(message.contains(word), "{message}");
    }
    world.until_decided("p", &["first", "other"]).await;
    crate::world::eventually("people are told", async || {
        world.reasons("p").await.contains(&"DuplicateMember".to_owned())
    })
    .await;
    assert_eq!(world.condition("elsewhere", "DuplicateMember").await, None);
    let true_now = "portolan_placements{condition=\"DuplicateMember\",status=\"true\"}";
    assert_eq!(world.metric(true_now), 1.0);
    let profiles = world.api::<ClusterProfile>();
    profiles.delete("first", &DeleteParams::default()).await.unwrap();
    world.until_decided("p", &["other", "second"]).await;
    world.until_no_condition("p", "DuplicateMember").await;
    world.until_idle().await;
    assert_eq!(world.metric(true_now), 0.0);
    world.stop().await;
}
