//! What commands make of a kubeconfig before they send a request, for fuzz targets and their tests.

use kube::config::Kubeconfig;

use crate::join::kubeconfig::with_token;
use crate::live::{self, Server};

/// Reads the text, chooses the current context, makes a client and a kubeconfig for an agent, as `portolan join` does.
/// Returns the URL of the server, and the one that the agent would reach or why it would reach none. The files that it names are not read and the commands
/// not run.
pub async fn try_out(text: &str) -> anyhow::Result<(String, String)> {
    let url = used(text).await?.url;
    let config = live::config_of(confined(text)?, None).await?;
    let joined = with_token(&config, "east", "secret").to_string();
    let reached = match used(&joined).await {
        Ok(server) => server.url,
        Err(error) => format!("{error:#}"),
    };
    Ok((url, reached))
}

async fn used(text: &str) -> anyhow::Result<Server> {
    Server::new(live::config_of(confined(text)?, None).await?)
}

/// The kubeconfig without what reaches beyond its own text.
fn confined(text: &str) -> anyhow::Result<Kubeconfig> {
    let mut kubeconfig =
        Kubeconfig::from_yaml(text).map_err(|error| anyhow::anyhow!("{}", live::describe(&error)))?;
    for cluster in kubeconfig
        .clusters
        .iter_mut()
        .filter_map(|named| named.cluster.as_mut())
    {
        cluster.certificate_authority = None;
    }
    for user in kubeconfig
        .auth_infos
        .iter_mut()
        .filter_map(|named| named.auth_info.as_mut())
    {
        user.exec = None;
        user.auth_provider = None;
        user.token_file = None;
        user.client_certificate = None;
        user.client_key = None;
    }
    Ok(kubeconfig)
}
