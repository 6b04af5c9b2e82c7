//! Mistakes become conditions that name the field; works stay as they are.

use serde_json::json;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_strategy_that_cannot_be_read_touches_no_work_until_it_is_put_right() {
    let mut world = world(&[("c1", ""), ("c2", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1", "c2=1"]).await;
    let with = |settings: Value| {
        json!({"spec": {
            "manifestWorkTemplate": template("2"),
            "placementRefs": [{"name": "all", "rolloutStrategy": {"type": "Progressive", "progressive": settings}}],
        }})
    };
    for (settings, field, value) in [
        (
            json!({"progressDeadline": "50min"}),
            "progressDeadline",
            "\"50min\"",
        ),
        (json!({"minSuccessTime": "2d"}), "minSuccessTime", "\"2d\""),
        (json!({"maxFailures": -1}), "maxFailures", "-1"),
        (
            json!({"mandatoryDecisionGroups": [{"groupName": "canari"}]}),
            "mandatoryDecisionGroups[0].groupName",
            "\"canari\"",
        ),
    ] {
        patch(&world, "app", with(settings)).await;
        let expected =
            format!("cannot accept spec.placementRefs[0].rolloutStrategy.progressive.{field} = {value}");
        eventually(&expected, async || {
            let conditions = status(&world, "app").await.conditions;
            conditions.iter().any(|condition| {
                condition.reason == "InvalidRolloutStrategy"
                    && condition.message.contains(&expected)
                    && condition.message.contains("accepted:")
            })
        })
        .await;
    }
    settle(&world).await;
    assert_eq!(versions(&world, "app").await, ["c1=1", "c2=1"]);
    patch(&world, "app", with(json!({"maxFailures": 1}))).await;
    until_versions(&world, "app", &["c1=2", "c2=2"]).await;
    until_condition(&world, "app", "PlacementRolledOut", ("False", "Progressing")).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_is_no_work_touches_no_work() {
    let mut world = world(&[("c1", "")]).await;
    placement(&world, "all", &[]).await;
    replica_set(&world, "app", json!([{"name": "all"}])).await;
    world.start().await;
    until_versions(&world, "app", &["c1=1"]).await;
    let unnamed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"}});
    let large = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"},
        "data": {"text": "x".repeat(501 * 1024)},
    });
    for (manifest, field) in [
        (
            unnamed,
            "spec.manifestWorkTemplate.workload.manifests[0].metadata.name = (missing)",
        ),
        (large, "spec.manifestWorkTemplate.workload.manifests"),
    ] {
        patch(
            &world,
            "app",
            json!({"spec": {"manifestWorkTemplate": {"workload": {"manifests": [manifest]}}}}),
        )
        .await;
        eventually(field, async || {
            let conditions = status(&world, "app").await.conditions;
            conditions.iter().any(|condition| {
                (condition.type_.as_str(), condition.reason.as_str())
                    == ("ManifestworkApplied", "InvalidTemplate")
                    && condition.message.contains(field)
                    && condition.message.contains("accepted:")
            })
        })
        .await;
    }
    assert_eq!(versions(&world, "app").await, ["c1=1"]);
    patch(
        &world,
        "app",
        json!({"spec": {"manifestWorkTemplate": template("2")}}),
    )
    .await;
    until_versions(&world, "app", &["c1=2"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_too_long_for_the_owner_label_is_said() {
    let mut world = world(&[("c1", "")]).await;
    placement(&world, "all", &[]).await;
    let long = "a".repeat(63);
    replica_set(&world, &long, json!([{"name": "all"}])).await;
    world.start().await;
    let message = until_condition(
        &world,
        &long,
        "ManifestworkApplied",
        ("False", "InvalidManifestWorkName"),
    )
    .await;
    assert!(
        message.contains("metadata.name") && message.contains("at most 63 characters"),
        "{message}"
    );
    world.stop().await;
}
