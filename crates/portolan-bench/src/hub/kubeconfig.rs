//! The part of a kubeconfig that the bench needs: one server, who signed it, and one user.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use serde::Deserialize;

/// Where a server is and how it is entered.
#[derive(Debug)]
pub(super) struct Access {
    /// Host and port.
    pub(super) address: String,
    /// The host alone: what the certificate is for.
    pub(super) host: String,
    pub(super) tls: Arc<ClientConfig>,
    /// The value of the Authorization header.
    pub(super) authorization: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    current_context: String,
    contexts: Vec<Named>,
    clusters: Vec<Named>,
    users: Vec<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
    context: Current,
    cluster: Cluster,
    user: User,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Current {
    cluster: String,
    user: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Cluster {
    server: String,
    certificate_authority: Option<String>,
    certificate_authority_data: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct User {
    token: Option<String>,
    client_certificate: Option<String>,
    client_certificate_data: Option<String>,
    client_key: Option<String>,
    client_key_data: Option<String>,
}

impl Access {
    /// Reads the current context of a kubeconfig.
    pub(super) fn read(path: &Path) -> anyhow::Result<Access> {
        let within = || format!("kubeconfig {}", path.display());
        let text = std::fs::read_to_string(path).with_context(within)?;
        parse(&text, path.parent().unwrap_or(Path::new("."))).with_context(within)
    }
}

fn parse(text: &str, folder: &Path) -> anyhow::Result<Access> {
    let config: Kubeconfig = serde_saphyr::from_str(text).context("not a kubeconfig")?;
    let find = |list: &'static str, named: &[Named], name: &str| {
        let at = named.iter().position(|named| named.name == name);
        at.with_context(|| format!("{list}: nothing is named {name:?}"))
    };
    let context = &config.contexts[find("contexts", &config.contexts, &config.current_context)?].context;
    let cluster = &config.clusters[find("clusters", &config.clusters, &context.cluster)?].cluster;
    let user = &config.users[find("users", &config.users, &context.user)?].user;
    let Some(address) = cluster.server.strip_prefix("https://") else {
        bail!(
            "clusters: server is {:?}, must begin with https://",
            cluster.server
        );
    };
    let address = address.trim_end_matches('/');
    let (host, _) = address
        .rsplit_once(':')
        .with_context(|| format!("clusters: server is {:?}, must name a port", cluster.server))?;
    let either = |data: &Option<String>, file: &Option<String>| match (data, file) {
        (Some(data), _) => Ok(Some(STANDARD.decode(data)?)),
        (None, Some(file)) => Ok(Some(std::fs::read(folder.join(file)).context(file.clone())?)),
        (None, None) => Ok::<_, anyhow::Error>(None),
    };
    let authority = either(
        &cluster.certificate_authority_data,
        &cluster.certificate_authority,
    )?
    .context("clusters: no certificate-authority or certificate-authority-data")?;
    let certificate = either(&user.client_certificate_data, &user.client_certificate)?;
    let key = either(&user.client_key_data, &user.client_key)?;
    Ok(Access {
        address: address.to_owned(),
        host: host.trim_matches(['[', ']']).to_owned(),
        tls: Arc::new(tls(&authority, certificate.zip(key))?),
        authorization: user.token.as_ref().map(|token| format!("Bearer {token}")),
    })
}

fn tls(authority: &[u8], client: Option<(Vec<u8>, Vec<u8>)>) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority) {
        roots.add(certificate.context("certificate-authority")?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let Some((certificate, key)) = client else {
        return Ok(builder.with_no_client_auth());
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificate).collect();
    let key = PrivateKeyDer::from_pem_slice(&key).context("client-key")?;
    Ok(builder.with_client_auth_cert(chain.context("client-certificate")?, key)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        format!("{:#}", parse(text, Path::new(".")).unwrap_err())
    }

    #[test]
    fn a_context_that_is_not_there_is_named() {
        let text = "current-context: a\ncontexts: []\nclusters: []\nusers: []\n";
        assert_eq!(problem(text), "contexts: nothing is named \"a\"");
    }

    #[test]
    fn a_server_without_tls_is_refused() {
        let text = "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n\
                    clusters: [{name: c, cluster: {server: 'http://localhost:1'}}]\nusers: [{name: u, user: {}}]\n";
        assert!(problem(text).contains("must begin with https://"));
    }
}
