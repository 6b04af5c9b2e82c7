//! What happens to rollouts while something else does.

use portolan_api::cluster::Placement;
use serde_json::json;

use super::*;

fn by_ring(settings: Value) -> Value {
    json!([{"name": "all", "rolloutStrategy": {"type": "ProgressivePerGroup", "progressivePerGroup": settings}}])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_changes_in_mid_rollout_starts_over_without_older_successes() {
    let mut world = world(&[("c1", "ra"), ("c2", "rb"), ("c3", "")]).await;
    placement(&world, "all", &["ra", "rb"]).await;
    replica_set(&world, "app", by_ring(json!({}))).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    report(&world, "app", "c1", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    patch(
        &world,
        "app",
        json!({"spec": {"manifestWorkTemplate": template("2")}}),
    )
    .await;
    until_versions(&world, "app", &["c1=2", "c2=1"]).await;
    // The status still says that version 1 was available, and so does an agent that lags behind.
    report(&world, "app", "c1", Says::AvailableBefore).await;
    settle(&world).await;
    assert_eq!(versions(&world, "app").await, ["c1=2", "c2=1"]);
    report(&world, "app", "c1", Says::Available).await;
    until_versions(&world, "app", &["c1=2", "c2=2"]).await;
    report(&world, "app", "c2", Says::Available).await;
    until_versions(&world, "app", &["c1=2", "c2=2", "c3=2"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_leaves_loses_its_work_and_gets_it_when_it_is_back() {
    let mut world = world(&[("c1", "ra"), ("c2", "")]).await;
    placement(&world, "all", &["ra"]).await;
    replica_set(&world, "app", by_ring(json!({}))).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    report(&world, "app", "c1", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    report(&world, "app", "c2", Says::Available).await;
    patch(
        &world,
        "app",
        json!({"spec": {"manifestWorkTemplate": template("2")}}),
    )
    .await;
    until_versions(&world, "app", &["c1=2", "c2=1"]).await;
    leave(&world, "c2").await;
    until_versions(&world, "app", &["c1=2"]).await;
    report(&world, "app", "c1", Says::Available).await;
    until_condition(&world, "app", "PlacementRolledOut", ("True", "Complete")).await;
    join(&world, "c2", "").await;
    until_versions(&world, "app", &["c1=2", "c2=2"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_regrouping_groups_are_walked_from_the_first_again() {
    let mut world = world(&[("c1", "ra"), ("c2", "rb"), ("c3", "rc"), ("c4", "")]).await;
    placement(&world, "all", &["ra", "rb"]).await;
    replica_set(&world, "app", by_ring(json!({}))).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    report(&world, "app", "c1", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    report(&world, "app", "c2", Says::Progressing).await;
    // c3 becomes the first group, and c1 and c2, where the rollout is, come last.
    let first = json!([{"groupName": "rc", "groupClusterSelector": {"labelSelector": {"matchLabels": {"ring": "rc"}}}}]);
    let groups = json!({"spec": {"decisionStrategy": {"groupStrategy": {"decisionGroups": first}}}});
    world.patch_placement("all", groups).await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1"]).await;
    report(&world, "app", "c2", Says::Available).await;
    settle(&world).await;
    assert_eq!(
        versions(&world, "app").await,
        ["c1=1", "c2=1", "c3=1"],
        "c4 waits for c3"
    );
    report(&world, "app", "c3", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1", "c4=1"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_group_that_grows_does_not_hold_the_next_one_up() {
    let mut world = world(&[("c1", "ra"), ("c2", "rb"), ("c3", "")]).await;
    placement(&world, "all", &["ra", "rb"]).await;
    replica_set(&world, "app", by_ring(json!({}))).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    report(&world, "app", "c1", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    join(&world, "c9", "ra").await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c9=1"]).await;
    report(&world, "app", "c2", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1", "c9=1"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mandatory_group_that_grows_is_waited_for() {
    let mut world = world(&[("c1", "ra"), ("c2", "rb"), ("c3", "")]).await;
    placement(&world, "all", &["ra", "rb"]).await;
    replica_set(
        &world,
        "app",
        by_ring(json!({"mandatoryDecisionGroups": [{"groupName": "ra"}]})),
    )
    .await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    report(&world, "app", "c1", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    join(&world, "c9", "ra").await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c9=1"]).await;
    report(&world, "app", "c2", Says::Available).await;
    settle(&world).await;
    assert_eq!(versions(&world, "app").await, ["c1=1", "c2=1", "c9=1"]);
    report(&world, "app", "c9", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1", "c9=1"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_offline_throughout_stops_nobody_and_is_caught_up() {
    let mut world = world(&[("c1", "ra"), ("c2", "ra"), ("c3", "")]).await;
    reachable(&world, "c2", "Unknown").await;
    placement(&world, "all", &["ra"]).await;
    // Unreachable clusters stay selected only with a toleration once registration taints them; here nobody does.
    replica_set(&world, "app", by_ring(json!({"progressDeadline": "1s"}))).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    report(&world, "app", "c1", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c3=1"]).await;
    report(&world, "app", "c3", Says::Available).await;
    let message = until_condition(&world, "app", "ManifestworkApplied", ("True", "AsExpected")).await;
    assert_eq!(message, "2 of 2 works are available");
    eventually("the offline cluster is named", async || {
        let conditions = status(&world, "app").await.conditions;
        let rolled_out = conditions
            .iter()
            .find(|condition| condition.type_ == "PlacementRolledOut")
            .unwrap();
        rolled_out.message == "2 of 3 clusters are done, 1 offline and caught up later"
    })
    .await;
    reachable(&world, "c2", "True").await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1"]).await;
    report(&world, "app", "c2", Says::Available).await;
    until_condition(&world, "app", "PlacementRolledOut", ("True", "Complete")).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_failure_budget_lets_as_many_fail_as_it_says_and_no_more() {
    let mut world = world(&[("c1", ""), ("c2", ""), ("c3", ""), ("c4", "")]).await;
    placement(&world, "all", &[]).await;
    let strategy = json!({"type": "Progressive", "progressive": {
        "maxConcurrency": 1, "maxFailures": 1, "progressDeadline": "1s",
    }});
    replica_set(
        &world,
        "app",
        json!([{"name": "all", "rolloutStrategy": strategy}]),
    )
    .await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    report(&world, "app", "c1", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    // One may fail: when its time is up the next is started.
    report(&world, "app", "c2", Says::Degraded).await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1"]).await;
    report(&world, "app", "c3", Says::Degraded).await;
    until_condition(
        &world,
        "app",
        "PlacementRolledOut",
        ("False", "MaxFailuresExceeded"),
    )
    .await;
    settle(&world).await;
    assert_eq!(versions(&world, "app").await, ["c1=1", "c2=1", "c3=1"]);
    // One recovers, and it goes on.
    report(&world, "app", "c2", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1", "c4=1"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_names_why_works_fail_and_how_many_do() {
    let mut world = world(&[("c1", ""), ("c2", ""), ("c3", ""), ("c4", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1", "c4=1"]).await;
    all_report(&world, "app", &["c2", "c3"], Says::NotApplied).await;
    report(&world, "app", "c4", Says::Available).await;
    eventually("the condition names the clusters and the reason", async || {
        let conditions = status(&world, "app").await.conditions;
        let mut applied = conditions
            .iter()
            .filter(|condition| condition.type_ == "ManifestworkApplied");
        applied.any(|applied| applied.message == "1 of 4 works is available; c2 and 1 more cluster: Reported")
    })
    .await;
    // A cluster without a report is no failure, and a failure that ends leaves the message.
    all_report(&world, "app", &["c1", "c2", "c3"], Says::Available).await;
    let message = until_condition(&world, "app", "ManifestworkApplied", ("True", "AsExpected")).await;
    assert_eq!(message, "4 of 4 works are available");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_placement_costs_no_work_and_the_rollout_goes_on_when_it_is_back() {
    let mut world = world(&[("c1", ""), ("c2", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    world
        .api::<Placement>()
        .delete("all", &DeleteParams::default())
        .await
        .unwrap();
    let message = until_condition(
        &world,
        "app",
        "PlacementVerified",
        ("False", "PlacementDecisionNotFound"),
    )
    .await;
    assert!(
        message.contains("all") && message.contains("works are kept"),
        "{message}"
    );
    settle(&world).await;
    assert_eq!(versions(&world, "app").await, ["c1=1", "c2=1"]);
    leave(&world, "c2").await;
    placement(&world, "all", &[]).await;
    until_versions(&world, "app", &["c1=1"]).await;
    until_condition(&world, "app", "PlacementVerified", ("True", "AsExpected")).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_a_namespace_fails_alone_and_is_tried_again() {
    let mut world = world(&[("c1", "")]).await;
    let nowhere = "nowhere-1";
    let namespaces = world.scoped::<Namespace>();
    if namespaces.get_opt(nowhere).await.unwrap().is_some() {
        let _ = namespaces.delete(nowhere, &DeleteParams::default()).await;
        eventually("it has no namespace", async || {
            namespaces.get_opt(nowhere).await.unwrap().is_none()
        })
        .await;
    }
    world.cluster(nowhere, &[]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    let message = until_condition(&world, "app", "WorksRefused", ("True", "NamespaceMissing")).await;
    assert_eq!(message, "the hub has no namespace for: nowhere-1");
    let message = until_condition(&world, "app", "PlacementRolledOut", ("False", "Progressing")).await;
    assert_eq!(
        message,
        "0 of 2 clusters are done, 1 failed; no work can be written for nowhere-1 (there is no namespace nowhere-1 on \
         the hub)"
    );
    world
        .create::<Namespace>(json!({"metadata": {"name": nowhere}}))
        .await;
    until_versions(&world, "app", &["c1=1", "nowhere-1=1"]).await;
    eventually("the condition goes with its cause", async || {
        let conditions = status(&world, "app").await.conditions;
        conditions
            .iter()
            .all(|condition| condition.type_ != "WorksRefused")
    })
    .await;
    world.stop().await;
}
