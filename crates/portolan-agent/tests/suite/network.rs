//! A network that can be cut, and that stands still when it is told to.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::{Body, ClientBuilder};
use portolan_testserver::TestServer;

/// Counts the requests of a client and can make it stand still.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Counts>);

#[derive(Default)]
struct Counts {
    reads: AtomicUsize,
    writes: AtomicUsize,
    /// From this write on nothing is sent any more; 0 for never.
    still_after: AtomicUsize,
    /// Whether the write that it stands still at is sent.
    arrives: AtomicBool,
    arrived: AtomicBool,
    cut: AtomicBool,
    /// Requests whose path ends like this are never answered.
    stuck: Mutex<Option<String>>,
}

impl Faults {
    /// Nothing is sent any more after so many writes.
    pub(crate) fn still_after(writes: usize) -> Faults {
        let faults = Faults::default();
        faults.0.still_after.store(writes + 1, Ordering::SeqCst);
        faults
    }

    /// The same, but the write after which it stands still arrives: only its answer does not.
    pub(crate) fn unanswered_after(writes: usize) -> Faults {
        let faults = Faults::still_after(writes);
        faults.0.arrives.store(true, Ordering::SeqCst);
        faults
    }

    /// Every request fails from now on, or none.
    pub(crate) fn cut(&self, cut: bool) {
        self.0.cut.store(cut, Ordering::SeqCst);
    }

    /// Requests whose path ends like this are never answered.
    pub(crate) fn stick(&self, end: &str) {
        *self.0.stuck.lock().unwrap() = Some(end.to_owned());
    }

    pub(crate) fn reads(&self) -> usize {
        self.0.reads.load(Ordering::SeqCst)
    }

    pub(crate) fn writes(&self) -> usize {
        self.0.writes.load(Ordering::SeqCst)
    }

    /// Whether it stands still.
    pub(crate) fn is_still(&self) -> bool {
        self.stands() && (!self.0.arrives.load(Ordering::SeqCst) || self.0.arrived.load(Ordering::SeqCst))
    }

    fn stands(&self) -> bool {
        let limit = self.0.still_after.load(Ordering::SeqCst);
        limit > 0 && self.writes() >= limit
    }

    /// A client whose requests are counted here.
    pub(crate) fn client(&self, server: &TestServer) -> Client {
        let faults = self.clone();
        let layer = tower::layer::layer_fn(move |inner| Faulty {
            inner,
            faults: faults.clone(),
        });
        ClientBuilder::try_from(server.config().clone())
            .unwrap()
            .with_layer(&layer)
            .build()
    }
}

#[derive(Clone)]
struct Faulty<S> {
    inner: S,
    faults: Faults,
}

impl<S, B> tower::Service<Request<Body>> for Faulty<S>
where
    S: tower::Service<Request<Body>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The lease is renewed by the clock, and would make counts depend on it.
        let counted = !request.uri().path().contains("/leases");
        let write = request.method() != Method::GET;
        if counted {
            let counter = if write {
                &self.faults.0.writes
            } else {
                &self.faults.0.reads
            };
            counter.fetch_add(1, Ordering::SeqCst);
        }
        let stuck = self.faults.0.stuck.lock().unwrap().clone();
        let stuck = stuck.is_some_and(|end| request.uri().path().ends_with(&end));
        let (still, cut) = (
            stuck || counted && self.faults.stands(),
            self.faults.0.cut.load(Ordering::SeqCst),
        );
        let faults = self.faults.clone();
        let sent = self.inner.call(request);
        Box::pin(async move {
            if still {
                if write && faults.0.arrives.load(Ordering::SeqCst) {
                    drop(sent.await);
                    faults.0.arrived.store(true, Ordering::SeqCst);
                }
                return std::future::pending().await;
            }
            if cut {
                drop(sent);
                return Err("the network is gone".into());
            }
            sent.await.map_err(Into::into)
        })
    }
}
