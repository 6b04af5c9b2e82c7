//! From a kubeconfig to a client.

use std::path::Path;

use anyhow::Context;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// A client for the server that a kubeconfig names. The server has answered once.
pub(crate) async fn connect(kubeconfig: &Path) -> anyhow::Result<Client> {
    let shown = kubeconfig.display();
    let config = Kubeconfig::read_from(kubeconfig).with_context(|| format!("--kubeconfig {shown}"))?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
    let client = Client::try_from(config.with_context(|| format!("--kubeconfig {shown}"))?)?;
    let version = client.apiserver_version().await;
    version.with_context(|| format!("cannot reach the API server that {shown} names"))?;
    Ok(client)
}
