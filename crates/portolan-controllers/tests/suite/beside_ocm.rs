//! On a hub where others write too: OCM's decisions are taken over without losing a cluster, and what another writer
//! does is mended, given up on, or left alone, as it deserves.

use std::collections::BTreeSet;

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use portolan_api::cluster::{Placement, PlacementDecision};
use portolan_api::multicluster;
use portolan_check::{Cluster, DecisionId, state, stream};
use serde_json::{Value, json};

use crate::recorder::Recorder;
use crate::world::{World, eventually};

/// A decision object as OCM's controller writes it: three labels, an owner, entries without scores.
async fn ocm_wrote(world: &World, placement: &Placement, number: usize, clusters: &[String]) {
    let owner = placement.metadata.name.clone().unwrap();
    let name = format!("{owner}-decision-{number}");
    world
        .create::<PlacementDecision>(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
            "metadata": {
                "name": name, "namespace": world.namespace,
                "labels": {
                    "cluster.open-cluster-management.io/placement": owner,
                    "cluster.open-cluster-management.io/decision-group-index": "0",
                    "cluster.open-cluster-management.io/decision-group-name": "",
                },
                "ownerReferences": [{
                    "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
                    "name": owner, "uid": placement.metadata.uid, "controller": true, "blockOwnerDeletion": true,
                }],
            },
        }))
        .await;
    write_entries(world, &name, clusters).await;
}

