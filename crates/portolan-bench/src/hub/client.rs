//! The client, the same for both servers: HTTP/1.1 over TLS, one connection a worker, as kube-rs has it. Answers are read
//! to their end and not parsed, so that what is measured is the server.

use anyhow::{Context, bail};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::kubeconfig::Access;

pub(super) const JSON: &str = "application/json";
pub(super) const YAML: &str = "application/yaml";
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    authorization: Option<String>,
}

impl Connection {
    pub(super) async fn open(access: &Access) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(&access.address)
            .await
            .with_context(|| format!("connect to {}", access.address))?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(access.host.clone())?;
        let stream = TlsConnector::from(access.tls.clone())
            .connect(name, stream)
            .await
            .with_context(|| format!("TLS with {}", access.address))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Ends when the sender is dropped; what goes wrong is told to the request that is under way.
        tokio::spawn(connection);
        Ok(Connection {
            sender,
            host: access.address.clone(),
            authorization: access.authorization.clone(),
        })
    }

    /// Sends a request and hands out the answer as it comes in.
    pub(super) async fn begin(
        &mut self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> anyhow::Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.host)
            .header(ACCEPT, JSON)
            .header(USER_AGENT, "portolan-bench");
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        self.sender.ready().await?;
        Ok(self.sender.send_request(request.body(Full::new(body))?).await?)
    }

    /// Sends a request and reads the answer; anything but success is an error with what the server said.
    pub(super) async fn send(
        &mut self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> anyhow::Result<Bytes> {
        let what = format!("{method} {path}");
        let response = self.begin(method, path, content_type, body).await;
        let response = response.with_context(|| what.clone())?;
        let status = response.status();
        let body = response
            .into_body()
            .collect()
            .await
            .with_context(|| what.clone())?;
        let body = body.to_bytes();
        if !status.is_success() {
            bail!("{what}: {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(body)
    }

    pub(super) async fn get(&mut self, path: &str) -> anyhow::Result<Bytes> {
        self.send(Method::GET, path, JSON, Bytes::new()).await
    }
}
