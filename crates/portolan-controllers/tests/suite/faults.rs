//! A client between which and the server things go wrong: writes are slow, refused, or done without an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use tower::BoxError;

/// What goes wrong, decided by a seeded sequence.
#[derive(Clone)]
pub(crate) struct Faults {
    state: Arc<AtomicU64>,
    on: Arc<AtomicBool>,
    pub(crate) hurt: Arc<AtomicU64>,
}

impl Faults {
    pub(crate) fn new(seed: u64) -> Faults {
        Faults {
            state: Arc::new(AtomicU64::new(seed | 1)),
            on: Arc::new(AtomicBool::new(true)),
            hurt: Arc::default(),
        }
    }

    /// From now on all is well.
    pub(crate) fn end(&self) {
        self.on.store(false, Ordering::Relaxed);
    }

    /// A client that suffers them.
    pub(crate) fn client(&self, sound: Client) -> Client {
        let faults = self.clone();
        let service = tower::service_fn(move |request| {
            let (faults, sound) = (faults.clone(), sound.clone());
            async move { faults.pass(&sound, request).await }
        });
        Client::new(service, "default")
    }

    async fn pass(&self, sound: &Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        if *request.method() == Method::GET || !self.on.load(Ordering::Relaxed) {
            return Ok(sound.send(request).await?);
        }
        tokio::time::sleep(Duration::from_millis(self.draw(25))).await;
        match self.draw(12) {
            0 => {
                self.hurt.fetch_add(1, Ordering::Relaxed);
                let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected","code":503}"#;
                let mut response = Response::new(Body::from(status.as_bytes().to_vec()));
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                Ok(response)
            }
            1 => {
                self.hurt.fetch_add(1, Ordering::Relaxed);
                // Done, and nobody hears of it.
                sound.send(request).await?;
                Err("injected: the connection was lost after the request".into())
            }
            _ => Ok(sound.send(request).await?),
        }
    }

    /// The next number below `limit`: a linear congruence is random enough here.
    fn draw(&self, limit: u64) -> u64 {
        let step = |state: u64| {
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        };
        let state = self
            .state
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| Some(step(state)));
        (state.unwrap_or_default() >> 33) % limit
    }
}
