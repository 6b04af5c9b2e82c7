//! Hubs whose definitions are made anew, and whose objects come back one by one: nothing is lost while they do.

use std::time::Duration;

use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use portolan_api::cluster::{ManagedCluster, Placement};
use portolan_api::multicluster::ClusterProfile;
use portolan_controllers::{Controllers, Settings};
use portolan_engine::fleet::Inventory;
use serde_json::{Value, json};

use crate::recorder::Recorder;
use crate::world::{World, eventually};

const CLUSTERS: &str = "managedclusters.cluster.open-cluster-management.io";
const SETS: &str = "managedclustersets.cluster.open-cluster-management.io";
const BINDINGS: &str = "managedclustersetbindings.cluster.open-cluster-management.io";
const PLACEMENTS: &str = "placements.cluster.open-cluster-management.io";
const SCORES: &str = "addonplacementscores.cluster.open-cluster-management.io";
const PROFILES: &str = "clusterprofiles.multicluster.x-k8s.io";

const BOTH: [&str; 2] = ["c001", "c002"];

/// Two clusters that are decided, and nobody who runs.
async fn decided() -> World {
    let mut world = World::new().await;
    world.clusters(1..=2, &[]).await;
    world.placement("p", json!({})).await;
    world.start().await;
    world.until_decided("p", &BOTH).await;
    world.stop().await;
    world
}

/// Starts the controllers where something that they need is missing.
async fn start_without(world: &mut World, settings: Settings, missing: &str) {
    let controllers = Controllers::start(world.client.clone(), settings);
    let health = controllers.health();
    world.controllers = Some(controllers);
    eventually(&format!("{missing} is missed"), async || {
        let reasons = health.why_not_ready();
        reasons
            .iter()
            .any(|reason| reason.contains(missing) && reason.contains("not served"))
    })
    .await;
}

async fn until_ready(world: &World) {
    let health = world.controllers.as_ref().unwrap().health();
    eventually("the controllers are ready", async || health.is_ready()).await;
    world.until_idle().await;
}

async fn until_created<K>(world: &World)
where
    K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    eventually("the kind is served", async || {
        let api = Api::<K>::all(world.client.clone());
        api.list(&ListParams::default()).await.is_ok()
    })
    .await;
}

/// Definitions have the time of their creation in whole seconds.
async fn a_second() {
    tokio::time::sleep(Duration::from_millis(1100)).await;
}

