//! A network that can be cut, that hangs, and that stands still when it is told to.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::{StreamExt, stream};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use kube::Client;
use kube::client::Body;
use portolan_testserver::TestServer;
use tokio::sync::watch;
use tower::BoxError;

/// Where requests go at the moment: nowhere while the server is down.
#[derive(Clone, Default)]
pub(crate) struct Way(Arc<Mutex<Option<Client>>>);

impl Way {
    pub(crate) fn to(client: Client) -> Way {
        Way(Arc::new(Mutex::new(Some(client))))
    }

    /// From now on the server is found here, or not at all.
    pub(crate) fn lead(&self, client: Option<Client>) {
        *self.0.lock().unwrap() = client;
    }

    fn server(&self) -> Result<Client, BoxError> {
        let server = self.0.lock().unwrap().clone();
        server.ok_or_else(|| "the server is down".into())
    }

    /// A client that finds the server wherever it is.
    pub(crate) fn client(&self) -> Client {
        Faults::default().over(self)
    }
}

/// Counts the requests of a client and can cut its network, let it hang or make it stand still.
#[derive(Clone)]
pub(crate) struct Faults(Arc<Counts>);

struct Counts {
    reads: AtomicUsize,
    writes: AtomicUsize,
    deletions: AtomicUsize,
    /// From this write on nothing is sent any more; 0 for never.
    still_after: AtomicUsize,
    /// Whether the write that it stands still at is sent.
    arrives: AtomicBool,
    arrived: AtomicBool,
    /// Requests whose path ends like this are never answered.
    stuck: Mutex<Option<String>>,
    weather: watch::Sender<Weather>,
}

#[derive(Clone, Copy, Default)]
struct Weather {
    cut: bool,
    /// How often all answers that were coming in have ceased to, without a word.
    hung: usize,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults(Arc::new(Counts {
            reads: AtomicUsize::default(),
            writes: AtomicUsize::default(),
            deletions: AtomicUsize::default(),
            still_after: AtomicUsize::default(),
            arrives: AtomicBool::default(),
            arrived: AtomicBool::default(),
            stuck: Mutex::default(),
            weather: watch::Sender::default(),
        }))
    }
}

impl Faults {
    /// Nothing is sent any more after so many writes.
    pub(crate) fn still_after(writes: usize) -> Faults {
        let faults = Faults::default();
        faults.stand_still(writes, false);
        faults
    }

    /// The same, but the write after which it stands still arrives: only its answer does not.
    pub(crate) fn unanswered_after(writes: usize) -> Faults {
        let faults = Faults::default();
        faults.stand_still(writes, true);
        faults
    }

    /// Nothing is sent any more after so many writes from now; `arrives` says whether the last one is.
    pub(crate) fn stand_still(&self, writes: usize, arrives: bool) {
        self.0.arrives.store(arrives, Ordering::SeqCst);
        let limit = self.writes() + writes + 1;
        self.0.still_after.store(limit, Ordering::SeqCst);
    }

    /// Every request fails from now on and running answers break off, or none.
    pub(crate) fn cut(&self, cut: bool) {
        self.0.weather.send_modify(|weather| weather.cut = cut);
    }

    /// The answers that are coming in, as those of watches, cease to, and nothing says so.
    pub(crate) fn hang(&self) {
        self.0.weather.send_modify(|weather| weather.hung += 1);
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

    /// How many of the writes asked for an object to be deleted.
    pub(crate) fn deletions(&self) -> usize {
        self.0.deletions.load(Ordering::SeqCst)
    }

    /// Whether it stands still.
    pub(crate) fn is_still(&self) -> bool {
        self.stands() && (!self.0.arrives.load(Ordering::SeqCst) || self.0.arrived.load(Ordering::SeqCst))
    }

    /// Waits until it stands still, or until `done` although it does not. Whether it stands still.
    pub(crate) async fn stands_still_unless(&self, mut done: impl AsyncFnMut() -> bool) -> bool {
        crate::world::eventually("the client stands still or is done", async || {
            // The last write can be seen on the server before it counts as arrived: `done` is asked first, so that a
            // write that caused it is counted when `stands` is.
            self.is_still() || done().await && !self.stands()
        })
        .await;
        self.is_still()
    }

    fn stands(&self) -> bool {
        let limit = self.0.still_after.load(Ordering::SeqCst);
        limit > 0 && self.writes() >= limit
    }

    /// A client whose requests are counted here.
    pub(crate) fn client(&self, server: &TestServer) -> Client {
        self.over(&Way::to(server.client()))
    }

    /// The same, for a server that moves.
    pub(crate) fn over(&self, way: &Way) -> Client {
        let (faults, way) = (self.clone(), way.clone());
        let service = tower::service_fn(move |request| {
            let (faults, way) = (faults.clone(), way.clone());
            async move { faults.pass(&way, request).await }
        });
        Client::new(service, "default")
    }

    async fn pass(&self, way: &Way, request: Request<Body>) -> Result<Response<Answer>, BoxError> {
        // The lease is renewed by the clock, and would make counts depend on it.
        let counted = !request.uri().path().contains("/leases");
        let write = request.method() != Method::GET;
        if counted {
            let counter = if write { &self.0.writes } else { &self.0.reads };
            counter.fetch_add(1, Ordering::SeqCst);
        }
        if request.method() == Method::DELETE {
            self.0.deletions.fetch_add(1, Ordering::SeqCst);
        }
        let stuck = self.0.stuck.lock().unwrap().clone();
        let stuck = stuck.is_some_and(|end| request.uri().path().ends_with(&end));
        if stuck || counted && self.stands() {
            if write && self.0.arrives.load(Ordering::SeqCst) {
                drop(way.server()?.send(request).await);
                self.0.arrived.store(true, Ordering::SeqCst);
            }
            return std::future::pending().await;
        }
        let weather = self.0.weather.subscribe();
        let then = *weather.borrow();
        if then.cut {
            return Err("the network is gone".into());
        }
        let response = way.server()?.send(request).await?;
        Ok(response.map(|body| exposed(body, weather, then.hung)))
    }
}

type Answer = UnsyncBoxBody<bytes::Bytes, BoxError>;

/// An answer that breaks off when the network is cut and stays away when it hangs.
fn exposed(body: Body, weather: watch::Receiver<Weather>, hung: usize) -> Answer {
    let frames = stream::unfold((body, weather), move |(mut body, mut weather)| async move {
        let struck = async {
            let weather = weather.wait_for(|weather| weather.cut || weather.hung > hung);
            weather.await.is_ok_and(|weather| weather.cut)
        };
        let frame = tokio::select! {
            biased;
            cut = struck => match cut {
                true => Err("the network is gone".into()),
                false => std::future::pending().await,
            },
            frame = body.frame() => frame?.map_err(BoxError::from),
        };
        Some((frame, (body, weather)))
    });
    StreamBody::new(frames.boxed()).boxed_unsync()
}
