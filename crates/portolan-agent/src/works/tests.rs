//! Rule 2 at the end of a kind, with the switch that breaks it. On both servers it is tested in `tests/definition`; the
//! switch is one of a thread, so that here everything runs on one.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use portolan_api::work::ManifestWork;
use portolan_hub::Hub;
use serde_json::json;

use crate::sabotage::{Rule, with_sabotaged};
use crate::{Agent, Clock, Settings};

const DEFINITION: &str = "manifestworks.work.open-cluster-management.io";

/// Waits for something that another task does.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never happened: {what}");
}

/// Ends the kind of a work that was applied, and says whether its object outlived it.
async fn outlives_the_kind() -> bool {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    for definition in portolan_api::crds() {
        definitions
            .create(&PostParams::default(), &definition)
            .await
            .unwrap();
    }
    #[expect(clippy::disallowed_methods, reason = "the test is where the time comes from")]
    let mut settings = Settings::new("default", Clock::new(Timestamp::now));
    settings.poll = Duration::from_millis(100);
    settings.deletion_patience = Duration::from_millis(50);
    let agent = Agent::start(client.clone(), client.clone(), settings);

    let works = Api::<ManifestWork>::namespaced(client.clone(), "default");
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "default" } });
    let work = json!({ "metadata": { "name": "web" }, "spec": { "workload": { "manifests": [map] } } });
    works
        .create(&PostParams::default(), &serde_json::from_value(work).unwrap())
        .await
        .unwrap();
    let maps = Api::<ConfigMap>::namespaced(client, "default");
    until("the object is applied", async || {
        maps.get_opt("a").await.unwrap().is_some()
    })
    .await;

    definitions
        .delete(DEFINITION, &DeleteParams::default())
        .await
        .unwrap();
    until("the kind is gone", async || {
        definitions.get_opt(DEFINITION).await.unwrap().is_none()
    })
    .await;
    let outlived = maps.get_opt("a").await.unwrap().is_some();
    agent.kill();
    hub.stop().await;
    outlived
}

fn on_one_thread(test: impl Future<Output = bool>) -> bool {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(test)
}

#[test]
fn objects_outlive_the_kind_of_their_work_and_a_broken_rule_is_noticed() {
    assert!(on_one_thread(outlives_the_kind()));
    assert!(!with_sabotaged(Rule::DefinitionIsNoDeletion, || on_one_thread(
        outlives_the_kind()
    )));
}
