//! The hub through a client that was not written for it: kube-rs, in process.

#![recursion_limit = "256"]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod access;
mod crash;
mod crud;
mod custom;
mod deletion;
mod errors;
mod kubectl;
mod runtime;
mod watches;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::core::Status;
use portolan_hub::Hub;
use serde_json::{Value, json};

use k8s_openapi::api::core::v1::ConfigMap;

async fn hub() -> (Hub, Client) {
    let hub = Hub::builder().start().await.unwrap();
    let client = Client::new(hub.service(), "default");
    (hub, client)
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": value}})).unwrap()
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

/// A definition with everything the suite looks at.
fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [
                {
                    "name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
                    "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                    "selectableFields": [{"jsonPath": ".spec.colour"}],
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
    })
}

async fn with_widgets(client: &Client) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    definitions
        .create(
            &PostParams::default(),
            &serde_json::from_value(widgets()).unwrap(),
        )
        .await
        .unwrap();
    widget_api(client, "v1")
}

fn widget_api(client: &Client, version: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", version, "Widget"));
    Api::default_namespaced_with(client.clone(), &resource)
}

fn widget(name: &str, spec: Value) -> DynamicObject {
    let object =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec});
    serde_json::from_value(object).unwrap()
}

/// The refusal in an error, which the test expects to be one.
fn refusal<T: std::fmt::Debug>(result: Result<T, kube::Error>) -> Status {
    match result {
        Err(kube::Error::Api(status)) => *status,
        other => panic!("expected a refusal, got {other:?}"),
    }
}