async fn write_entries(world: &World, object: &str, clusters: &[String]) {
    let entries: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    let patch = Patch::Merge(json!({"status": {"decisions": entries}}));
    let api = world.api::<PlacementDecision>();
    api.patch_status(object, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

fn names(numbers: std::ops::RangeInclusive<usize>) -> Vec<String> {
    numbers.map(|number| format!("c{number:03}")).collect()
}

fn managed<'a>(names: impl IntoIterator<Item = &'a String>) -> BTreeSet<Cluster> {
    names.into_iter().map(Cluster::managed).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn starting_beside_ocm_removes_no_cluster_and_stopping_leaves_what_ocm_would_write() {
    let mut world = World::new().await;
    world.clusters(1..=130, &[]).await;
    let everyone = world.placement("everyone", json!({})).await;
    ocm_wrote(&world, &everyone, 1, &names(1..=100)).await;
    ocm_wrote(&world, &everyone, 2, &names(101..=130)).await;
    // Not what a fresh evaluation would choose; what is chosen already is steady.
    let some = world.placement("some", json!({"numberOfClusters": 3})).await;
    let chosen: Vec<String> = ["c005", "c077", "c120"].map(String::from).into();
    ocm_wrote(&world, &some, 1, &chosen).await;
    // One that is named by nobody any more.
    let late = world
        .placement(
            "late",
            json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"no": "one"}}}}]}),
        )
        .await;
    ocm_wrote(&world, &late, 1, &names(1..=2)).await;

    let mut recorder = Recorder::start(&world).await;
    world.start().await;
    recorder.settle(&world).await;
    world.stop().await;
    let recording = recorder.finish();
    for (placement, stays) in [("everyone", names(1..=130)), ("some", chosen.clone())] {
        let id = DecisionId::ocm(&world.namespace, placement);
        let report = stream::stays_present(&recording, &id, &managed(&stays));
        assert!(report.is_clean(), "{report}");
        assert_eq!(world.decided(placement).await, stays);
        assert_eq!(world.sliced(placement).await, stays);
    }
    assert_eq!(world.decided("late").await, Vec::<String>::new());

    // What is left: OCM's names, labels and groups, and a status that agrees with them.
    let report = state::rest(&recording.last());
    assert!(report.is_clean(), "{report}");
    for object in world.decisions("everyone").await {
        let labels = object.metadata.labels.unwrap();
        assert_eq!(labels.len(), 3, "{labels:?}");
        assert_eq!(labels["cluster.open-cluster-management.io/placement"], "everyone");
        assert!(
            object
                .status
                .unwrap()
                .decisions
                .iter()
                .all(|entry| entry.reason.is_empty())
        );
    }
    let status = world.api::<Placement>().get("everyone").await.unwrap().status;
    let status = serde_json::to_value(status.unwrap()).unwrap();
    assert_eq!(status["numberOfSelectedClusters"], 130);
    assert_eq!(
        status["decisionGroups"],
        json!([{
            "decisionGroupIndex": 0, "decisionGroupName": "", "clusterCount": 130,
            "decisions": ["everyone-decision-1", "everyone-decision-2"],
        }])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_edited_by_hand_is_mended_in_both_kinds() {
    let mut world = World::new().await;
    world.clusters(1..=3, &[]).await;
    world.placement("p", json!({})).await;
    world.start().await;
    let all = ["c001", "c002", "c003"];
    world.until_decided("p", &all).await;
    write_entries(
        &world,
        "p-decision-1",
        &["c001".to_owned(), "stranger".to_owned()],
    )
    .await;
    world.until_decided("p", &all).await;
    let slices = world.api::<multicluster::PlacementDecision>();
    let patch = Patch::Merge(json!({"decisions": []}));
    slices
        .patch("p-decision-0", &PatchParams::default(), &patch)
        .await
        .unwrap();
    world.until_decided("p", &all).await;
    // Deleted objects come back as well.
    world
        .api::<PlacementDecision>()
        .delete("p-decision-1", &DeleteParams::default())
        .await
        .unwrap();
    slices
        .delete("p-decision-0", &DeleteParams::default())
        .await
        .unwrap();
    eventually("both kinds are back", async || {
        world.decided("p").await == all && world.sliced("p").await == all
    })
    .await;
    assert_eq!(world.condition("p", "DecisionContested").await, None);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_keeps_changing_our_decisions_is_left_alone_and_reported() {
    let mut world = World::new().await;
    world.clusters(1..=3, &[]).await;
    world.placement("fought", json!({})).await;
    world.placement("calm", json!({})).await;
    world.start().await;
    let theirs = ["c001".to_owned()];
    eventually("we give way", async || {
        if world.decided("fought").await != theirs {
            write_entries(&world, "fought-decision-1", &theirs).await;
        }
        world.condition("fought", "DecisionContested").await.is_some()
    })
    .await;
    let (status, reason, message) = world.condition("fought", "DecisionContested").await.unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("True", "AnotherWriter"));
    assert!(message.contains("portolan.dev/scheduler: portolan"), "{message}");
    write_entries(&world, "fought-decision-1", &theirs).await;
    world.cluster("c004", &[]).await;
    world
        .until_decided("calm", &["c001", "c002", "c003", "c004"])
        .await;
    world.until_idle().await;
    assert_eq!(world.decided("fought").await, theirs);
    eventually("people are told", async || {
        world
            .reasons("fought")
            .await
            .contains(&"DecisionContested".to_owned())
    })
    .await;
    world.stop().await;
}

fn foreign(world: &World, name: &str, key: &str) -> Value {
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
        "metadata": {
            "name": name, "namespace": world.namespace,
            "labels": {
                "multicluster.x-k8s.io/decision-key": key,
                "multicluster.x-k8s.io/decision-index": "0",
            },
        },
        "schedulerName": "another",
        "decisions": [{"clusterProfileRef": {"name": "c002", "namespace": world.namespace}}],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn slices_of_another_scheduler_under_our_key_or_name_are_reported_and_never_touched() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[]).await;
    let slices = world.api::<multicluster::PlacementDecision>();
    let on_name = world
        .create::<multicluster::PlacementDecision>(foreign(&world, "name-decision-0", "elsewhere"))
        .await;
    let under_key = world
        .create::<multicluster::PlacementDecision>(foreign(&world, "theirs", "key"))
        .await;
    for name in ["name", "key", "free"] {
        world.placement(name, json!({})).await;
    }
    world.start().await;
    world.until_decided("free", &["c001", "c002"]).await;
    for (placement, object) in [("name", &on_name), ("key", &under_key)] {
        let message = world
            .until_condition(placement, "DecisionKeyConflict", ("True", "DecisionKeyConflict"))
            .await;
        let theirs = object.metadata.name.as_deref().unwrap();
        assert!(message.contains(theirs), "{message}");
        // The other kind is published all the same.
        assert_eq!(world.decided(placement).await, ["c001", "c002"]);
        let now = slices.get(theirs).await.unwrap();
        assert_eq!(now.metadata.resource_version, object.metadata.resource_version);
    }
    assert_eq!(slices.list(&Default::default()).await.unwrap().items.len(), 3);
    // Gone, they are in nobody's way any more.
    for object in [&on_name, &under_key] {
        let name = object.metadata.name.as_deref().unwrap();
        slices.delete(name, &DeleteParams::default()).await.unwrap();
    }
    for placement in ["name", "key"] {
        world.until_decided(placement, &["c001", "c002"]).await;
        world.until_no_condition(placement, "DecisionKeyConflict").await;
    }
    // One that appears under the key of a decision that is published stops us from writing, and nothing is lost.
    let late = world
        .create::<multicluster::PlacementDecision>(foreign(&world, "late", "free"))
        .await;
    world
        .until_condition("free", "DecisionKeyConflict", ("True", "DecisionKeyConflict"))
        .await;
    world.until_idle().await;
    let now = slices.get("late").await.unwrap();
    assert_eq!(now.metadata.resource_version, late.metadata.resource_version);
    let ours = slices.get("free-decision-0").await.unwrap();
    assert_eq!(ours.decisions.len(), 2);
    world.stop().await;
}

