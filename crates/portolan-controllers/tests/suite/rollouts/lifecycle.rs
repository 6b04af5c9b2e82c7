//! Beginning, end, and several placements.

use serde_json::json;

use super::*;

const CLEANUP: &str = "work.open-cluster-management.io/manifest-work-cleanup";

async fn is_gone(world: &World, set: &str) -> bool {
    world
        .api::<ManifestWorkReplicaSet>()
        .get_opt(set)
        .await
        .unwrap()
        .is_none()
}

async fn hold(world: &World, cluster: &str, name: &str, finalizers: Value) {
    let api = Api::<ManifestWork>::namespaced(world.client.clone(), cluster);
    let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    api.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_dots_is_found_again_and_deletion_in_the_background_does_not_wait() {
    let mut world = world(&[("c1", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app.v1.example", json!([{"name": "all"}])).await;
    world.start().await;
    until_versions(&world, "app.v1.example", &["c1=1"]).await;
    let set = world
        .api::<ManifestWorkReplicaSet>()
        .get("app.v1.example")
        .await
        .unwrap();
    assert_eq!(
        set.metadata.finalizers.as_deref(),
        Some(&[CLEANUP.to_owned()][..])
    );
    report(&world, "app.v1.example", "c1", Says::Available).await;
    until_condition(
        &world,
        "app.v1.example",
        "PlacementRolledOut",
        ("True", "Complete"),
    )
    .await;
    let name = works(&world, "app.v1.example").await["c1"]
        .metadata
        .name
        .clone()
        .unwrap();
    hold(&world, "c1", &name, json!(["example.com/agent"])).await;
    world
        .api::<ManifestWorkReplicaSet>()
        .delete("app.v1.example", &DeleteParams::default())
        .await
        .unwrap();
    eventually("the replica set is gone", async || {
        is_gone(&world, "app.v1.example").await
    })
    .await;
    let left = works(&world, "app.v1.example").await;
    assert!(
        left["c1"].metadata.deletion_timestamp.is_some(),
        "the agent is still at it"
    );
    hold(&world, "c1", &name, Value::Null).await;
    until_versions(&world, "app.v1.example", &[]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_in_the_foreground_waits_for_the_works() {
    let mut world = world(&[("c1", ""), ("c2", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    patch(
        &world,
        "app",
        json!({"spec": {"cascadeDeletionPolicy": "Foreground"}}),
    )
    .await;
    world.start().await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    let name = works(&world, "app").await["c2"].metadata.name.clone().unwrap();
    hold(&world, "c2", &name, json!(["example.com/agent"])).await;
    world
        .api::<ManifestWorkReplicaSet>()
        .delete("app", &DeleteParams::default())
        .await
        .unwrap();
    until_versions(&world, "app", &["c2=1"]).await;
    settle(&world).await;
    assert!(!is_gone(&world, "app").await);
    hold(&world, "c2", &name, Value::Null).await;
    eventually("the replica set is gone", async || is_gone(&world, "app").await).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_two_placements_has_one_work_and_counts_for_the_first() {
    let mut world = world(&[("c1", "ra"), ("c2", "rb"), ("c3", "rb")]).await;
    placement(&world, "all", &[]).await;
    let only = json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"ring": "rb"}}}}]});
    world.placement("some", only).await;
    replica_set(&world, "app", json!([{"name": "some"}, {"name": "all"}])).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1"]).await;
    let of = async |cluster: &str| {
        let labels = works(&world, "app").await[cluster]
            .metadata
            .labels
            .clone()
            .unwrap();
        labels["work.open-cluster-management.io/placementname"].clone()
    };
    // The decision of the second may be there first.
    eventually("the first placement has the clusters of both", async || {
        [of("c1").await, of("c2").await, of("c3").await] == ["all", "some", "some"]
    })
    .await;
    eventually("each cluster is counted once", async || {
        let summaries = status(&world, "app").await.placement_summary;
        let totals: Vec<_> = summaries
            .iter()
            .map(|summary| (summary.name.as_str(), summary.summary.total))
            .collect();
        totals == [("some", 2), ("all", 1)]
    })
    .await;
    // Without the first reference everything is the second's, and no work is made anew.
    let uid = works(&world, "app").await["c2"].metadata.uid.clone();
    patch(
        &world,
        "app",
        json!({"spec": {"placementRefs": [{"name": "all"}]}}),
    )
    .await;
    eventually("the works are taken over", async || of("c2").await == "all").await;
    assert_eq!(works(&world, "app").await["c2"].metadata.uid, uid);
    // Without a reference that selects them, works go.
    patch(
        &world,
        "app",
        json!({"spec": {"placementRefs": [{"name": "some"}]}}),
    )
    .await;
    until_versions(&world, "app", &["c2=1", "c3=1"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_placement_is_complete_and_says_that_it_is_empty() {
    let mut world = world(&[]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    world.start().await;
    until_condition(&world, "app", "PlacementRolledOut", ("True", "NoClusters")).await;
    until_condition(
        &world,
        "app",
        "PlacementVerified",
        ("False", "PlacementDecisionEmpty"),
    )
    .await;
    until_condition(
        &world,
        "app",
        "ManifestworkApplied",
        ("False", "PlacementDecisionEmpty"),
    )
    .await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_that_somebody_edits_or_deletes_comes_back() {
    let mut world = world(&[("c1", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    let name = works(&world, "app").await["c1"].metadata.name.clone().unwrap();
    let api = Api::<ManifestWork>::namespaced(world.client.clone(), "c1");
    api.patch(
        &name,
        &PatchParams::default(),
        &Patch::Merge(json!({"spec": template("x")})),
    )
    .await
    .unwrap();
    until_versions(&world, "app", &["c1=1"]).await;
    api.delete(&name, &DeleteParams::default()).await.unwrap();
    until_versions(&world, "app", &["c1=1"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn works_outlive_the_definition_of_replica_sets() {
    let mut world = world(&[("c1", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    let uid = works(&world, "app").await["c1"].metadata.uid.clone();
    world
        .remove_crd("manifestworkreplicasets.work.open-cluster-management.io")
        .await;
    settle(&world).await;
    assert_eq!(versions(&world, "app").await, ["c1=1"]);
    world
        .install_crd("manifestworkreplicasets.work.open-cluster-management.io")
        .await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    until_condition(&world, "app", "PlacementVerified", ("True", "AsExpected")).await;
    assert_eq!(
        works(&world, "app").await["c1"].metadata.uid,
        uid,
        "it is taken over, not made anew"
    );
    world.stop().await;
}
