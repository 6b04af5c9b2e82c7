//! Servers that are no API servers. To a web server every path of an API is unknown, as a kind that is not installed is to an
//! API server; only the latter knows its version.

use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tower::BoxError;

/// Where an API server says which version it is.
const VERSION: &str = "/version";

/// The server knows neither the path that was asked for nor its version.
#[derive(Debug, thiserror::Error)]
#[error("404 for {path} and no version")]
pub(super) struct NotAnApiServer {
    path: String,
}

/// A client that fails when a server that does not know a path is no API server.
pub(super) fn only_api_servers(client: Client) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| answer(client.clone(), request));
    Client::new(service, "default")
}

async fn answer(client: Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
    let path = request.uri().path().to_owned();
    let response = client.send(request).await?;
    if response.status() != StatusCode::NOT_FOUND {
        return Ok(response);
    }
    let (head, body) = response.into_parts();
    let body = body.collect_bytes().await?;
    let said: Value = serde_json::from_slice(&body).unwrap_or_default();
    // Real servers say in plain text that they do not know a path.
    if said["kind"] != "Status" && (path == VERSION || !has_version(&client).await?) {
        return Err(NotAnApiServer { path }.into());
    }
    Ok(Response::from_parts(head, Body::from(body)))
}

/// Whether the server gives a version. One that refuses to, or fails, may be an API server.
async fn has_version(client: &Client) -> Result<bool, BoxError> {
    let request = Request::get(VERSION).body(Body::empty())?;
    let response = client.send(request).await?;
    match response.status() {
        StatusCode::NOT_FOUND => Ok(false),
        status if !status.is_success() => Ok(true),
        _ => {
            let body = response.into_body().collect_bytes().await?;
            let version: Value = serde_json::from_slice(&body).unwrap_or_default();
            Ok(version["gitVersion"].is_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// A server that answers with 404 and this, and to the question for its version with that.
    fn server(unknown: &'static str, version: (u16, &'static str)) -> Client {
        let service = tower::service_fn(move |request: Request<Body>| async move {
            let (code, text) = match request.uri().path() {
                VERSION => version,
                _ => (404, unknown),
            };
            let answer = Response::builder().status(code);
            Ok::<_, Infallible>(answer.body(Body::from(text.as_bytes().to_vec())).unwrap())
        });
        only_api_servers(Client::new(service, "default"))
    }

    async fn asked(client: &Client) -> kube::Error {
        let request = Request::get("/apis/a/v1/bs").body(Vec::new()).unwrap();
        client.request_text(request).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_path_that_is_unknown_is_a_kind_that_is_missing_on_an_api_server_alone() {
        let page = "<html>404</html>";
        let plain = "404 page not found";
        let version = r#"{"gitVersion":"v1.33.0"}"#;
        for (unknown, version) in [
            (plain, (200, version)),
            (plain, (403, "{}")),
            (plain, (500, "")),
            (r#"{"kind":"Status","code":404}"#, (404, page)),
        ] {
            let error = asked(&server(unknown, version)).await;
            assert!(matches!(&error, kube::Error::Api(_)), "{version:?}: {error}");
        }
        for version in [(404, page), (200, page), (200, "{}")] {
            let client = server(page, version);
            let error = super::super::explain(&asked(&client).await, "list bs", "http://web");
            assert!(super::super::is_of_hub(&error), "{error}");
            assert!(
                error
                    .to_string()
                    .contains("http://web does not answer as a Kubernetes API"),
                "{error}"
            );
        }
        let error = server(page, (404, page)).apiserver_version().await.unwrap_err();
        assert!(!matches!(&error, kube::Error::Api(_)), "{error}");
    }
}
