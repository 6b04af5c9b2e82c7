//! A hub that is restored from an older copy of its data. Only the embedded hub has data that a test can copy.

use std::path::Path;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use portolan_agent::Agent;
use portolan_api::work::ManifestWork;
use portolan_hub::Hub;
use portolan_testserver::TestServer;
use serde_json::{Value, json};

use crate::world::{config_map, eventually, install, settings};

async fn start(folder: &Path) -> (Hub, Client) {
    let hub = Hub::builder().data(folder).start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    (hub, client)
}

/// Copies the files of a hub that does not run.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

async fn set(works: &Api<ManifestWork>, manifests: &[Value]) {
    let patch = Patch::Merge(json!({ "spec": { "workload": { "manifests": manifests } } }));
    works.patch("web", &PatchParams::default(), &patch).await.unwrap();
}

/// Waits for Applied of the present generation.
async fn until(works: &Api<ManifestWork>, status: &str) -> String {
    let mut message = String::new();
    eventually(&format!("Applied is {status}"), async || {
        let work = works.get("web").await.unwrap();
        let conditions = work.status.unwrap_or_default().conditions;
        let found = conditions.into_iter().find(|condition| {
            condition.type_ == "Applied"
                && condition.status == status
                && condition.observed_generation == work.metadata.generation
        });
        message = found
            .as_ref()
            .map(|condition| condition.message.clone())
            .unwrap_or_default();
        found.is_some()
    })
    .await;
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_hub_changes_and_removes_nothing_until_the_work_is_edited() {
    let folder = tempfile::tempdir().unwrap();
    let (now, backup) = (folder.path().join("now"), folder.path().join("backup"));
    let spoke = TestServer::start().await;
    install(&spoke.client()).await;
    let map = |name: &str, value: &str| config_map(spoke.namespace(), name, value);
    let maps = Api::<k8s_openapi::api::core::v1::ConfigMap>::namespaced(spoke.client(), spoke.namespace());
    let value = async |name: &str| {
        let map = maps.get_opt(name).await.unwrap();
        map.and_then(|map| map.data.and_then(|data| data.get("k").cloned()))
    };

    let (hub, client) = start(&now).await;
    install(&client).await;
    let namespace: Namespace = serde_json::from_value(json!({ "metadata": { "name": "east" } })).unwrap();
    Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    let works = Api::<ManifestWork>::namespaced(client.clone(), "east");
    let work =
        json!({ "metadata": { "name": "web" }, "spec": { "workload": { "manifests": [map("a", "1")] } } });
    works
        .create(&PostParams::default(), &serde_json::from_value(work).unwrap())
        .await
        .unwrap();
    let agent = Agent::start(client, spoke.client(), settings("east"));
    until(&works, "True").await;
    agent.stop().await;
    hub.stop().await;
    copy(&now, &backup);

    let (hub, client) = start(&now).await;
    let works = Api::<ManifestWork>::namespaced(client.clone(), "east");
    let agent = Agent::start(client, spoke.client(), settings("east"));
    set(&works, &[map("a", "2"), map("b", "2")]).await;
    until(&works, "True").await;
    agent.stop().await;
    hub.stop().await;

    let (hub, client) = start(&backup).await;
    let works = Api::<ManifestWork>::namespaced(client.clone(), "east");
    let agent = Agent::start(client, spoke.client(), settings("east"));
    let message = until(&works, "Unknown").await;
    assert!(
        message.contains("generation 2") && message.contains("generation 1"),
        "{message}"
    );
    assert_eq!(
        (value("a").await.as_deref(), value("b").await.as_deref()),
        (Some("2"), Some("2"))
    );

    // Whoever edits it now means it.
    set(&works, &[map("a", "3")]).await;
    until(&works, "True").await;
    eventually("b is removed", async || value("b").await.is_none()).await;
    assert_eq!(value("a").await.as_deref(), Some("3"));
    agent.stop().await;
    hub.stop().await;
}
