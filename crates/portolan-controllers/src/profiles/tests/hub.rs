//! The publisher on the embedded hub, through real watches.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use portolan_api::multicluster::{ClusterProfile, PlacementDecision};
use portolan_runtime::watch::Watch;
use serde_json::json;
use tokio::task::JoinSet;

use super::fixture::{binding, cluster, placement, set};
use crate::health::Outputs;
use crate::profiles::{Profiles, Publisher};
use crate::reconcile::fake::live::{clock, context, eventually, hub, install, rest};
use crate::reconcile::fake::object;
use crate::settings::Settings;

/// A publisher with its watches; it ends when this is dropped.
fn start(client: &Client) -> (JoinSet<()>, Profiles) {
    let settings = Settings::new(clock());
    let (publisher, subscribers, profiles) =
        Publisher::new(client.clone(), &settings, context(&settings), Outputs::default());
    let mut tasks = JoinSet::new();
    tasks.spawn(Watch::new(client.clone(), vec![subscribers.clusters]).run());
    tasks.spawn(Watch::new(client.clone(), vec![subscribers.sets]).run());
    tasks.spawn(Watch::new(client.clone(), vec![subscribers.bindings]).run());
    tasks.spawn(Watch::new(client.clone(), vec![subscribers.placements]).run());
    tasks.spawn(Watch::new(client.clone(), vec![subscribers.profiles]).run());
    tasks.spawn(publisher.run());
    (tasks, profiles)
}

async fn create_cluster(client: &Client, name: &str) {
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    let cluster = cluster(name, "prod");
    let status = json!({"status": cluster.status});
    clusters.create(&PostParams::default(), &cluster).await.unwrap();
    clusters
        .patch_status(name, &PatchParams::default(), &Patch::Merge(&status))
        .await
        .unwrap();
}

async fn bind_and_place(client: &Client) {
    let post = PostParams::default();
    let sets: Api<ManagedClusterSet> = Api::all(client.clone());
    let bindings: Api<ManagedClusterSetBinding> = Api::default_namespaced(client.clone());
    let placements: Api<Placement> = Api::default_namespaced(client.clone());
    sets.create(&post, &set("prod", json!({}))).await.unwrap();
    bindings.create(&post, &binding("default", "prod")).await.unwrap();
    placements
        .create(&post, &placement("default", "web"))
        .await
        .unwrap();
}

/// The version of the whole store, which every write moves.
async fn version(client: &Client) -> Option<String> {
    let sets: Api<ManagedClusterSet> = Api::all(client.clone());
    sets.list(&ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version
}

#[tokio::test(start_paused = true)]
async fn each_cluster_costs_two_writes_a_heartbeat_none_and_a_restart_none() {
    const CLUSTERS: usize = 300;
    let (_hub, client) = hub().await;
    for index in 0..CLUSTERS {
        create_cluster(&client, &format!("c{index:03}")).await;
    }
    bind_and_place(&client).await;
    let profiles: Api<ClusterProfile> = Api::default_namespaced(client.clone());
    let from = version(&client).await.unwrap();
    let (mut running, handle) = start(&client);
    let names: Vec<String> = (0..CLUSTERS).map(|index| format!("c{index:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    handle.published("default", &names).await;
    assert_eq!(
        profiles.list(&ListParams::default()).await.unwrap().items.len(),
        CLUSTERS
    );
    rest().await;
    let before = version(&client).await.unwrap();
    let number = |text: &str| text.parse::<usize>().unwrap();
    assert_eq!(number(&before) - number(&from), 2 * CLUSTERS);

    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    let beat = json!({"status": {"allocatable": {"cpu": "3"}}});
    clusters
        .patch_status("c007", &PatchParams::default(), &Patch::Merge(&beat))
        .await
        .unwrap();
    rest().await;
    let after_heartbeat = version(&client).await.unwrap();
    assert_eq!(
        number(&after_heartbeat) - number(&before),
        1,
        "the heartbeat itself"
    );

    running.shutdown().await;
    let (_again, handle) = start(&client);
    handle.published("default", &names).await;
    rest().await;
    assert_eq!(version(&client).await.unwrap(), after_heartbeat);
}

#[tokio::test(start_paused = true)]
async fn a_profile_outlives_its_cluster_until_the_slices_let_go() {
    let (_hub, client) = hub().await;
    let profiles: Api<ClusterProfile> = Api::default_namespaced(client.clone());
    let slices: Api<PlacementDecision> = Api::default_namespaced(client.clone());
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    bind_and_place(&client).await;
    let (_running, handle) = start(&client);
    for name in ["free", "held"] {
        create_cluster(&client, name).await;
    }
    handle.published("default", &["free", "held"]).await;
    let slice: PlacementDecision = object(json!({
        "metadata": {"name": "web-decision-0"}, "decisions": [{"clusterProfileRef": {"name": "held"}}],
    }));
    slices.create(&PostParams::default(), &slice).await.unwrap();
    for name in ["free", "held"] {
        clusters.delete(name, &DeleteParams::default()).await.unwrap();
    }
    let there = async |name: &str| profiles.get_opt(name).await.unwrap().is_some();
    eventually("the profile that nobody refers to is gone", async || {
        !there("free").await
    })
    .await;
    assert!(there("held").await);
    slices
        .delete("web-decision-0", &DeleteParams::default())
        .await
        .unwrap();
    eventually("the other one is gone as well", async || !there("held").await).await;
}

#[tokio::test(start_paused = true)]
async fn profiles_come_when_their_kind_does_and_return_when_it_was_away() {
    let (_hub, client) = hub().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = "clusterprofiles.multicluster.x-k8s.io";
    let definition = portolan_api::crds()
        .into_iter()
        .find(|crd| crd.metadata.name.as_deref() == Some(name))
        .unwrap();
    let away = async || definitions.get_opt(name).await.unwrap().is_none();
    bind_and_place(&client).await;
    create_cluster(&client, "a").await;
    definitions.delete(name, &DeleteParams::default()).await.unwrap();
    eventually("the kind is away", away).await;
    let (_running, handle) = start(&client);
    handle.published("default", &["a"]).await;

    let profiles: Api<ClusterProfile> = Api::default_namespaced(client.clone());
    let there = async || {
        profiles
            .get("a")
            .await
            .is_ok_and(|profile| profile.status.is_some())
    };
    for _ in 0..2 {
        install(&client, &definition).await;
        eventually("the profile is there", there).await;
        definitions.delete(name, &DeleteParams::default()).await.unwrap();
        eventually("the kind is away", away).await;
        rest().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_consumer_sees_a_profile_created_once_and_completed_once() {
    let (_hub, client) = hub().await;
    bind_and_place(&client).await;
    create_cluster(&client, "a").await;
    let profiles: Api<ClusterProfile> = Api::default_namespaced(client.clone());
    let events = profiles
        .watch(&WatchParams::default().disable_bookmarks(), "0")
        .await
        .unwrap();
    let (_running, _) = start(&client);
    let events: Vec<WatchEvent<ClusterProfile>> = events.take(2).try_collect().await.unwrap();
    let [WatchEvent::Added(created), WatchEvent::Modified(completed)] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert!(created.status.is_none());
    assert_eq!(completed.status.as_ref().unwrap().conditions.len(), 2);
    assert_eq!(completed.metadata.labels.as_ref().unwrap().len(), 3);
}
