use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_controller_reconciles_what_is_created_and_changed() {
    let (_server, client) = server().await;
    let api = config_maps(&client);
    let reconcile = |object: Arc<ConfigMap>, client: Arc<Client>| async move {
        let patch =
            Patch::Merge(json!({"metadata": {"labels": {"seen": object.data.as_ref().unwrap()["key"]}}}));
        config_maps(&client)
            .patch(&object.name_any(), &PatchParams::default(), &patch)
            .await?;
        Ok::<_, kube::Error>(Action::requeue(Duration::from_secs(3600)))
    };
    let controller = Controller::new(api.clone(), watcher::Config::default());
    let policy = |_: Arc<ConfigMap>, _: &kube::Error, _: Arc<Client>| Action::requeue(Duration::from_secs(1));
    let running = tokio::spawn(
        controller
            .run(reconcile, policy, Arc::new(client))
            .for_each(|_| async {}),
    );
    api.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let seen = |value: &'static str| {
        move |object: Option<&ConfigMap>| {
            object.is_some_and(|object| object.labels().get("seen").is_some_and(|seen| seen == value))
        }
    };
    kube::runtime::wait::await_condition(api.clone(), "a", seen("1"))
        .await
        .unwrap();
    api.patch(
        "a",
        &PatchParams::default(),
        &Patch::Merge(json!({"data": {"key": "2"}})),
    )
    .await
    .unwrap();
    kube::runtime::wait::await_condition(api, "a", seen("2"))
        .await
        .unwrap();
    running.abort();
}

/// Lists through a reflector and follows a change.
async fn reflect(api: Api<ConfigMap>, config: watcher::Config) {
    for i in 0..200 {
        api.create(&PostParams::default(), &config_map(&format!("o{i}"), "1"))
            .await
            .unwrap();
    }
    let (store, writer) = reflector::store();
    let stream = watcher(api.clone(), config).reflect(writer).applied_objects();
    let follow = tokio::spawn(stream.for_each(|_| async {}));
    store.wait_until_ready().await.unwrap();
    assert_eq!(store.state().len(), 200);
    api.delete("o7", &Default::default()).await.unwrap();
    eventually("the reflector forgets what was deleted", async || {
        store.state().len() == 199
    })
    .await;
    follow.abort();
}

#[tokio::test]
async fn a_reflector_follows_a_list_of_pages() {
    let (_server, client) = server().await;
    reflect(config_maps(&client), watcher::Config::default().page_size(50)).await;
}

#[tokio::test]
async fn a_reflector_follows_a_streamed_list() {
    let (server, client) = server().await;
    if server.lacks(Feature::StreamingLists) {
        return;
    }
    reflect(config_maps(&client), watcher::Config::default().streaming_lists()).await;
}
