//! Objects that a server has and that cannot be read: they are unknown, not absent, and stop nobody else.
//!
//! The definitions are loose here, so that a server takes anything: older definitions, those of other projects and
//! servers that count otherwise do the same in earnest.

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kube::Api;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use portolan_api::work::ManifestWork;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRunner};
use serde_json::{Value, json};

use crate::world::{World, eventually};

const CONDITION: &str = "InputUnreadable";

/// Our definitions, without any rule.
fn loose() -> Vec<CustomResourceDefinition> {
    let mut definitions = portolan_api::crds();
    for definition in &mut definitions {
        for version in &mut definition.spec.versions {
            let anything = JSONSchemaProps {
                type_: Some("object".to_owned()),
                x_kubernetes_preserve_unknown_fields: Some(true),
                ..JSONSchemaProps::default()
            };
            version.schema.as_mut().unwrap().open_api_v3_schema = Some(anything);
        }
    }
    definitions
}

async fn world() -> World {
    let world = World::new().await;
    world.install(loose()).await;
    world
}

fn prod() -> Value {
    json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}]})
}

/// Writes into an object as it is, whatever that makes of it.
async fn spoil(world: &World, cluster: &str, status: Value) {
    let resource = ApiResource::erase::<portolan_api::cluster::ManagedCluster>(&());
    let api: Api<DynamicObject> = Api::all_with(world.client.clone(), &resource);
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(cluster, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_cannot_be_read_stays_where_it_is_and_others_come_and_go() {
    let mut world = world().await;
    world.clusters(1..=3, &[("env", "prod")]).await;
    world.cluster("late", &[("env", "dev")]).await;
    world.placement("web", prod()).await;
    world.start().await;
    world.until_decided("web", &["c001", "c002", "c003"]).await;

    spoil(&world, "c002", json!({ "conditions": "none" })).await;
    let message = world
        .until_condition("web", CONDITION, ("True", "ObjectUnreadable"))
        .await;
    assert!(
        message.contains("ManagedCluster c002 cannot be read (status.conditions: the value is the text \"none\"; accepted: a list"),
        "{message}"
    );
    let health = world.controllers.as_ref().unwrap().health();
    let resource = "managedclusters.cluster.open-cluster-management.io";
    let notes = health.notes();
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with(&format!("{resource} c002 cannot be read: "))),
        "{notes:?}"
    );
    let metric = format!("portolan_unreadable_objects{{resource=\"{resource}\"}}");
    assert_eq!(world.metric(&metric), 1.0);
    // It counts as it was last read.
    world.label("late", "env", Some("prod")).await;
    world
        .until_decided("web", &["c001", "c002", "c003", "late"])
        .await;

    spoil(&world, "c002", json!({ "conditions": null })).await;
    world.until_no_condition("web", CONDITION).await;
    assert_eq!(world.metric(&metric), 0.0);
    assert_eq!(health.notes(), Vec::<String>::new());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_could_never_be_read_keeps_its_decisions_and_no_others() {
    let mut world = world().await;
    world.clusters(1..=3, &[("env", "prod")]).await;
    world.clusters(4..=5, &[("env", "test")]).await;
    world.placement("web", prod()).await;
    let test = json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "test"}}}}]});
    world.placement("other", test).await;
    world.start().await;
    world.until_decided("web", &["c001", "c002", "c003"]).await;
    world.until_decided("other", &["c004", "c005"]).await;
    world.stop().await;

    spoil(&world, "c002", json!({ "capacity": 7 })).await;
    world.label("c001", "env", None).await;
    world.label("c004", "env", None).await;
    world.start().await;
    world.until_decided("other", &["c005"]).await;
    let message = world
        .until_condition("web", CONDITION, ("True", "ObjectUnreadable"))
        .await;
    assert!(
        message.starts_with("The last decision is kept: ManagedCluster c002"),
        "{message}"
    );
    world.until_idle().await;
    assert_eq!(world.decided("web").await, ["c001", "c002", "c003"]);
    assert_eq!(world.condition("other", CONDITION).await, None);

    spoil(&world, "c002", json!({ "capacity": null })).await;
    world.until_decided("web", &["c002", "c003"]).await;
    world.until_no_condition("web", CONDITION).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placement_that_cannot_be_read_keeps_its_decision_and_is_decided_when_it_can_be() {
    let mut world = world().await;
    world.clusters(1..=2, &[("env", "prod")]).await;
    world.placement("web", prod()).await;
    world.start().await;
    world.until_decided("web", &["c001", "c002"]).await;
    let resource = ApiResource::erase::<portolan_api::cluster::Placement>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(world.client.clone(), &world.namespace, &resource);
    let patch = |number: Value| Patch::Merge(json!({ "spec": { "numberOfClusters": number } }));
    let how = PatchParams::default();
    api.patch("web", &how, &patch("one".into())).await.unwrap();
    let health = world.controllers.as_ref().unwrap().health();
    let place = format!("{}/web cannot be read: spec.numberOfClusters", world.namespace);
    eventually("the placement is named", async || {
        health.notes().iter().any(|note| note.contains(&place))
    })
    .await;
    // Nor does a process keep less that has never read it.
    world.stop().await;
    world.start().await;
    world.until_idle().await;
    assert_eq!(world.decided("web").await, ["c001", "c002"]);
    assert_eq!(world.sliced("web").await, ["c001", "c002"]);
    api.patch("web", &how, &patch(1.into())).await.unwrap();
    eventually("the placement is decided again", async || {
        world.decided("web").await.len() == 1
    })
    .await;
    world.stop().await;
}

