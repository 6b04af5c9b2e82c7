//! A data folder that is closed and opened again.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};

use super::*;

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::builder().data(folder.path()).start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    let definition = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    });
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    definitions
        .create(
            &PostParams::default(),
            &serde_json::from_value(definition).unwrap(),
        )
        .await
        .unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    let widgets =
        |client: &Client| -> Api<DynamicObject> { Api::default_namespaced_with(client.clone(), &resource) };
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}});
    let written = widgets(&client)
        .create(&PostParams::default(), &serde_json::from_value(widget).unwrap())
        .await
        .unwrap();
    hub.stop().await;
    let hub = Hub::builder().data(folder.path()).start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    assert_eq!(widgets(&client).get("w").await.unwrap(), written);
}
