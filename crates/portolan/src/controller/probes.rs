//! `/metrics`, `/healthz` and `/readyz`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// A client that does not say what it wants must not be waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked when somebody asks.
pub(crate) trait Probed: Send + Sync + 'static {
    /// Metrics as text.
    fn metrics(&self) -> String;
    /// What is still missing; nothing when it is ready.
    fn why_not_ready(&self) -> Vec<String>;
}

/// A listener for probes, and where it listens.
pub(crate) struct Probes {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Probes {
    pub(crate) async fn bind(address: SocketAddr) -> anyhow::Result<Probes> {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address} for metrics; --metrics-listen takes another address")
        })?;
        let address = listener
            .local_addr()
            .context("cannot tell the address of the metrics")?;
        Ok(Probes { listener, address })
    }

    /// Answers until it is dropped.
    pub(crate) async fn serve(self, probed: Arc<impl Probed>) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let probed = probed.clone();
                        let service = service_fn(move |request: Request<Incoming>| {
                            let answer = answer(request.method(), request.uri().path(), &*probed);
                            async move { Ok::<_, Infallible>(answer) }
                        });
                        let mut http = hyper::server::conn::http1::Builder::new();
                        http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
                        connections.spawn(async move {
                            // A client that goes away in the middle has no one to be told.
                            let _ = http.serve_connection(TokioIo::new(stream), service).await;
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection for metrics");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

fn answer(method: &Method, path: &str, probed: &impl Probed) -> Response<Full<Bytes>> {
    let mut response = match path {
        "/healthz" | "/livez" => plain(StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => match probed.why_not_ready().as_slice() {
            [] => plain(StatusCode::OK, "ok\n".to_owned()),
            missing => plain(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("not ready:\n{}\n", missing.join("\n")),
            ),
        },
        "/metrics" => {
            let text = probed.metrics();
            // Only OpenMetrics has an end mark.
            let kind = if text.ends_with("# EOF\n") {
                OPEN_METRICS
            } else {
                TEXT
            };
            respond(StatusCode::OK, kind, text)
        }
        _ => plain(
            StatusCode::NOT_FOUND,
            "there are /metrics, /healthz and /readyz\n".to_owned(),
        ),
    };
    if method != Method::GET && method != Method::HEAD {
        response = plain(StatusCode::METHOD_NOT_ALLOWED, "accepted: GET\n".to_owned());
        response
            .headers_mut()
            .insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
    }
    response
}

fn plain(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    respond(status, TEXT, text)
}

fn respond(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(Vec<String>);

    impl Probed for Fake {
        fn metrics(&self) -> String {
            "x 1\n# EOF\n".to_owned()
        }

        fn why_not_ready(&self) -> Vec<String> {
            self.0.clone()
        }
    }

    fn status(method: Method, path: &str, missing: &[&str]) -> u16 {
        let fake = Fake(missing.iter().map(|word| (*word).to_owned()).collect());
        answer(&method, path, &fake).status().as_u16()
    }

    #[test]
    fn it_is_alive_before_it_is_ready() {
        assert_eq!(status(Method::GET, "/healthz", &["placements"]), 200);
        assert_eq!(status(Method::GET, "/readyz", &["placements"]), 503);
        assert_eq!(status(Method::GET, "/readyz", &[]), 200);
    }

    #[test]
    fn metrics_say_which_format_they_are_in() {
        let response = answer(&Method::GET, "/metrics", &Fake(Vec::new()));
        assert_eq!(response.headers()[CONTENT_TYPE], OPEN_METRICS);
    }

    #[test]
    fn other_paths_and_other_verbs_are_refused() {
        assert_eq!(status(Method::GET, "/", &[]), 404);
        assert_eq!(status(Method::POST, "/metrics", &[]), 405);
        assert_eq!(status(Method::HEAD, "/metrics", &[]), 200);
    }
}
