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
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// A client that does not say what it wants must not be waited for.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// What is asked when somebody asks.
pub(crate) trait Probed: Send + Sync + 'static {
    /// Metrics as text.
    fn metrics(&self) -> String;
    /// The task that died or the loop that stands still, if there is one.
    fn why_not_alive(&self) -> Option<String>;
    /// What is still missing; nothing when it is ready.
    fn why_not_ready(&self) -> Vec<String>;
    /// What else is worth knowing.
    fn notes(&self) -> Vec<String>;
}

/// A listener for probes, and where it listens.
pub(crate) struct Probes {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> anyhow::Error {
    anyhow::anyhow!(
        "cannot listen on {address} for metrics: {error}; --metrics-listen takes another address, and with port 0 the system \
         chooses a free one"
    )
}

impl Probes {
    pub(crate) async fn bind(address: SocketAddr) -> anyhow::Result<Probes> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| cannot_listen(address, &error))?;
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
                            let answer = answer(request.method(), request.uri(), &*probed);
                            async move { Ok::<_, Infallible>(answer) }
                        });
                        let mut http = hyper::server::conn::http1::Builder::new();
                        http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
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

fn answer(method: &Method, uri: &Uri, probed: &impl Probed) -> Response<Full<Bytes>> {
    let mut response = match uri.path() {
        "/healthz" | "/livez" => match probed.why_not_alive() {
            None => plain(StatusCode::OK, "ok\n".to_owned()),
            Some(why) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
        },
        "/readyz" => {
            let mut query = uri.query().unwrap_or_default().split('&');
            let notes = match query.any(|part| part.split('=').next() == Some("verbose")) {
                true => probed.notes(),
                false => Vec::new(),
            };
            let lines = |head: &str, lines: &[String]| {
                let all = std::iter::once(head).chain(lines.iter().map(String::as_str));
                all.chain(notes.iter().map(String::as_str))
                    .map(|line| format!("{line}\n"))
                    .collect()
            };
            match probed.why_not_ready().as_slice() {
                [] => plain(StatusCode::OK, lines("ok", &[])),
                missing => plain(StatusCode::SERVICE_UNAVAILABLE, lines("not ready:", missing)),
            }
        }
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
            "there are /metrics, /healthz, /livez and /readyz\n".to_owned(),
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
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn an_address_in_use_is_reported_with_the_cause_before_the_advice() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let Err(error) = Probes::bind(taken.local_addr().unwrap()).await else {
            panic!("the address is in use");
        };
        let text = format!("{error:#}");
        let cause = text.find("in use").unwrap();
        let advice = text.find("--metrics-listen").unwrap();
        assert!(cause < advice && text.contains("port 0"), "{text}");
    }

    struct Fake(Vec<String>);

    /// Something of which a task died.
    struct Dead;

    impl Probed for Dead {
        fn metrics(&self) -> String {
            String::new()
        }

        fn why_not_alive(&self) -> Option<String> {
            Some("the task works panicked".to_owned())
        }

        fn why_not_ready(&self) -> Vec<String> {
            self.why_not_alive().into_iter().collect()
        }

        fn notes(&self) -> Vec<String> {
            Vec::new()
        }
    }

    impl Probed for Fake {
        fn metrics(&self) -> String {
            "x 1\n# EOF\n".to_owned()
        }

        fn why_not_alive(&self) -> Option<String> {
            None
        }

        fn why_not_ready(&self) -> Vec<String> {
            self.0.clone()
        }

        fn notes(&self) -> Vec<String> {
            vec!["the output slices is off".to_owned()]
        }
    }

    fn status(method: Method, path: &str, missing: &[&str]) -> u16 {
        let fake = Fake(missing.iter().map(|word| (*word).to_owned()).collect());
        answer(&method, &path.parse().unwrap(), &fake).status().as_u16()
    }

    #[tokio::test]
    async fn what_is_off_is_told_to_those_who_ask_for_more_and_is_no_reason_not_to_be_ready() {
        for (path, missing, expected) in [
            ("/readyz", vec![], "ok\n"),
            ("/readyz?verbose", vec![], "ok\nthe output slices is off\n"),
            (
                "/readyz?verbose=true",
                vec!["placements".to_owned()],
                "not ready:\nplacements\nthe output slices is off\n",
            ),
        ] {
            let response = answer(&Method::GET, &path.parse().unwrap(), &Fake(missing));
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, expected, "{path}");
        }
    }

    #[test]
    fn it_is_alive_before_it_is_ready() {
        assert_eq!(status(Method::GET, "/healthz", &["placements"]), 200);
        assert_eq!(status(Method::GET, "/readyz", &["placements"]), 503);
        assert_eq!(status(Method::GET, "/readyz", &[]), 200);
    }

    #[tokio::test]
    async fn every_probe_fails_and_says_why_once_a_task_has_died() {
        for path in ["/healthz", "/livez", "/readyz"] {
            let response = answer(&Method::GET, &path.parse().unwrap(), &Dead);
            assert_eq!(response.status().as_u16(), 503, "{path}");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert!(body.ends_with(b"the task works panicked\n"), "{path}");
        }
    }

    #[test]
    fn metrics_say_which_format_they_are_in() {
        let response = answer(&Method::GET, &Uri::from_static("/metrics"), &Fake(Vec::new()));
        assert_eq!(response.headers()[CONTENT_TYPE], OPEN_METRICS);
    }

    #[test]
    fn other_paths_and_other_verbs_are_refused() {
        assert_eq!(status(Method::GET, "/", &[]), 404);
        assert_eq!(status(Method::POST, "/metrics", &[]), 405);
        assert_eq!(status(Method::HEAD, "/metrics", &[]), 200);
    }
}