async fn assert_decided(world: &World, clusters: &[&str]) {
    world.until_idle().await;
    assert_eq!(world.decided("p").await, clusters);
    assert_eq!(world.sliced("p").await, clusters);
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_restored_after_the_start_stay_decided_until_all_are_back() {
    let mut world = decided().await;
    world.remove_crd(CLUSTERS).await;
    let mut recorder = Recorder::start(&world).await;
    start_without(&mut world, World::settings(), "ManagedCluster (").await;
    world.install_crd(CLUSTERS).await;
    until_created::<ManagedCluster>(&world).await;
    until_ready(&world).await;
    assert_decided(&world, &BOTH).await;
    let message = world
        .until_condition("p", "DecisionKept", ("True", "Restoring"))
        .await;
    assert!(
        message.contains("c001, c002") && message.contains("ManagedCluster ("),
        "{message}"
    );
    eventually("people are told", async || {
        world.reasons("p").await.contains(&"DecisionHeldBack".to_owned())
    })
    .await;
    world.cluster("c002", &[]).await;
    world.cluster("c003", &[]).await;
    assert_decided(&world, &BOTH).await;
    let profiles = Api::<ClusterProfile>::namespaced(world.client.clone(), &world.namespace);
    assert!(profiles.get_opt("c001").await.unwrap().is_some());
    world.cluster("c001", &[]).await;
    world.until_decided("p", &["c001", "c002", "c003"]).await;
    world.until_no_condition("p", "DecisionKept").await;
    recorder.settle(&world).await;
    let report = portolan_check::stream::no_gaps(&recorder.finish());
    assert!(report.is_clean(), "{report}");
    // From here on a deletion is a deletion.
    let clusters = world.scoped::<ManagedCluster>();
    clusters.delete("c001", &DeleteParams::default()).await.unwrap();
    world.until_decided("p", &["c002", "c003"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_in_the_middle_of_a_restore_waits_for_the_rest_and_not_for_ever() {
    let mut world = decided().await;
    a_second().await;
    world.remove_crd(CLUSTERS).await;
    world.install_crd(CLUSTERS).await;
    until_created::<ManagedCluster>(&world).await;
    world.cluster("c001", &[]).await;
    world.start().await;
    assert_decided(&world, &BOTH).await;
    world.stop().await;
    let mut settings = World::settings();
    settings.restore_grace = Duration::from_secs(3);
    world.start_with(settings).await;
    world.until_decided("p", &["c001"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_was_deleted_while_nobody_ran_leaves_the_decision() {
    let mut world = decided().await;
    let clusters = world.scoped::<ManagedCluster>();
    clusters.delete("c002", &DeleteParams::default()).await.unwrap();
    world.start().await;
    world.until_decided("p", &["c001"]).await;
    world.stop().await;
    clusters.delete("c001", &DeleteParams::default()).await.unwrap();
    world.start().await;
    world.until_decided("p", &[]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sets_and_bindings_that_are_restored_after_the_start_empty_nothing() {
    let mut world = decided().await;
    world.remove_crd(SETS).await;
    world.remove_crd(BINDINGS).await;
    start_without(&mut world, World::settings(), "ManagedClusterSet (").await;
    world.install_crd(SETS).await;
    world.install_crd(BINDINGS).await;
    until_ready(&world).await;
    assert_decided(&world, &BOTH).await;
    world.all().await;
    assert_decided(&world, &BOTH).await;
    world.bind("all").await;
    world.cluster("c003", &[]).await;
    world.until_decided("p", &["c001", "c002", "c003"]).await;
    world.stop().await;
}

/// Deletions of decision objects that we asked for.
fn deletions(world: &World) -> f64 {
    let kinds = ["cluster.open-cluster-management.io", "multicluster.x-k8s.io"];
    let deleted = kinds.map(|group| {
        world.metric(&format!(
            "portolan_writes_total{{resource=\"placementdecisions.{group}\",verb=\"delete\",result=\"ok\"}}"
        ))
    });
    deleted.iter().sum()
}

async fn restore_placement(world: &World, saved: &Placement) {
    until_created::<Placement>(world).await;
    let placements = world.api::<Placement>();
    let restored: Value = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": saved.metadata.name, "namespace": world.namespace}, "spec": saved.spec,
    });
    let restored = serde_json::from_value(restored).unwrap();
    placements
        .create(&PostParams::default(), &restored)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_outlive_the_definition_of_placements_and_go_on_when_it_is_back() {
    let mut world = decided().await;
    world.start().await;
    let saved = world.api::<Placement>().get("p").await.unwrap();
    world.remove_crd(PLACEMENTS).await;
    let health = world.controllers.as_ref().unwrap().health();
    eventually("placements are missed", async || {
        let reasons = health.why_not_ready();
        reasons.iter().any(|reason| reason.contains("Placement ("))
    })
    .await;
    world.install_crd(PLACEMENTS).await;
    until_ready(&world).await;
    assert_eq!(deletions(&world), 0.0);
    restore_placement(&world, &saved).await;
    world.cluster("c003", &[]).await;
    world.until_decided("p", &["c001", "c002", "c003"]).await;
    assert_eq!(deletions(&world), 0.0);
    // A placement that is deleted for itself takes its decisions with it.
    let placements = world.api::<Placement>();
    placements.delete("p", &DeleteParams::default()).await.unwrap();
    world.until_decided("p", &[]).await;
    eventually("nothing is left", async || {
        world.decisions("p").await.is_empty() && world.slices("p").await.is_empty()
    })
    .await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn we_delete_no_decision_of_a_placement_that_is_restored_after_the_start() {
    let mut world = decided().await;
    let saved = world.api::<Placement>().get("p").await.unwrap();
    world.remove_crd(PLACEMENTS).await;
    start_without(&mut world, World::settings(), "Placement (").await;
    world.install_crd(PLACEMENTS).await;
    until_ready(&world).await;
    assert_eq!(deletions(&world), 0.0);
    restore_placement(&world, &saved).await;
    world.cluster("c003", &[]).await;
    world.until_decided("p", &["c001", "c002", "c003"]).await;
    assert_eq!(deletions(&world), 0.0);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_by_scores_outlives_the_definition_of_scores() {
    let mut world = World::new().await;
    world.clusters(1..=3, &[]).await;
    let coordinate = json!({"type": "AddOn", "addOn": {"resourceName": "cost", "scoreName": "cheap"}});
    let policy = json!({"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate}]});
    world
        .placement("p", json!({"numberOfClusters": 1, "prioritizerPolicy": policy}))
        .await;
    world.score("c003", "cost", &[("cheap", 100)]).await;
    world.start().await;
    world.until_decided("p", &["c003"]).await;
    // While we run, scores that went with their definition are remembered.
    world.remove_crd(SCORES).await;
    world.cluster("c004", &[]).await;
    assert_decided(&world, &["c003"]).await;
    world.stop().await;
    // A process that starts without them keeps what was decided.
    world.start().await;
    assert_decided(&world, &["c003"]).await;
    world.install_crd(SCORES).await;
    until_created::<portolan_api::cluster::AddOnPlacementScore>(&world).await;
    world.score("c002", "cost", &[("cheap", 50)]).await;
    assert_decided(&world, &["c003"]).await;
    world.score("c003", "cost", &[("cheap", 10)]).await;
    world.until_decided("p", &["c002"]).await;
    world.stop().await;
}

async fn profile(world: &World, name: &str) {
    let profile: ClusterProfile = serde_json::from_value(json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {"clusterManager": {"name": "test"}},
    }))
    .unwrap();
    let api = world.api::<ClusterProfile>();
    api.create(&PostParams::default(), &profile).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn profiles_that_are_the_inventory_and_are_restored_after_the_start_stay_decided() {
    let settings = || {
        let mut settings = World::settings();
        settings.inventory = Inventory::ClusterProfiles;
        settings
    };
    let mut world = World::new().await;
    profile(&world, "c001").await;
    profile(&world, "c002").await;
    // Nobody says that they are healthy.
    world
        .placement("p", json!({"tolerations": [{"operator": "Exists"}]}))
        .await;
    world.start_with(settings()).await;
    world.until_decided("p", &BOTH).await;
    world.stop().await;
    world.remove_crd(PROFILES).await;
    start_without(&mut world, settings(), "ClusterProfile (").await;
    world.install_crd(PROFILES).await;
    until_created::<ClusterProfile>(&world).await;
    until_ready(&world).await;
    assert_decided(&world, &BOTH).await;
    profile(&world, "c002").await;
    assert_decided(&world, &BOTH).await;
    profile(&world, "c001").await;
    profile(&world, "c003").await;
    world.until_decided("p", &["c001", "c002", "c003"]).await;
    world.stop().await;
}
