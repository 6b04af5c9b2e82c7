//! Posts to the collector. The exporter's thread waits for the answer, and it has no runtime of its own; the runtime of
//! the controllers may be gone when the last spans are sent.

use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{Bytes, HttpClient, HttpError};
use tokio::runtime::Runtime;

/// How long a collector may take for an answer.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// An answer says whether some spans were refused; nobody needs to write more than this.
const LONGEST_ANSWER: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Client {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Taken when it is dropped.
    runtime: Option<Runtime>,
}

impl Client {
    pub(super) fn new(endpoint: &Uri) -> anyhow::Result<Client> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("otlp")
            .enable_all()
            .build()
            .context("cannot start the runtime that sends traces")?;
        Ok(Client {
            http: legacy::Client::builder(TokioExecutor::new()).build(connector(endpoint)?),
            runtime: Some(runtime),
        })
    }
}

fn connector(endpoint: &Uri) -> anyhow::Result<HttpsConnector<HttpConnector>> {
    let provider = rustls::crypto::ring::default_provider();
    // A machine without certificates can still send where none is needed.
    let builder = match endpoint.scheme_str() {
        Some("https") => HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(provider)
            .context("cannot read the certificates of this machine, which https:// endpoints need")?,
        _ => {
            let config = rustls::ClientConfig::builder_with_provider(provider.into())
                .with_safe_default_protocol_versions()?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            HttpsConnectorBuilder::new().with_tls_config(config)
        }
    };
    Ok(builder.https_or_http().enable_http1().build())
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let runtime = self.runtime.as_ref().ok_or("the client is closed")?;
        let answer = self.http.request(request.map(Full::new));
        let answer = async move {
            let (parts, body) = answer.await?.into_parts();
            let body = Limited::new(body, LONGEST_ANSWER).collect().await?.to_bytes();
            Ok(Response::from_parts(parts, body))
        };
        let answer = async move { tokio::time::timeout(EXPORT_TIMEOUT, answer).await? };
        runtime.spawn(answer).await?
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may be dropped where waiting is not allowed, and there is nothing to wait for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
