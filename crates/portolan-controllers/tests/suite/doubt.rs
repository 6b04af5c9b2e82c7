//! Never destroy on doubt: what cannot be evaluated keeps its last decision and says why; others do not notice.

use portolan_api::cluster::Placement;
use serde_json::{Value, json};

use crate::recorder::Recorder;
use crate::world::{World, eventually};

fn by_label() -> Value {
    json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}]})
}

async fn event(world: &World, placement: &str, reason: &str) {
    eventually(&format!("{placement} has the event {reason}"), async || {
        world.reasons(placement).await.iter().any(|found| found == reason)
    })
    .await;
}

/// Spoils a live placement with a patch, lets the fleet change, mends it, and checks every step.
async fn spoil_and_mend(spoil: Value, mend: Value, named: &[&str]) {
    let mut world = World::new().await;
    world.clusters(1..=3, &[("env", "prod")]).await;
    world.cluster("late", &[("env", "dev")]).await;
    world.placement("spoilt", by_label()).await;
    world.placement("sound", by_label()).await;
    world.start().await;
    let before = ["c001", "c002", "c003"];
    world.until_decided("spoilt", &before).await;
    let mut recorder = Recorder::start(&world).await;

    world.patch_placement("spoilt", spoil).await;
    let message = world
        .until_condition("spoilt", "PlacementMisconfigured", ("True", "Misconfigured"))
        .await;
    for word in named {
        assert!(message.contains(word), "{message:?} does not name {word}");
    }
    world
        .until_condition("spoilt", "DecisionKept", ("True", "Misconfigured"))
        .await;
    event(&world, "spoilt", "PlacementMisconfigured").await;
    event(&world, "spoilt", "DecisionHeldBack").await;

    world.label("late", "env", Some("prod")).await;
    world.label("c002", "env", None).await;
    let after = ["c001", "c003", "late"];
    world.until_decided("sound", &after).await;
    recorder.settle(&world).await;
    assert_eq!(world.decided("spoilt").await, before);
    assert_eq!(world.sliced("spoilt").await, before);
    let status = world.api::<Placement>().get("spoilt").await.unwrap().status;
    assert_eq!(status.unwrap().number_of_selected_clusters, 3);
    // A restart does not lose it either.
    world.stop().await;
    world.start().await;
    assert_eq!(world.decided("spoilt").await, before);

    world.patch_placement("spoilt", mend).await;
    world.until_decided("spoilt", &after).await;
    world
        .until_condition("spoilt", "PlacementMisconfigured", ("False", "Succeedconfigured"))
        .await;
    world.until_no_condition("spoilt", "DecisionKept").await;
    recorder.settle(&world).await;
    let report = portolan_check::stream::no_gaps(&recorder.finish());
    assert!(report.is_clean(), "{report}");
    event(&world, "spoilt", "DecisionCreate").await;
    event(&world, "spoilt", "DecisionUpdate").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_mode_keeps_the_last_decision_until_it_is_mended() {
    spoil_and_mend(
        json!({"spec": {"prioritizerPolicy": {"mode": "Sometimes"}}}),
        json!({"spec": {"prioritizerPolicy": null}}),
        &["Sometimes"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_cel_expression_keeps_the_last_decision_until_it_is_mended() {
    let selector = json!({"celSelector": {"celExpressions": ["managedCluster.metadata.labels["]}});
    spoil_and_mend(
        json!({"spec": {"predicates": [{"requiredClusterSelector": selector}]}}),
        json!({"spec": by_label()}),
        &["managedCluster.metadata.labels["],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prioritizer_that_does_not_exist_keeps_the_last_decision_until_it_is_mended() {
    let coordinate = json!({"type": "BuiltIn", "builtIn": "Luck"});
    spoil_and_mend(
        json!({"spec": {"prioritizerPolicy": {"configurations": [{"scoreCoordinate": coordinate}]}}}),
        json!({"spec": {"prioritizerPolicy": null}}),
        &["Luck"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placement_born_misconfigured_has_one_empty_object_and_no_slice() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[]).await;
    world
        .placement("p", json!({"prioritizerPolicy": {"mode": "Sometimes"}}))
        .await;
    world.start().await;
    world
        .until_condition("p", "PlacementMisconfigured", ("True", "Misconfigured"))
        .await;
    assert_eq!(world.decisions("p").await.len(), 1);
    assert!(world.decided("p").await.is_empty());
    assert!(world.slices("p").await.is_empty());
    assert_eq!(world.condition("p", "DecisionKept").await, None);
    world
        .patch_placement("p", json!({"spec": {"prioritizerPolicy": null}}))
        .await;
    world.until_decided("p", &["c001", "c002"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placement_that_names_unknown_sets_says_so_and_follows_when_they_appear() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[]).await;
    world
        .placement("lost", json!({"clusterSets": ["nowhere", "neither"]}))
        .await;
    world.placement("sound", json!({"clusterSets": ["all"]})).await;
    world.start().await;
    world.until_decided("sound", &["c001", "c002"]).await;
    let message = world
        .until_condition("lost", "PlacementSatisfied", ("False", "NoIntersection"))
        .await;
    assert!(
        message.contains("nowhere") && message.contains("neither"),
        "{message}"
    );
    world
        .create::<portolan_api::cluster::ManagedClusterSet>(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
            "metadata": {"name": "nowhere"},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
        }))
        .await;
    world.bind("nowhere").await;
    world.until_decided("lost", &["c001", "c002"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_score_in_a_wrong_namespace_counts_for_nobody() {
    let mut world = World::new().await;
    world.clusters(1..=3, &[]).await;
    let coordinate = json!({"type": "AddOn", "addOn": {"resourceName": "cost", "scoreName": "cheap"}});
    let policy = json!({"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate}]});
    world
        .placement(
            "p",
            json!({"numberOfClusters": 1, "prioritizerPolicy": policy, "sortBy": "Score"}),
        )
        .await;
    world.start().await;
    world.until_decided("p", &["c001"]).await;
    // The namespace of the placement is not the namespace of a cluster.
    let own = world.namespace.clone();
    world.score_in(&own, "cost", &[("cheap", 100)]).await;
    world.score_in("c999", "cost", &[("cheap", 100)]).await;
    world.until_idle().await;
    assert_eq!(world.decided("p").await, ["c001"]);
    world
        .until_condition("p", "PlacementSatisfied", ("True", "AllDecisionsScheduled"))
        .await;
    world.score("c003", "cost", &[("cheap", 1)]).await;
    world.until_decided("p", &["c003"]).await;
    world.stop().await;
}