/// Every kind that the controllers watch: group and version, plural, kind, whether it is in a namespace.
const KINDS: [(&str, &str, &str, bool); 11] = [
    (
        "cluster.open-cluster-management.io/v1",
        "managedclusters",
        "ManagedCluster",
        false,
    ),
    (
        "cluster.open-cluster-management.io/v1beta2",
        "managedclustersets",
        "ManagedClusterSet",
        false,
    ),
    (
        "cluster.open-cluster-management.io/v1beta2",
        "managedclustersetbindings",
        "ManagedClusterSetBinding",
        true,
    ),
    (
        "cluster.open-cluster-management.io/v1alpha1",
        "addonplacementscores",
        "AddOnPlacementScore",
        true,
    ),
    (
        "cluster.open-cluster-management.io/v1beta1",
        "placements",
        "Placement",
        true,
    ),
    (
        "cluster.open-cluster-management.io/v1beta1",
        "placementdecisions",
        "PlacementDecision",
        true,
    ),
    (
        "multicluster.x-k8s.io/v1alpha1",
        "placementdecisions",
        "PlacementDecision",
        true,
    ),
    (
        "multicluster.x-k8s.io/v1alpha1",
        "clusterprofiles",
        "ClusterProfile",
        true,
    ),
    ("multicluster.x-k8s.io/v1alpha1", "works", "Work", true),
    (
        "work.open-cluster-management.io/v1",
        "manifestworks",
        "ManifestWork",
        true,
    ),
    (
        "work.open-cluster-management.io/v1alpha1",
        "manifestworkreplicasets",
        "ManifestWorkReplicaSet",
        true,
    ),
];

/// Places that kinds have something in.
const PLACES: [&str; 17] = [
    "/spec",
    "/status",
    "/spec/workload",
    "/spec/workload/manifests",
    "/spec/taints",
    "/spec/predicates",
    "/spec/numberOfClusters",
    "/spec/clusterSelector",
    "/spec/placementRefs",
    "/status/conditions",
    "/status/decisions",
    "/status/validUntil",
    "/status/scores",
    "/status/clusterClaims",
    "/status/resourceStatus",
    "/decisions",
    "/schedulerName",
];

/// Nested as deeply as the server takes it: the embedded hub refuses what its own readers could not read.
fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| json!({ "a": inner }))
}

fn poison(levels: usize) -> impl Strategy<Value = Value> {
    let condition = |time: Value, generation: Value| {
        json!([{ "type": "X", "status": "True", "reason": "R", "message": "",
                 "lastTransitionTime": time, "observedGeneration": generation }])
    };
    prop_oneof![
        Just(json!("text")),
        Just(json!(3)),
        Just(json!(1.5)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!([1, "a"])),
        Just(json!({ "a": 1 })),
        Just(json!(1e300)),
        Just(json!(-5)),
        Just(json!(u64::MAX)),
        Just(json!("9999-12-31T23:59:59Z")),
        Just(json!("x".repeat(1 << 20))),
        Just(condition("9999-12-31T23:59:59Z".into(), 1.into())),
        Just(condition("2026-01-01T00:00:00Z".into(), json!(1e300))),
        Just(condition(0.into(), Value::Null)),
        Just(nested(levels)),
        Just(json!([nested(levels)])),
    ]
}

