//! `portolan agent` while the kubeconfig of its hub changes.

use std::fs::{File, read_to_string, write};
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use portolan_api::work::ManifestWork;
use serde_json::json;

use crate::support::Scratch;
use crate::{eventually, join, server};

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_goes_on_with_the_credentials_that_its_kubeconfig_has_now() {
    let server = server().await;
    let scratch = Scratch::new();
    let (path, log) = (scratch.path().join("hub.kubeconfig"), scratch.path().join("log"));
    let joined = join(&server, &["agent-renewed", "-o", "kubeconfig"]).await;
    assert_eq!(joined.code, 0, "{}", joined.stderr);
    let (before, token) = joined.stdout.split_once("token: ").unwrap();
    let (_, after) = token.split_once('\n').unwrap_or((token, ""));
    write(&path, format!("{before}token: no-token-of-this-hub\n{after}")).unwrap();
    let agent = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args(["agent", "--cluster", "agent-renewed"])
        .arg("--hub")
        .arg(&path)
        .arg("--spoke")
        .arg(server.kubeconfig())
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let _agent = Running(agent);
    let works: Api<ManifestWork> = Api::namespaced(server.client(), "agent-renewed");
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "renewed", "namespace": server.namespace()}});
    let work = json!({"metadata": {"name": "renewed"}, "spec": {"workload": {"manifests": [config]}}});
    let work = serde_json::from_value(work).unwrap();
    works.create(&Default::default(), &work).await.unwrap();
    let said = |words: &str| read_to_string(&log).unwrap().contains(words);
    eventually("the agent says that it is refused", async || said("401")).await;
    let configs: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    assert!(configs.get_opt("renewed").await.unwrap().is_none());

    write(&path, &joined.stdout).unwrap();
    eventually("the work is applied", async || {
        configs.get_opt("renewed").await.unwrap().is_some()
    })
    .await;
    assert!(said(
        "the kubeconfig of the hub has changed; the agent goes on with it"
    ));
    server.stop().await;
}
