//! What becomes of manifests and of their fields, where others have a say in them.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use portolan_api::work::ManifestWork;
use serde_json::{Value, json};

use crate::world::{World, eventually};

fn condition(work: &ManifestWork, manifest: usize, r#type: &str) -> (String, String) {
    let status = work.status.clone().unwrap_or_default();
    let manifests = status.resource_status.unwrap_or_default().manifests;
    let found = manifests[manifest]
        .conditions
        .iter()
        .find(|said| said.type_ == r#type);
    found
        .map(|said| (said.status.clone(), said.reason.clone()))
        .unwrap_or_default()
}

fn config(world: &World, resource: (&str, &str), name: &str, strategy: Value) -> Value {
    let (group, resource) = resource;
    json!({
        "resourceIdentifier": { "group": group, "resource": resource, "namespace": world.namespace, "name": name },
        "updateStrategy": strategy,
    })
}

const MAPS: (&str, &str) = ("", "configmaps");

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_an_agent_that_updates_go_when_they_leave_the_manifest() {
    let world = World::new().await;
    let mut map = world.config_map("a", "1");
    map["data"]["old"] = "1".into();
    // As an agent leaves it that writes whole objects.
    let how = PostParams {
        field_manager: Some("work-agent".to_owned()),
        ..PostParams::default()
    };
    let made = world
        .config_maps()
        .create(&how, &serde_json::from_value(map.clone()).unwrap())
        .await;
    let uid = made.unwrap().uid();
    let somebody = Patch::Merge(json!({ "data": { "theirs": "1" } }));
    let how = PatchParams {
        field_manager: Some("somebody".to_owned()),
        ..PatchParams::default()
    };
    world.config_maps().patch("a", &how, &somebody).await.unwrap();

    let agent = world.agent();
    world.create_work("web", &[map]).await;
    world.until_applied("web").await;
    world.set_manifests("web", &[world.config_map("a", "1")]).await;
    eventually("what left the manifest is gone", async || {
        let now = world.config_maps().get("a").await.unwrap();
        let data = now.data.clone().unwrap_or_default();
        let names: Vec<&str> = data.keys().map(String::as_str).collect();
        now.uid() == uid && names == ["k", "theirs"]
    })
    .await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn works_with_managers_of_their_own_share_an_object_and_the_server_decides() {
    let world = World::new().await;
    let agent = world.agent();
    for work in ["one", "two"] {
        let mut map = world.config_map("a", "1");
        map["data"] = json!({ work: "1" });
        let strategy = json!({ "type": "ServerSideApply", "serverSideApply": { "fieldManager": format!("work-agent-{work}") } });
        let configs = json!({ "manifestConfigs": [config(&world, MAPS, "a", strategy)] });
        world.create_work_with(work, &[map], configs).await;
        world.until_applied(work).await;
    }
    let shared = world.config_maps().get("a").await.unwrap();
    assert_eq!(
        (
            shared.data.clone().unwrap_or_default().len(),
            shared.owner_references().len()
        ),
        (2, 2)
    );

    let mut map = world.config_map("a", "1");
    map["data"] = json!({ "one": "2" });
    world.set_manifests("two", &[map]).await;
    let refused = world
        .until_condition("two", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    assert_eq!(condition(&refused, 0, "Applied").1, "ApplyConflict");
    let mut map = world.config_map("a", "1");
    map["data"] = json!({ "two": "2" });
    world.set_manifests("two", &[map]).await;
    world.until_applied("two").await;
    world.delete_work("one").await;
    world.until_gone("one").await;
    let left = world.config_maps().get("a").await.unwrap();
    assert_eq!(left.owner_references().len(), 1);
    assert_eq!(left.uid(), shared.uid());
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_only_looked_at_and_is_not_there_is_not_available_and_not_failed() {
    let world = World::new().await;
    let agent = world.agent();
    let configs = json!({ "manifestConfigs": [config(&world, MAPS, "a", json!({ "type": "ReadOnly" }))] });
    world
        .create_work_with("web", &[world.config_map("a", "1")], configs)
        .await;
    let work = world.until_applied("web").await;
    assert_eq!(condition(&work, 0, "Available").0, "False");
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_in_any_order_is_applied_without_a_failure_on_the_way() {
    let world = World::new().await;
    let space = format!("{}-inner", world.namespace);
    let works = world.manifest_works();
    // Charts give a namespace to everything, also to what has none.
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": space, "namespace": world.namespace },
    });
    let map = crate::world::config_map(&space, "a", "1");
    world.create_work("web", &[map, namespace]).await;
    let version = works
        .get("web")
        .await
        .unwrap()
        .resource_version()
        .unwrap_or_default();
    let mut seen = works
        .watch(&WatchParams::default(), &version)
        .await
        .unwrap()
        .boxed();
    let agent = world.agent();
    loop {
        let event = seen.try_next().await.unwrap();
        let Some(WatchEvent::Modified(work)) = event else {
            continue;
        };
        let conditions = work.status.clone().unwrap_or_default().conditions;
        let Some(applied) = conditions.iter().find(|said| said.type_ == "Applied") else {
            continue;
        };
        assert_eq!(applied.status, "True", "{work:?}");
        let status = work
            .status
            .unwrap_or_default()
            .resource_status
            .unwrap_or_default();
        let kinds: Vec<&str> = status
            .manifests
            .iter()
            .map(|manifest| manifest.resource_meta.kind.as_str())
            .collect();
        assert_eq!(kinds, ["ConfigMap", "Namespace"]);
        assert_eq!(status.manifests[1].resource_meta.namespace, "");
        break;
    }
    agent.stop().await;
    let namespaces = Api::<k8s_openapi::api::core::v1::Namespace>::all(world.spoke.client());
    let _ = namespaces.delete(&space, &DeleteParams::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_field_belongs_to_whom_it_is_left_to() {
    let world = World::new().await;
    let deployment = |replicas: u32| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": world.namespace },
            "spec": {
                "replicas": replicas, "selector": { "matchLabels": { "app": "web" } },
                "template": { "metadata": { "labels": { "app": "web" }, "creationTimestamp": null },
                    "spec": { "containers": [{ "name": "web", "image": "nginx" }] } },
            },
        })
    };
    let strategy = json!({ "type": "ServerSideApply", "serverSideApply": { "ignoreFields": [
        { "condition": "OnSpokePresent", "jsonPaths": [".spec.replicas"] },
    ] } });
    let configs = json!({ "manifestConfigs": [config(&world, ("apps", "deployments"), "web", strategy)] });
    let agent = world.agent();
    world.create_work_with("web", &[deployment(1)], configs).await;
    world.until_applied("web").await;
    let deployments = Api::<Deployment>::namespaced(world.spoke.client(), &world.namespace);
    let scale = |replicas: u32| {
        let mut desired = deployment(replicas);
        desired["spec"] = json!({ "replicas": replicas });
        Patch::Apply(desired)
    };
    let by_force = PatchParams::apply("autoscaler").force();
    deployments.patch("web", &by_force, &scale(5)).await.unwrap();
    // After the next look the field is the autoscaler's alone, which then needs no force.
    world.set_manifests("web", &[deployment(2)]).await;
    world.until_applied("web").await;
    let politely = PatchParams::apply("autoscaler");
    eventually("the autoscaler scales without force", async || {
        deployments.patch("web", &politely, &scale(7)).await.is_ok()
    })
    .await;
    let now = deployments.get("web").await.unwrap();
    assert_eq!(now.spec.and_then(|spec| spec.replicas), Some(7));
    assert!(
        now.metadata
            .annotations
            .unwrap_or_default()
            .contains_key("open-cluster-management.io/config-spec-hash")
    );

    let wrong = json!({ "type": "ServerSideApply", "serverSideApply": { "ignoreFields": [
        { "condition": "OnSpokePresent", "jsonPaths": [".spec["] },
    ] } });
    let wrong = json!([config(&world, ("apps", "deployments"), "web", wrong)]);
    world
        .patch_work("web", json!({ "spec": { "manifestConfigs": wrong } }))
        .await;
    let refused = world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    assert_eq!(
        condition(&refused, 0, "Applied").1,
        "AppliedManifestSSAIgnoreFieldError"
    );
    agent.stop().await;
}
