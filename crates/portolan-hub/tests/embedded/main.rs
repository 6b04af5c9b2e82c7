//! What only the hub has: restarts and crashes of its data file, its clock, its history, its own tokens, in process.
//! Everything a client can see of any API server is tested in `tests/suite` instead, on a real server too.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod access;
mod crash;
mod ending;
mod restart;
mod slow;
mod stopping;
mod time;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use portolan_hub::Hub;
use serde_json::json;

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