const DISABLE: &str = "cluster.open-cluster-management.io/experimental-scheduling-disable";
const SCHEDULER: &str = "portolan.dev/scheduler";

async fn annotate(world: &World, placement: &str, annotations: Value) {
    world
        .patch_placement(placement, json!({"metadata": {"annotations": annotations}}))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn placements_are_scheduled_by_whom_they_are_handed_to() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[]).await;
    for (name, annotations) in [
        ("plain", json!({})),
        ("handed", json!({DISABLE: "true", SCHEDULER: "portolan"})),
        ("nobody", json!({DISABLE: "true"})),
        ("another", json!({SCHEDULER: "another"})),
    ] {
        world.placement(name, json!({})).await;
        annotate(&world, name, annotations).await;
    }
    world.start().await;
    let both = ["c001", "c002"];
    world.until_decided("plain", &both).await;
    world.until_decided("handed", &both).await;
    for name in ["nobody", "another"] {
        assert!(world.decisions(name).await.is_empty() && world.slices(name).await.is_empty());
        assert_eq!(world.api::<Placement>().get(name).await.unwrap().status, None);
    }
    // Handing over and taking away work while running; what was decided stays for the next scheduler.
    annotate(&world, "nobody", json!({SCHEDULER: "portolan"})).await;
    world.until_decided("nobody", &both).await;
    annotate(&world, "plain", json!({SCHEDULER: "another"})).await;
    world.until_idle().await;
    world.cluster("c003", &[]).await;
    world.until_decided("handed", &["c001", "c002", "c003"]).await;
    world.until_idle().await;
    assert_eq!(world.decided("plain").await, both);
    annotate(&world, "plain", json!({SCHEDULER: null})).await;
    world.until_decided("plain", &["c001", "c002", "c003"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_only_handed_over_placements_are_wanted_others_are_left_alone() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[]).await;
    world.placement("plain", json!({})).await;
    world.placement("handed", json!({})).await;
    annotate(&world, "handed", json!({DISABLE: "true", SCHEDULER: "portolan"})).await;
    let mut settings = World::settings();
    settings.only_handed_over = true;
    world.start_with(settings).await;
    world.until_decided("handed", &["c001", "c002"]).await;
    assert!(world.decisions("plain").await.is_empty());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn annotations_stand_in_for_fields_that_the_server_would_drop() {
    let mut world = World::new().await;
    world.clusters(1..=101, &[]).await;
    world.placement("p", json!({})).await;
    annotate(
        &world,
        "p",
        json!({"portolan.dev/update-strategy": "RollingUpdate"}),
    )
    .await;
    world.start().await;
    assert_eq!(world.condition("p", "RollingUpdateRecommended").await, None);
    let mut recorder = Recorder::start(&world).await;
    world.cluster("c000", &[]).await;
    recorder.settle(&world).await;
    // The first object surges: c100 is shown in both before it leaves the first.
    let mut largest = 0;
    let recording = recorder.finish();
    recording.replay(|prefix| {
        let sizes = prefix.state.decisions.values().map(|object| {
            let status = object.status.as_ref();
            status.map_or(0, |status| status.decisions.len())
        });
        largest = largest.max(sizes.max().unwrap_or_default());
    });
    assert_eq!(largest, 101);
    assert_eq!(stream::gaps(&recording), []);
    // A word that is not known is reported, and the default holds.
    annotate(&world, "p", json!({"portolan.dev/update-strategy": "Slowly"})).await;
    let message = world
        .until_condition("p", "AnnotationRefused", ("True", "UnknownValue"))
        .await;
    for word in ["portolan.dev/update-strategy", "Slowly", "RollingUpdate"] {
        assert!(message.contains(word), "{message}");
    }
    let orphans = Api::<PlacementDecision>::namespaced(world.client.clone(), &world.namespace);
    assert_eq!(orphans.list(&Default::default()).await.unwrap().items.len(), 2);
    annotate(&world, "p", json!({"portolan.dev/update-strategy": null})).await;
    world.until_no_condition("p", "AnnotationRefused").await;
    world.stop().await;
}
