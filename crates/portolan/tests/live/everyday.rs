//! What happens every day is no warning.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};

use super::support::Scratch;
use super::up::Up;

/// Deletes namespaces and waits until they are gone.
async fn delete(kubeconfig: &str, names: &[&str]) {
    let config = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig can be read");
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
        .await
        .expect("the kubeconfig can be used");
    let namespaces: Api<Namespace> = Api::all(Client::try_from(config).expect("a client"));
    for name in names {
        namespaces
            .delete(name, &kube::api::DeleteParams::default())
            .await
            .expect("a namespace can be deleted");
    }
    for name in names {
        while namespaces.get_opt(name).await.expect("the hub answers").is_some() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[test]
fn deleting_a_namespace_with_placements_in_it_logs_no_warning() {
    let scratch = Scratch::new();
    let args = [
        "--demo",
        "--clusters",
        "60",
        "--in-memory",
        "--kubeconfig",
        "here",
    ];
    let mut up = Up::start(&scratch, &args);
    // While decisions, profiles and events of all placements are being written, and again when they rest.
    up.line_with(&["ml/training"]);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let kubeconfig = up.kubeconfig.clone();
    runtime.block_on(delete(&kubeconfig, &["ml"]));
    up.wait_until_ready();
    runtime.block_on(delete(&kubeconfig, &["shop", "payments"]));
    let log = up.stop_and_read();
    let warnings: Vec<&str> = log
        .lines()
        .filter(|line| line.contains(" WARN ") || line.contains(" ERROR "))
        .collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}
