//! Servers that are no API servers. To a web server every path of an API is unknown, as a kind that is not installed is to an
//! API server; only the latter knows its version.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
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
    limited(client, MOST_BYTES)
}

/// The same, with answers of at most so many bytes.
fn limited(client: Client, bytes: usize) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| answer(client.clone(), request, bytes));
    Client::new(service, "default")
}

/// What an answer may have, unless it is that of a watch: more than a page of the largest objects. A server without an end would
/// otherwise fill the memory.
const MOST_BYTES: usize = 1 << 30;

type Answer = UnsyncBoxBody<Bytes, BoxError>;

async fn answer(client: Client, request: Request<Body>, bytes: usize) -> Result<Response<Answer>, BoxError> {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default();
    let is_watch = query.split('&').any(|part| part.starts_with("watch="));
    let response = client.send(request).await?;
    let response = response.map(|body| match is_watch {
        true => body.map_err(BoxError::from).boxed_unsync(),
        false => Limited::new(body, bytes).boxed_unsync(),
    });
    if response.status() != StatusCode::NOT_FOUND {
        return Ok(response);
    }
    let (head, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    let said: Value = serde_json::from_slice(&body).unwrap_or_default();
    // Real servers say in plain text that they do not know a path.
    if said["kind"] != "Status" && (path == VERSION || !has_version(&client).await?) {
        return Err(NotAnApiServer { path }.into());
    }
    let body = Full::new(body).map_err(|never| match never {});
    Ok(Response::from_parts(head, body.boxed_unsync()))
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
    async fn an_answer_without_an_end_is_not_read_to_the_end() {
        let endless = tower::service_fn(|_: Request<Body>| async {
            let chunk = || Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(&[b' '; 1 << 20])));
            let chunks = futures::stream::repeat_with(chunk);
            Ok::<_, Infallible>(Response::new(http_body_util::StreamBody::new(chunks)))
        });
        let client = limited(Client::new(endless, "default"), 3 << 20);
        let request = Request::get("/apis/a/v1/bs").body(Vec::new()).unwrap();
        let error = client.request_text(request).await.unwrap_err();
        assert!(!matches!(&error, kube::Error::Api(_)), "{error}");
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
