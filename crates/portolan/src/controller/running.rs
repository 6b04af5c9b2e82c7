//! Controllers at work, with somebody who answers for them.

use std::sync::Arc;

use kube::Client;
use portolan_controllers::{Controllers, Health, Metrics, Settings};
use tokio::task::JoinHandle;

use super::probes::{Probed, Probes};

/// Running controllers and their probes.
pub(crate) struct Running {
    controllers: Controllers,
    probes: JoinHandle<()>,
}

struct Answers {
    health: Health,
    metrics: Metrics,
}

impl Probed for Answers {
    fn metrics(&self) -> String {
        self.metrics.text()
    }

    fn why_not_alive(&self) -> Option<String> {
        self.health.why_not_alive()
    }

    fn why_not_ready(&self) -> Vec<String> {
        self.health.why_not_ready()
    }

    fn notes(&self) -> Vec<String> {
        self.health.notes()
    }
}

impl Running {
    /// Starts both on the current runtime.
    pub(crate) fn start(client: Client, settings: Settings, probes: Probes) -> Running {
        let controllers = Controllers::start(client, settings);
        let answers = Answers {
            health: controllers.health(),
            metrics: controllers.metrics(),
        };
        let probes = tokio::spawn(probes.serve(Arc::new(answers)));
        Running { controllers, probes }
    }

    /// Waits until the controllers no longer do their work. Returns why, as the error that the process ends with.
    pub(crate) async fn failed(&self) -> anyhow::Error {
        let why = self.controllers.failed().await;
        anyhow::anyhow!("the controllers stop because they cannot go on: {why}; start them again")
    }

    /// Finishes the writes that are under way. Probes answer until then.
    pub(crate) async fn stop(self) {
        self.controllers.stop().await;
        self.probes.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use http_body_util::BodyExt;
    use hyper::{Request, Response};
    use hyper_util::rt::TokioIo;
    use kube::client::Body;
    use portolan_controllers::Clock;
    use tower::BoxError;

    use super::*;
    use crate::clock;

    /// What a probe answers.
    async fn probe(address: std::net::SocketAddr, path: &str) -> (u16, String) {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        let request = Request::get(path).body(String::new()).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_task_that_panics_fails_the_probes_and_ends_the_program_with_its_name() {
        // An answer that panics does so in the task that waits for it.
        let client = tower::service_fn(|request: http::Request<Body>| async move {
            assert!(request.method().as_str().is_empty(), "as the test asked");
            Ok::<_, BoxError>(Response::new(Body::empty()))
        });
        let probes = Probes::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        let address = probes.address;
        let settings = Settings::new(Clock::new(clock::now));
        let running = Running::start(Client::new(client, "default"), settings, probes);
        let error = running.failed().await.to_string();
        assert!(error.contains("cannot go on: the task "), "{error}");
        assert!(error.contains("panicked: as the test asked"), "{error}");
        for path in ["/livez", "/healthz", "/readyz"] {
            let (status, text) = probe(address, path).await;
            assert_eq!(status, 503, "{path}");
            assert!(text.contains("panicked: as the test asked"), "{text}");
        }
        running.stop().await;
    }
}
