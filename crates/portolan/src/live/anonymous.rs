//! Processes whose requests carry no credentials.

use kube::Api;
use kube::api::ListParams;
use portolan_api::cluster::Placement;

use super::{Server, credentials};

/// Fails if requests carry no credentials and the server asks for some: a process that runs until it is stopped would only ever
/// be refused. A proxy that has the credentials needs none.
pub(crate) async fn refuse_anonymous(server: &Server) -> anyhow::Result<()> {
    if !server.credentials.starts_with(credentials::NONE) {
        return Ok(());
    }
    let placements: Api<Placement> = Api::all(server.client.clone());
    match placements.list_metadata(&ListParams::default().limit(1)).await {
        Err(kube::Error::Api(status)) if status.code == 403 => {
            let error = kube::Error::Api(status);
            Err(super::explain(&error, "list placements", &server.url))
        }
        _ => Ok(()),
    }
}