/// Makes an object of a kind with something at a place that is not meant for it.
async fn broken(world: &World, name: &str, kind: usize, place: &str, poison: &Value) {
    let (api_version, plural, kind, namespaced) = KINDS[kind];
    let mut object =
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name }, "spec": {} });
    let steps: Vec<&str> = place.trim_start_matches('/').split('/').collect();
    let mut at = &mut object;
    for step in &steps {
        if !at[*step].is_object() {
            at[*step] = json!({});
        }
        at = &mut at[*step];
    }
    *at = poison.clone();
    let namespace = match namespaced {
        true => format!("namespaces/{}/", world.namespace),
        false => String::new(),
    };
    let collection = format!("/apis/{api_version}/{namespace}{plural}");
    let send = async |request: http::Request<Vec<u8>>| world.client.request_text(request).await;
    let create = kube::core::Request::new(collection.clone())
        .create(&PostParams::default(), object.to_string().into_bytes())
        .unwrap();
    // What a server does not take cannot hurt.
    if send(create).await.is_ok() && steps[0] == "status" {
        let status = Patch::Merge(json!({ "status": object["status"] }));
        let patch = kube::core::Request::new(collection)
            .patch_subresource("status", name, &PatchParams::default(), &status)
            .unwrap();
        let _ = send(patch).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_broken_objects_of_every_kind_stop_no_placement_and_no_rollout() {
    let mut world = world().await;
    for cluster in ["c001", "c002", "late"] {
        let namespace = json!({ "metadata": { "name": cluster } });
        let api = world.scoped::<Namespace>();
        if api.get_opt(cluster).await.unwrap().is_none() {
            world.create::<Namespace>(namespace).await;
        }
    }
    world.clusters(1..=2, &[("env", "prod")]).await;
    world.cluster("late", &[("env", "dev")]).await;
    world.placement("web", prod()).await;
    let manifest =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "b" } });
    let set = json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": "app", "namespace": world.namespace },
        "spec": {
            "manifestWorkTemplate": { "workload": { "manifests": [manifest] } },
            "placementRefs": [{ "name": "web", "rolloutStrategy": { "type": "All", "all": {} } }],
        },
    });
    world
        .create::<portolan_api::work::ManifestWorkReplicaSet>(set)
        .await;

    // The reader's own test has a thousand levels. Here: what the hub takes, and what Kubernetes 1.20, to which each level
    // is twice the work of the last, takes in reasonable time.
    let levels = if world.server.is_real() { 10 } else { 90 };
    let mut runner = TestRunner::new(Config {
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(seed()),
        ..Config::default()
    });
    let spots = (
        0..KINDS.len(),
        proptest::sample::select(PLACES.to_vec()),
        poison(levels),
    );
    let mut batch = async |world: &World, batch: usize| {
        for number in 0..60 {
            let (kind, place, poison) = spots.new_tree(&mut runner).unwrap().current();
            broken(world, &format!("broken-{batch}-{number}"), kind, place, &poison).await;
        }
        for kind in 0..KINDS.len() {
            broken(
                world,
                &format!("spoilt-{batch}-{kind}"),
                kind,
                "/status",
                &json!(3),
            )
            .await;
            broken(
                world,
                &format!("wrong-{batch}-{kind}"),
                kind,
                "/spec",
                &json!("x"),
            )
            .await;
        }
    };
    // Some are there when the controllers start, some come while they run.
    batch(&world, 0).await;
    world.start().await;
    let unreadable = || {
        let text = world.controllers.as_ref().unwrap().metrics().text();
        let lines = text
            .lines()
            .filter(|line| line.starts_with("portolan_unreadable_objects{"));
        lines.count()
    };
    assert!(
        unreadable() >= KINDS.len() - 2,
        "the test breaks nearly every kind"
    );
    world.until_decided("web", &["c001", "c002"]).await;
    until_works(&world, &["c001", "c002"]).await;
    batch(&world, 1).await;
    world.label("late", "env", Some("prod")).await;
    world.until_decided("web", &["c001", "c002", "late"]).await;
    until_works(&world, &["c001", "c002", "late"]).await;
    world.label("c001", "env", None).await;
    world.until_decided("web", &["c002", "late"]).await;
    until_works(&world, &["c002", "late"]).await;
    world.stop().await;
    world.clean().await;
}

/// `PORTOLAN_UNREADABLE_SEED` repeats a run.
fn seed() -> u64 {
    let name = "PORTOLAN_UNREADABLE_SEED";
    let seed = std::env::var(name).ok().map(|text| text.parse().unwrap());
    let seed = seed.unwrap_or_else(|| {
        use std::hash::BuildHasher;
        std::hash::RandomState::new().hash_one(name) % 1_000_000
    });
    eprintln!("{name}={seed}");
    seed
}

/// Waits until the replica set has works for exactly these clusters.
async fn until_works(world: &World, clusters: &[&str]) {
    let label = format!(
        "work.open-cluster-management.io/manifestworkreplicaset={}.app",
        world.namespace
    );
    let api: Api<ManifestWork> = Api::all(world.client.clone());
    eventually(&format!("there are works for {clusters:?}"), async || {
        let works = api.list(&ListParams::default().labels(&label)).await.unwrap();
        let mut namespaces: Vec<String> = works
            .into_iter()
            .filter(|work| work.metadata.deletion_timestamp.is_none())
            .filter_map(|work| work.metadata.namespace)
            .collect();
        namespaces.sort();
        namespaces == clusters
    })
    .await;
}
