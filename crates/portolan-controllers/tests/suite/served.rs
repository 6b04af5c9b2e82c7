//! Definitions that are missing at the start, or go and come back while the controllers run.

use kube::Api;
use kube::api::ListParams;
use portolan_api::cluster::{ManagedCluster, PlacementDecision};
use portolan_api::multicluster;
use portolan_controllers::Controllers;
use serde_json::json;

use crate::world::{World, eventually};

const CLUSTERS: &str = "managedclusters.cluster.open-cluster-management.io";
const SETS: &str = "managedclustersets.cluster.open-cluster-management.io";
const BINDINGS: &str = "managedclustersetbindings.cluster.open-cluster-management.io";
const OCM: &str = "placementdecisions.cluster.open-cluster-management.io";
const KEP: &str = "placementdecisions.multicluster.x-k8s.io";
const SCORES: &str = "addonplacementscores.cluster.open-cluster-management.io";
const PROFILES: &str = "clusterprofiles.multicluster.x-k8s.io";

async fn world() -> World {
    let world = World::new().await;
    world.clusters(1..=2, &[]).await;
    world.placement("p", json!({})).await;
    world
}

/// The clusters in the OCM decisions and in the slices; none while the kind is not served.
async fn published(world: &World) -> (Vec<String>, Vec<String>) {
    let list = ListParams::default();
    let decisions = match world.api::<PlacementDecision>().list(&list).await {
        Ok(_) => world.decided("p").await,
        Err(_) => Vec::new(),
    };
    let slices = match world.api::<multicluster::PlacementDecision>().list(&list).await {
        Ok(_) => world.sliced("p").await,
        Err(_) => Vec::new(),
    };
    (decisions, slices)
}

async fn until_published(world: &World, decisions: &[&str], slices: &[&str]) {
    eventually(
        &format!("published are {decisions:?} and {slices:?}"),
        async || {
            let (found, sliced) = published(world).await;
            found == decisions && sliced == slices
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_with_the_definitions_of_ocm_alone_works_and_slices_come_with_theirs() {
    let mut world = world().await;
    world.remove_crd(KEP).await;
    world.remove_crd(PROFILES).await;
    world.start().await;
    let both = ["c001", "c002"];
    until_published(&world, &both, &[]).await;
    world.cluster("c003", &[]).await;
    let all = ["c001", "c002", "c003"];
    until_published(&world, &all, &[]).await;
    world.install_crd(PROFILES).await;
    world.install_crd(KEP).await;
    until_published(&world, &all, &all).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_decisions_of_ocm_gets_slices_and_decisions_with_their_definition() {
    let mut world = world().await;
    world.remove_crd(OCM).await;
    world.remove_crd(SCORES).await;
    world.start().await;
    let both = ["c001", "c002"];
    until_published(&world, &[], &both).await;
    world.install_crd(OCM).await;
    until_published(&world, &both, &both).await;
    world.install_crd(SCORES).await;
    world.cluster("c003", &[]).await;
    let all = ["c001", "c002", "c003"];
    until_published(&world, &all, &all).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_that_lose_their_definition_are_written_anew_when_it_is_back() {
    let mut world = world().await;
    world.start().await;
    let both = ["c001", "c002"];
    until_published(&world, &both, &both).await;
    world.remove_crd(KEP).await;
    world.cluster("c003", &[]).await;
    let all = ["c001", "c002", "c003"];
    until_published(&world, &all, &[]).await;
    world.install_crd(KEP).await;
    until_published(&world, &all, &all).await;
    world.remove_crd(OCM).await;
    world.cluster("c004", &[]).await;
    let four = ["c001", "c002", "c003", "c004"];
    until_published(&world, &[], &four).await;
    world.install_crd(OCM).await;
    until_published(&world, &four, &four).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_managed_clusters_at_the_start_nothing_is_decided_and_the_reason_is_told() {
    let mut world = world().await;
    world.start().await;
    let both = ["c001", "c002"];
    until_published(&world, &both, &both).await;
    world.stop().await;
    world.remove_crd(CLUSTERS).await;
    let controllers = Controllers::start(world.client.clone(), World::settings());
    let health = controllers.health();
    world.controllers = Some(controllers);
    eventually("the reason is told", async || {
        let reasons = health.why_not_ready();
        reasons
            .iter()
            .any(|reason| reason.contains("ManagedCluster (") && reason.contains("not served"))
    })
    .await;
    assert!(!health.is_ready());
    until_published(&world, &both, &both).await;
    world.install_crd(CLUSTERS).await;
    world.clusters(1..=3, &[]).await;
    let all = ["c001", "c002", "c003"];
    until_published(&world, &all, &all).await;
    eventually("they are ready", async || health.is_ready()).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_that_go_with_their_definition_are_kept_and_used_again_when_back() {
    let mut world = world().await;
    world.start().await;
    let both = ["c001", "c002"];
    until_published(&world, &both, &both).await;
    world.remove_crd(CLUSTERS).await;
    let message = world
        .until_condition("p", "InputUnreadable", ("True", "NotSynced"))
        .await;
    assert!(message.contains("ManagedCluster ("), "{message}");
    until_published(&world, &both, &both).await;
    world.install_crd(CLUSTERS).await;
    // One comes back, one is new; the one that is not there yet is not given up.
    eventually("clusters can be created", async || {
        let clusters = Api::<ManagedCluster>::all(world.client.clone());
        clusters.list(&ListParams::default()).await.is_ok()
    })
    .await;
    world.cluster("c001", &[]).await;
    world.cluster("c003", &[]).await;
    let all = ["c001", "c002", "c003"];
    until_published(&world, &all, &all).await;
    world.until_no_condition("p", "InputUnreadable").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sets_and_bindings_that_go_with_their_definitions_empty_nothing() {
    let mut world = world().await;
    world.start().await;
    let both = ["c001", "c002"];
    until_published(&world, &both, &both).await;
    world.remove_crd(SETS).await;
    world.remove_crd(BINDINGS).await;
    let message = world
        .until_condition("p", "InputUnreadable", ("True", "NotSynced"))
        .await;
    assert!(message.contains("ManagedClusterSet ("), "{message}");
    world.cluster("c003", &[]).await;
    until_published(&world, &both, &both).await;
    world.install_crd(SETS).await;
    world.install_crd(BINDINGS).await;
    let all = ["c001", "c002", "c003"];
    until_published(&world, &all, &all).await;
    world.until_no_condition("p", "InputUnreadable").await;
    world.stop().await;
}
