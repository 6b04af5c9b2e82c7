//! The strategies, step by step.

use serde_json::json;

use super::*;

fn by_ring() -> Value {
    json!([{"name": "all", "rolloutStrategy": {"type": "ProgressivePerGroup", "progressivePerGroup": {}}}])
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_gets_the_work_at_once_and_the_status_counts() {
    let mut world = world(&[("c1", "ra"), ("c2", "rb"), ("c3", "")]).await;
    placement(&world, "all", &["ra", "rb"]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1"]).await;
    let works = works(&world, "app").await;
    let labels = works["c1"].metadata.labels.clone().unwrap();
    assert_eq!(labels["team"], "blue");
    assert_eq!(labels["work.open-cluster-management.io/placementname"], "all");
    all_report(&world, "app", &["c1", "c2"], Says::Available).await;
    report(&world, "app", "c3", Says::Progressing).await;
    until_condition(&world, "app", "ManifestworkApplied", ("False", "Processing")).await;
    eventually("two are counted", async || {
        let conditions = status(&world, "app").await.conditions;
        conditions
            .iter()
            .any(|condition| condition.message == "2 of 3 works are available")
    })
    .await;
    until_condition(&world, "app", "PlacementVerified", ("True", "AsExpected")).await;
    until_condition(&world, "app", "PlacementRolledOut", ("False", "Progressing")).await;
    report(&world, "app", "c3", Says::Available).await;
    until_condition(&world, "app", "PlacementRolledOut", ("True", "Complete")).await;
    until_condition(&world, "app", "ManifestworkApplied", ("True", "AsExpected")).await;
    let status = status(&world, "app").await;
    let summary = json!({
        "total": 3, "progressing": 0, "available": 3, "degraded": 0, "applied": 3, "desiredTotal": 3, "updated": 3,
    });
    assert_eq!(serde_json::to_value(status.summary).unwrap(), summary);
    assert_eq!(
        serde_json::to_value(&status.placement_summary).unwrap(),
        json!([{"name": "all", "availableDecisionGroups": "3 (3 / 3 clusters applied)", "summary": summary}])
    );
    let set = world.api::<ManifestWorkReplicaSet>().get("app").await.unwrap();
    assert!(
        status
            .conditions
            .iter()
            .all(|condition| condition.observed_generation == set.metadata.generation)
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_follow_each_other_and_a_restart_between_them_changes_nothing() {
    let mut world = world(&[("c1", "ra"), ("c2", "ra"), ("c3", "rb"), ("c4", "")]).await;
    placement(&world, "all", &["ra", "rb"]).await;
    replica_set(&world, "app", by_ring()).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    report(&world, "app", "c1", Says::Available).await;
    settle(&world).await;
    assert_eq!(
        versions(&world, "app").await,
        ["c1=1", "c2=1"],
        "c2 has not reported"
    );
    world.controllers.take().unwrap().kill();
    report(&world, "app", "c2", Says::Available).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1"]).await;
    report(&world, "app", "c3", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1", "c4=1"]).await;
    report(&world, "app", "c4", Says::Available).await;
    until_condition(&world, "app", "PlacementRolledOut", ("True", "Complete")).await;

    world.stop().await;
    let before = works(&world, "app").await;
    let set = world.api::<ManifestWorkReplicaSet>().get("app").await.unwrap();
    world.start().await;
    settle(&world).await;
    let versions = |works: &BTreeMap<String, ManifestWork>| -> Vec<_> {
        works
            .values()
            .map(|work| work.metadata.resource_version.clone())
            .collect()
    };
    assert_eq!(
        versions(&works(&world, "app").await),
        versions(&before),
        "a restart writes nothing"
    );
    let again = world.api::<ManifestWorkReplicaSet>().get("app").await.unwrap();
    assert_eq!(again.metadata.resource_version, set.metadata.resource_version);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mandatory_groups_come_first_and_the_window_slides_after_them() {
    let mut world = world(&[("c1", ""), ("c2", ""), ("c3", ""), ("c9", "canary")]).await;
    placement(&world, "all", &["canary"]).await;
    let strategy = json!({"type": "Progressive", "progressive": {
        "maxConcurrency": 2, "mandatoryDecisionGroups": [{"groupName": "canary"}],
    }});
    replica_set(
        &world,
        "app",
        json!([{"name": "all", "rolloutStrategy": strategy}]),
    )
    .await;
    world.start().await;
    until_versions(&world, "app", &["c9=1"]).await;
    report(&world, "app", "c9", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c9=1"]).await;
    report(&world, "app", "c2", Says::Available).await;
    until_versions(&world, "app", &["c1=1", "c2=1", "c3=1", "c9=1"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn success_has_to_last_before_the_next_group_and_before_it_is_complete() {
    let mut world = world(&[("c1", "ra"), ("c2", "")]).await;
    placement(&world, "all", &["ra"]).await;
    let strategy = json!({"type": "ProgressivePerGroup", "progressivePerGroup": {"minSuccessTime": "3s"}});
    replica_set(
        &world,
        "app",
        json!([{"name": "all", "rolloutStrategy": strategy}]),
    )
    .await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    report(&world, "app", "c1", Says::Available).await;
    settle(&world).await;
    assert_eq!(versions(&world, "app").await, ["c1=1"], "c1 is still soaking");
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    report(&world, "app", "c2", Says::Available).await;
    until_condition(&world, "app", "ManifestworkApplied", ("True", "AsExpected")).await;
    let rolled_out = status(&world, "app").await.conditions;
    let rolled_out = rolled_out
        .iter()
        .find(|condition| condition.type_ == "PlacementRolledOut")
        .unwrap();
    assert_eq!(rolled_out.status, "False", "c2 is still soaking");
    until_condition(&world, "app", "PlacementRolledOut", ("True", "Complete")).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_can_be_paused_resumed_and_aborted() {
    let mut world = world(&[("c1", "ra"), ("c2", "rb"), ("c3", "")]).await;
    placement(&world, "all", &["ra", "rb"]).await;
    replica_set(&world, "app", by_ring()).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    let annotate = async |key: &str, value: Option<String>| {
        patch(&world, "app", json!({"metadata": {"annotations": {key: value}}})).await;
    };
    annotate("portolan.dev/rollout-paused", Some("true".to_owned())).await;
    until_condition(&world, "app", "PlacementRolledOut", ("False", "Paused")).await;
    report(&world, "app", "c1", Says::Available).await;
    settle(&world).await;
    assert_eq!(versions(&world, "app").await, ["c1=1"]);
    annotate("portolan.dev/rollout-paused", None).await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;

    let set = world.api::<ManifestWorkReplicaSet>().get("app").await.unwrap();
    annotate(
        "portolan.dev/rollout-aborted",
        set.metadata.generation.map(|generation| generation.to_string()),
    )
    .await;
    until_condition(&world, "app", "PlacementRolledOut", ("False", "Aborted")).await;
    report(&world, "app", "c2", Says::Available).await;
    settle(&world).await;
    assert_eq!(
        versions(&world, "app").await,
        ["c1=1", "c2=1"],
        "what has it keeps it, nobody else gets it"
    );
    // The next template is another rollout.
    patch(
        &world,
        "app",
        json!({"spec": {"manifestWorkTemplate": template("2")}}),
    )
    .await;
    until_versions(&world, "app", &["c1=2", "c2=1"]).await;
    world.stop().await;
}
