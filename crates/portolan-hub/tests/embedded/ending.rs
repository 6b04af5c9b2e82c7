//! The end of a kind.

use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use portolan_hub::Hub;
use serde_json::json;

/// An agent tells by this whether somebody deleted its work or the whole kind goes.
#[tokio::test(flavor = "multi_thread")]
async fn discovery_says_that_a_kind_goes_before_the_first_of_its_objects_does() {
    // On disk, where a write takes its time.
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::builder().data(folder.path()).start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    for round in 0..5 {
        let group = format!("g{round}.example.com");
        let definition = json!({
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }}}],
            },
        });
        let definition = serde_json::from_value(definition).unwrap();
        definitions
            .create(&PostParams::default(), &definition)
            .await
            .unwrap();
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", "Widget"));
        let widgets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
        let held = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Widget",
            "metadata": {"name": "w", "finalizers": ["example.com/hold"]},
        });
        let held = serde_json::from_value(held).unwrap();
        widgets.create(&PostParams::default(), &held).await.unwrap();
        let (asking, version) = (client.clone(), format!("{group}/v1"));
        let said = tokio::spawn(async move {
            while widgets
                .get("w")
                .await
                .unwrap()
                .metadata
                .deletion_timestamp
                .is_none()
            {
                tokio::task::yield_now().await;
            }
            asking.list_api_group_resources(&version).await.unwrap().resources
        });
        let name = format!("widgets.{group}");
        definitions.delete(&name, &DeleteParams::default()).await.unwrap();
        for resource in said.await.unwrap() {
            assert!(
                !resource.verbs.contains(&"create".to_owned()),
                "round {round}: {resource:?}"
            );
        }
    }
    hub.stop().await;
}
