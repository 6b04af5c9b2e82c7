//! A data folder that is closed and opened again.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};

use super::*;

#[tokio::test]
async fn a_watch_ahead_of_a_hub_that_was_put_back_ends_with_gone_and_misses_nothing() {
    use futures::StreamExt as _;
    use kube::api::WatchParams;
    use kube::core::WatchEvent;

    let hub = Hub::builder().start().await.unwrap();
    let maps = config_maps(&Client::new(hub.service(), "default"));
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "m"}})).unwrap();
    let made = maps.create(&PostParams::default(), &map).await.unwrap();
    let reached: u64 = made.metadata.resource_version.unwrap().parse().unwrap();
    for (ahead, gone) in [(0, false), (1, true), (1000, true)] {
        let params = WatchParams::default().timeout(1);
        let version = (reached + ahead).to_string();
        let mut events = maps.watch(&params, &version).await.unwrap().boxed();
        let first = events.next().await.map(Result::unwrap);
        let is_gone = matches!(&first, Some(WatchEvent::Error(status)) if status.code == 410);
        assert_eq!(is_gone, gone, "{ahead} ahead: {first:?}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_hub_that_stops_ends_watches_and_takes_no_new_ones() {
    use futures::StreamExt as _;
    use kube::api::WatchParams;

    let (hub, client) = hub().await;
    let maps = config_maps(&client);
    let mut running = maps.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    hub.stop().await;
    while running.next().await.is_some() {}
    let refused = maps.watch(&WatchParams::default(), "0").await.err().unwrap();
    assert!(
        matches!(&refused, kube::Error::Api(status) if status.code == 503),
        "{refused}"
    );
}

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
