//! Works that are applied in somebody else's name, and works that cannot be read.

use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_applies_what_it_may_and_nothing_else() {
    let world = World::new().await;
    let agent = world.agent();
    let executor = json!({ "executor": { "subject": {
        "type": "ServiceAccount", "serviceAccount": { "namespace": world.namespace, "name": "deployer" },
    } } });
    world
        .create_work_with("web", &[world.config_map("a", "1")], executor)
        .await;
    let work = world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let manifest = work.status.unwrap().resource_status.unwrap().manifests.remove(0);
    assert_eq!(manifest.conditions[0].reason, "Refused");
    assert!(
        manifest.conditions[0].message.contains("deployer"),
        "{}",
        manifest.conditions[0].message
    );
    assert!(world.values("a").await.is_empty());

    let (client, how) = (world.spoke.client(), PostParams::default());
    let role: Role = serde_json::from_value(json!({
        "metadata": { "name": "deployer" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch", "delete"] }],
    }))
    .unwrap();
    Api::namespaced(client.clone(), &world.namespace)
        .create(&how, &role)
        .await
        .unwrap();
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": { "name": "deployer" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deployer" },
        "subjects": [{ "kind": "ServiceAccount", "name": "deployer", "namespace": world.namespace }],
    }))
    .unwrap();
    Api::namespaced(client, &world.namespace)
        .create(&how, &binding)
        .await
        .unwrap();
    world.until_applied("web").await;
    world.until_values("a", &[("a", "1")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_is_spoilt_removes_nothing_until_it_is_mended() {
    let world = World::new().await;
    let agent = world.agent();
    world
        .create_work("web", &[world.config_map("a", "1"), world.config_map("b", "1")])
        .await;
    world.until_applied("web").await;
    let mut spoilt = world.config_map("a", "2");
    spoilt["metadata"]["namespace"] = json!("");
    world
        .set_manifests("web", &[spoilt, world.config_map("b", "2")])
        .await;
    world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    world.until_values("", &[("a", "1"), ("b", "2")]).await;
    world.set_manifests("web", &[world.config_map("b", "3")]).await;
    world.until_values("", &[("b", "3")]).await;
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_without_a_place_for_records_gets_nothing_and_the_work_says_why() {
    // A real server is shared, and other tests need the definition there.
    if portolan_testserver::TestServer::would_be_real() {
        return;
    }
    let world = World::new().await;
    let definition = kube::api::ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let definitions = Api::<DynamicObject>::all_with(world.spoke.client(), &definition);
    let name = "appliedmanifestworks.work.open-cluster-management.io";
    let kept = definitions.get(name).await.unwrap();
    let _ = definitions.delete(name, &Default::default()).await.unwrap();
    let agent = world.agent();
    world.create_work("web", &[world.config_map("a", "1")]).await;
    let work = world
        .until_condition("web", "Applied", "False", "AppliedManifestWorkFailed")
        .await;
    let manifest = work.status.unwrap().resource_status.unwrap().manifests.remove(0);
    assert_eq!(manifest.conditions[0].reason, "NoRecord");
    assert!(world.values("a").await.is_empty());
    let again = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": name }, "spec": kept.data["spec"],
    });
    definitions
        .patch(name, &PatchParams::apply("test"), &Patch::Apply(&again))
        .await
        .unwrap();
    world.until_applied("web").await;
    agent.stop().await;
}
