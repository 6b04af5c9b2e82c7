//! The Kubernetes API through clients that were not written for the hub: kube-rs, kubectl, the clients of Python and
//! JavaScript. Nothing here knows which server it talks to: with `KUBEBUILDER_ASSETS=DIR` all of it runs on a real one.
//! What only the hub has is tested in `tests/embedded`.

#![recursion_limit = "256"]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod access;
mod authorization;
mod bad_input;
mod clients;
mod crud;
mod custom;
mod defaults;
mod deletion;
mod errors;
mod forms;
mod kubectl;
mod languages;
mod protobuf;
mod runtime;
mod watches;
mod workloads;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::core::Status;
use portolan_testserver::{Feature, TestServer};
use serde_json::{Value, json};

use k8s_openapi::api::core::v1::ConfigMap;

async fn server() -> (TestServer, Client) {
    let server = TestServer::start().await;
    let client = server.client();
    (server, client)
}

/// Waits for what a server does in its own time. A test that hangs here shows what it waits for.
async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if holds().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("it never happened: {what}");
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": value}})).unwrap()
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

/// A definition with everything the suite looks at.
fn widgets(server: &TestServer) -> Value {
    let group = server.group();
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [
                {
                    "name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
                    "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                    "schema": {"openAPIV3Schema": {
                        "type": "object", "description": "A widget.",
                        "properties": {
                            "spec": {
                                "type": "object", "required": ["size"], "description": "What it should be.",
                                "properties": {
                                    "size": {"type": "integer", "minimum": 0, "description": "How large."},
                                    "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                                    "parts": {
                                        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                                        "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}},
                                    },
                                },
                            },
                            "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
                        },
                    }},
                },
                {
                    "name": "v1beta1", "served": true, "storage": false, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                },
            ],
        },
    });
    // An older kubectl or server takes it for a mistake.
    if server.can(Feature::SelectableFields) {
        definition["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.colour"}]);
    }
    definition
}

fn definitions(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

/// Creates a definition and waits until its objects are served.
async fn define(server: &TestServer, definition: Value) {
    let api = definitions(&server.client());
    let definition: DynamicObject = serde_json::from_value(definition).unwrap();
    let name = definition.metadata.name.clone().unwrap();
    api.create(&PostParams::default(), &definition).await.unwrap();
    let established = |definition: Option<&DynamicObject>| {
        let conditions = definition.and_then(|definition| definition.data["status"]["conditions"].as_array());
        conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    };
    kube::runtime::wait::await_condition(api, &name, established)
        .await
        .unwrap();
}

async fn with_widgets(server: &TestServer) -> Api<DynamicObject> {
    define(server, widgets(server)).await;
    let api = widget_api(server, "v1");
    eventually("widgets are listed", async || {
        api.list(&Default::default()).await.is_ok()
    })
    .await;
    api
}

fn widget_api(server: &TestServer, version: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(server.group(), version, "Widget"));
    Api::default_namespaced_with(server.client(), &resource)
}

fn widget(server: &TestServer, name: &str, spec: Value) -> DynamicObject {
    let version = format!("{}/v1", server.group());
    let object = json!({"apiVersion": version, "kind": "Widget", "metadata": {"name": name}, "spec": spec});
    serde_json::from_value(object).unwrap()
}

/// The refusal in an error, which the test expects to be one.
fn refusal<T: std::fmt::Debug>(result: Result<T, kube::Error>) -> Status {
    match result {
        Err(kube::Error::Api(status)) => *status,
        other => panic!("expected a refusal, got {other:?}"),
    }
}
