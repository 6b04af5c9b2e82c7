//! What is applied, how, and what is said about it.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use portolan_api::multicluster::Work;
use serde_json::json;

use crate::world::{World, eventually, eventually_or};

#[tokio::test(flavor = "multi_thread")]
async fn a_work_is_applied_recorded_reported_changed_and_removed() {
    let world = World::new().await;
    let agent = world.agent();
    world
        .create_work("web", &[world.config_map("a", "1"), world.config_map("b", "1")])
        .await;
    world.until_values("", &[("a", "1"), ("b", "1")]).await;
    let work = world.until_applied("web").await;
    world
        .until_condition("web", "Available", "True", "ResourcesAvailable")
        .await;
    assert_eq!(
        work.metadata.finalizers.unwrap(),
        ["cluster.open-cluster-management.io/manifest-work-cleanup"]
    );
    let manifests = work.status.unwrap().resource_status.unwrap().manifests;
    assert_eq!(manifests[1].resource_meta.resource, "configmaps");
    assert_eq!(
        (
            manifests[1].resource_meta.ordinal,
            manifests[1].resource_meta.name.as_str()
        ),
        (1, "b")
    );
    assert!(
        manifests
            .iter()
            .flat_map(|manifest| &manifest.conditions)
            .all(|condition| { condition.observed_generation == Some(1) && condition.status == "True" })
    );
    assert_eq!(world.recorded().await, ["a", "b"]);

    world.set_manifests("web", &[world.config_map("a", "2")]).await;
    world.until_values("", &[("a", "2")]).await;
    world.until_applied("web").await;
    eventually("the record forgets b", async || world.recorded().await == ["a"]).await;

    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[]).await;
    assert!(world.recorded().await.is_empty());
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_of_the_sig_is_applied_and_removed_just_the_same() {
    let world = World::new().await;
    let agent = world.agent();
    let work: Work = serde_json::from_value(json!({
        "metadata": { "name": "web" }, "spec": { "workload": { "manifests": [world.config_map("a", "1")] } },
    }))
    .unwrap();
    world.works().create(&PostParams::default(), &work).await.unwrap();
    world.until_values("", &[("a", "1")]).await;
    eventually("the work says so", async || {
        let status = world.works().get("web").await.unwrap().status.unwrap_or_default();
        let manifest = status.manifest_conditions.first().cloned().unwrap_or_default();
        status
            .conditions
            .iter()
            .any(|condition| condition.type_ == "Applied" && condition.status == "True")
            && manifest.identifier.kind.as_deref() == Some("ConfigMap")
            && manifest.conditions.len() == 2
    })
    .await;
    let _ = world
        .works()
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    world.until_values("", &[]).await;
    eventually("the work is gone", async || {
        world.works().get_opt("web").await.unwrap().is_none()
    })
    .await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_kept_when_they_are_withdrawn_and_when_the_work_goes() {
    let world = World::new().await;
    let agent = world.agent();
    let rule = |name: &str| json!({ "group": "", "resource": "configmaps", "namespace": world.namespace, "name": name });
    let option = json!({ "deleteOption": {
        "propagationPolicy": "SelectivelyOrphan",
        "selectivelyOrphans": { "orphaningRules": [rule("a"), rule("b")] },
    } });
    let maps = ["a", "b", "c", "d"].map(|name| world.config_map(name, "1"));
    world.create_work_with("web", &maps, option).await;
    world.until_applied("web").await;
    world.set_manifests("web", &maps[1..3]).await;
    world
        .until_values("", &[("a", "1"), ("b", "1"), ("c", "1")])
        .await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[("a", "1"), ("b", "1")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_the_member_refuses_is_named_and_the_others_go_on() {
    let world = World::new().await;
    let agent = world.agent();
    let mut bad = world.config_map("bad", "1");
    bad["data"] = json!({ "k": 7 });
    let nameless =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": world.namespace } });
    let unknown = json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" } });
    let nowhere = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "n" } });
    world
        .create_work(
            "web",
            &[bad, nameless, unknown, nowhere, world.config_map("good", "1")],
        )
        .await;
    world.until_values("", &[("good", "1")]).await;
    let work = world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let manifests = work.status.unwrap().resource_status.unwrap().manifests;
    let applied: Vec<(&str, &str)> = manifests
        .iter()
        .map(|manifest| {
            let condition = manifest
                .conditions
                .iter()
                .find(|condition| condition.type_ == "Applied")
                .unwrap();
            (condition.status.as_str(), condition.reason.as_str())
        })
        .collect();
    assert_eq!(
        applied[1..],
        [
            ("False", "InvalidManifest"),
            ("False", "KindNotServed"),
            ("False", "InvalidManifest"),
            ("True", "AppliedManifestComplete"),
        ]
    );
    assert_eq!(applied[0].0, "False");
    assert!(!manifests[0].conditions[0].message.is_empty());

    world
        .set_manifests(
            "web",
            &[world.config_map("bad", "2"), world.config_map("good", "1")],
        )
        .await;
    world.until_applied("web").await;
    world.until_values("", &[("bad", "2"), ("good", "1")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_of_another_manager_is_a_conflict_that_names_both_unless_it_is_forced() {
    let world = World::new().await;
    let other = PatchParams::apply("somebody").force();
    let theirs = world.config_map("a", "theirs");
    world
        .config_maps()
        .patch("a", &other, &Patch::Apply(&theirs))
        .await
        .unwrap();
    let agent = world.agent();
    let configs = |force: bool| {
        json!({ "manifestConfigs": [{
            "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": world.namespace, "name": "a" },
            "updateStrategy": { "type": "ServerSideApply", "serverSideApply": { "force": force, "fieldManager": "work-agent-x" } },
        }] })
    };
    world
        .create_work_with("web", &[world.config_map("a", "ours")], configs(false))
        .await;
    let work = world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let manifest = work.status.unwrap().resource_status.unwrap().manifests.remove(0);
    let condition = &manifest.conditions[0];
    assert_eq!(condition.reason, "ApplyConflict");
    assert!(
        condition.message.contains("somebody") && condition.message.contains(".data.k"),
        "{}",
        condition.message
    );
    assert_eq!(world.values("a").await, [("a".to_owned(), "theirs".to_owned())]);

    world.patch_work("web", json!({ "spec": configs(true) })).await;
    world.until_applied("web").await;
    world.until_values("a", &[("a", "ours")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn create_only_and_read_only_leave_what_is_there() {
    let world = World::new().await;
    let there = serde_json::from_value(world.config_map("read", "theirs")).unwrap();
    world
        .config_maps()
        .create(&PostParams::default(), &there)
        .await
        .unwrap();
    let agent = world.agent();
    let config = |name: &str, strategy: &str| {
        json!({
            "resourceIdentifier": { "group": "", "resource": "configmaps", "namespace": world.namespace, "name": name },
            "updateStrategy": { "type": strategy },
        })
    };
    let configs = json!({ "manifestConfigs": [config("read", "ReadOnly"), config("once", "CreateOnly")] });
    world
        .create_work_with(
            "web",
            &[world.config_map("read", "ours"), world.config_map("once", "1")],
            configs,
        )
        .await;
    world.until_applied("web").await;
    world
        .set_manifests(
            "web",
            &[world.config_map("read", "ours"), world.config_map("once", "2")],
        )
        .await;
    world.until_applied("web").await;
    world.until_values("", &[("once", "1"), ("read", "theirs")]).await;
    world.delete_work("web").await;
    world.until_gone("web").await;
    world.until_values("", &[("read", "theirs")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_changed_or_deleted_on_the_member_is_put_right() {
    let world = World::new().await;
    let agent = world.agent();
    world.create_work("web", &[world.config_map("a", "1")]).await;
    world.until_applied("web").await;
    let patch = Patch::Merge(json!({ "data": { "k": "changed", "more": "theirs" } }));
    world
        .config_maps()
        .patch("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    world.until_values("", &[("a", "1")]).await;
    let map = world.config_maps().get("a").await.unwrap();
    assert_eq!(map.data.unwrap()["more"], "theirs", "what others add is theirs");
    let _ = world
        .config_maps()
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    world.until_values("", &[("a", "1")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_and_conditions_follow_the_object() {
    let world = World::new().await;
    let agent = world.agent();
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": world.namespace },
        "spec": {
            "replicas": 2, "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "example.com/web:1" }] },
            },
        },
    });
    let configs = json!({ "manifestConfigs": [{
        "resourceIdentifier": { "group": "apps", "resource": "deployments", "namespace": world.namespace, "name": "web" },
        "feedbackRules": [
            { "type": "WellKnownStatus" },
            { "type": "JSONPaths", "jsonPaths": [{ "name": "image", "path": ".spec.template.spec.containers[0].image" }] },
        ],
        "conditionRules": [
            { "type": "WellKnownConditions", "condition": "" },
            { "type": "CEL", "condition": "Ready", "celExpressions": ["object.status.readyReplicas >= 1"] },
        ],
    }] });
    world.create_work_with("web", &[deployment], configs).await;
    world
        .until_condition("web", "Progressing", "True", "ConditionRulesAggregated")
        .await;
    let deployments = Api::<Deployment>::namespaced(world.spoke.client(), &world.namespace);
    let status = json!({ "status": {
        "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
    } });
    // A controller of the member may write there as well.
    let last = std::cell::RefCell::new(String::new());
    let says_so = async || {
        deployments
            .patch_status("web", &PatchParams::default(), &Patch::Merge(&status))
            .await
            .unwrap();
        let work = world.manifest_works().get("web").await.unwrap();
        let status = work.status.unwrap_or_default();
        last.replace(format!("{status:?}"));
        let holds = |r#type: &str, truth: &str| {
            status
                .conditions
                .iter()
                .any(|condition| condition.type_ == r#type && condition.status == truth)
        };
        let manifest = status
            .resource_status
            .clone()
            .unwrap_or_default()
            .manifests
            .first()
            .cloned();
        let values = manifest
            .and_then(|manifest| manifest.status_feedback)
            .unwrap_or_default()
            .values;
        let value = |name: &str| {
            values
                .iter()
                .find(|value| value.name == name)
                .map(|value| value.field_value.clone())
        };
        holds("Progressing", "False")
            && holds("Degraded", "False")
            && holds("Ready", "True")
            && value("ReadyReplicas").and_then(|value| value.integer) == Some(2)
            && value("image").and_then(|value| value.string).as_deref() == Some("example.com/web:1")
    };
    eventually_or(
        async || says_so().await.then_some(()),
        || format!("the work has what the deployment says; last: {}", last.borrow()),
    )
    .await;
    agent.stop().await;
}
