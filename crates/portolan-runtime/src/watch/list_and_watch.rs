//! Lists and watches one kind, and passes the changes on to its listeners.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource};
use portolan_api::reading::{Received, Unreadable};
use serde::de::DeserializeOwned;

use super::crd_guard::CrdGuard;
use super::known::{Known, Places};
use super::limits::with_list_timeout;
use super::size::LIST_BYTES;
use super::subscriber::{Closed, Subscriber};
use super::{Delta, Key};
use crate::logging::FailureLog;

/// How long to wait before asking again for a kind that is not served.
const UNSERVED_PAUSE: Duration = Duration::from_secs(1);
/// Objects in one answer of a list. All of them are in memory at once, and what is given back the system rarely gets.
const PAGE: u32 = 100;
/// What kube accepts, in seconds.
const LONGEST_WATCH: u32 = 294;
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// The same for credentials that the server refuses. Nothing but a person ends that, every watch of a process fails in the
/// same way, and each refusal costs the server a look at a token. A longer one would keep an agent waiting whose token was
/// renewed.
const LONGEST_PAUSE_REFUSED: Duration = Duration::from_secs(30);

/// A watch of one kind, for any number of listeners.
pub struct Watch<K> {
    api: Api<Received<K>>,
    /// The plural, with its group.
    resource: String,
    config: watcher::Config,
    subscribers: Vec<Subscriber<K>>,
    guard: Option<CrdGuard>,
    on_failure: Option<Box<dyn Fn() + Send + Sync>>,
    log: FailureLog,
    /// Whether a failure is followed by a list.
    relist_on_error: bool,
    /// Whether a kind that must not be listed counts as one that is not served.
    refusable: bool,
    /// Whether the kind was not served since the last complete list.
    was_not_served: bool,
    /// Whether there was no complete list yet.
    first: bool,
    /// What was reported to be there, to find out what a new list no longer has.
    known: Known,
}

impl<K> Watch<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// A watch of everything that `client` sees.
    pub fn new(client: Client, subscribers: Vec<Subscriber<K>>) -> Watch<K> {
        Watch::of(Api::all(with_list_timeout(client, LIST_BYTES)), subscribers)
    }

    /// A watch of one namespace.
    pub fn namespaced(client: Client, namespace: &str, subscribers: Vec<Subscriber<K>>) -> Watch<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
    {
        Watch::of(
            Api::namespaced(with_list_timeout(client, LIST_BYTES), namespace),
            subscribers,
        )
    }

    fn of(api: Api<Received<K>>, subscribers: Vec<Subscriber<K>>) -> Watch<K> {
        let resource = format!("{}.{}", K::plural(&()), K::group(&()));
        Watch {
            api,
            resource: resource.trim_end_matches('.').to_owned(),
            config: watcher::Config::default().page_size(PAGE),
            subscribers,
            guard: None,
            on_failure: None,
            log: FailureLog::new("the hub"),
            relist_on_error: false,
            refusable: false,
            was_not_served: false,
            first: true,
            known: Known::default(),
        }
    }

    /// Only objects of this name, whatever their namespace.
    pub fn named(mut self, name: &str) -> Watch<K> {
        self.config = self.config.fields(&format!("metadata.name={name}"));
        self
    }

    /// Watches only objects that have a label. One that loses it counts as deleted.
    pub fn labelled(mut self, label: &str) -> Watch<K> {
        self.config = self.config.labels(label);
        self
    }

    /// Does not take objects for deleted that go with their CustomResourceDefinition, until they have been missing for
    /// `grace` after it came back.
    pub fn guarded(mut self, client: Client, grace: Duration) -> Watch<K> {
        self.guard = Some(CrdGuard::of::<K>(client, grace));
        self
    }

    /// Asks for the watch anew after so long, in whole seconds. One that hangs without a word is noticed a few seconds
    /// later.
    pub fn watch_timeout(mut self, time: Duration) -> Watch<K> {
        // Longer ones are not accepted, and none at all would be forever.
        let seconds = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        self.config = self.config.timeout(seconds.clamp(1, LONGEST_WATCH));
        self
    }

    /// Lists again after every failure, instead of going on where the watch ended: a server that was away may have come
    /// back from an older copy, and not every server says so to a watch that is ahead of it. For short lists.
    pub fn listing_after_failures(mut self) -> Watch<K> {
        self.relist_on_error = true;
        self
    }

    /// Takes a kind that must not be listed for one of which there is nothing, until that is allowed.
    pub fn refused_means_none(mut self) -> Watch<K> {
        self.refusable = true;
        self
    }

    /// Says each time that the server did not answer, instead of logging it.
    pub fn reporting(mut self, on_failure: impl Fn() + Send + Sync + 'static) -> Watch<K> {
        self.on_failure = Some(Box::new(on_failure));
        self
    }

    /// Counts failures together with those of others that talk to the same server.
    pub fn logging(mut self, log: &FailureLog) -> Watch<K> {
        self.log = log.clone();
        self
    }

    #[cfg(test)]
    pub(super) fn of_at_most(mut self, objects: usize) -> Watch<K> {
        self.known = Known::of_at_most(objects);
        self
    }

    /// Names the task that runs it.
    pub fn name(&self) -> String {
        format!("watch of {}", resource::<K>())
    }

    /// Watches until nobody listens any more. Errors are logged and tried again.
    pub async fn run(mut self) {
        if let Some(guard) = &mut self.guard {
            guard.logging(&self.log);
        }
        if self.watch().await.is_err() {
            tracing::debug!(kind = %K::kind(&()), "the watch ends: nobody listens");
        }
    }

    /// What the server says, beginning with a list.
    fn listing(&self) -> BoxStream<'static, watcher::Result<Event<Received<K>>>> {
        watcher::watcher(self.api.clone(), self.config.clone()).boxed()
    }

    /// The error of an event about another object although there are as many as can be.
    fn too_many(
        &self,
        event: &watcher::Result<Event<Received<K>>>,
        listed: Option<&Places>,
    ) -> Option<watcher::Error> {
        let is_full = match event {
            Ok(Event::InitApply(object)) => self.known.is_list_full(listed, object.meta()),
            Ok(Event::Apply(object)) => self.known.is_full(object.meta()),
            _ => false,
        };
        is_full.then(|| self.known.too_many(&self.resource))
    }

    async fn watch(&mut self) -> Result<(), Closed> {
        let resource: &str = &self.resource.clone();
        let mut listed: Option<Places> = None;
        let mut pause = SHORTEST_PAUSE;
        let mut served = true;
        let mut stream = self.listing();
        loop {
            let release = self.guard.as_ref().and_then(CrdGuard::release_at);
            let look = self.guard.as_ref().and_then(CrdGuard::look_at);
            let ask = self.guard.as_ref().and_then(CrdGuard::ask_at);
            let event = tokio::select! {
                event = stream.next() => event,
                () = until(release) => {
                    self.release().await?;
                    continue;
                }
                () = until(ask) => {
                    self.judge_waiting().await?;
                    continue;
                }
                () = until(look) => {
                    if let Some(guard) = &mut self.guard && guard.is_settled().await {
                        stream = self.listing();
                    }
                    continue;
                }
            };
            let Some(event) = event else { return Ok(()) };
            let too_many = self.too_many(&event, listed.as_ref());
            // What is not passed on is not known, and only another list can end that.
            let is_too_much = too_many.is_some();
            match too_many.map_or(event, Err) {
                Ok(event) => {
                    // That a list is tried is no answer yet, and a list that begins may fail on every later page.
                    if !matches!(event, Event::Init | Event::InitApply(_)) {
                        pause = SHORTEST_PAUSE;
                    }
                    self.log_answer(resource, &event);
                    if !served {
                        if matches!(event, Event::Init) {
                            // Whether the kind is served is not known before the list is answered.
                            continue;
                        }
                        served = true;
                        self.log.is_served(resource, &K::version(&()));
                        self.pass_on(Event::Init, &mut listed).await?;
                    }
                    self.pass_on(event, &mut listed).await?;
                }
                Err(error) if is_unserved(&error) => {
                    if std::mem::take(&mut served) {
                        self.log.is_unserved(resource, &K::version(&()));
                        self.lapse().await?;
                    }
                    tokio::time::sleep(UNSERVED_PAUSE).await;
                    self.log.say_unserved();
                    // To go on where the watch ended would not say what went with the kind, nor that all is known.
                    stream = self.listing();
                }
                Err(error) if self.refusable && is_forbidden(&error) => {
                    if std::mem::take(&mut served) {
                        log_forbidden(resource);
                        self.lapse().await?;
                    }
                    tokio::time::sleep(LONGEST_PAUSE).await;
                    stream = self.listing();
                }
                Err(error) => {
                    self.log_failure(resource, &error);
                    tokio::time::sleep(pause).await;
                    pause = longer(pause, &error);
                    // A list tells at once when a right is granted; a watch of a kind that rests tells nothing.
                    if self.relist_on_error || is_too_much || is_refused(&error) {
                        stream = self.listing();
                    }
                }
            }
        }
    }

    async fn judge_waiting(&mut self) -> Result<(), Closed> {
        let waiting = self.guard.as_mut().map(CrdGuard::waiting).unwrap_or_default();
        self.judge(waiting).await
    }

    /// Nothing is known of the kind until the kind can be listed.
    async fn lapse(&mut self) -> Result<(), Closed> {
        self.was_not_served = true;
        self.send(Delta::NotServed).await
    }

    fn log_answer(&self, resource: &str, event: &Event<Received<K>>) {
        match event {
            Event::Init => {}
            Event::Apply(_) | Event::Delete(_) => self.log.change_came(resource),
            _ => self.log.reading_works(resource),
        }
    }

    fn log_failure(&self, resource: &str, error: &watcher::Error) {
        match &self.on_failure {
            Some(on_failure) => on_failure(),
            None => self.log.watch_failed(resource, error),
        }
    }

    async fn pass_on(
        &mut self,
        event: Event<Received<K>>,
        listed: &mut Option<Places>,
    ) -> Result<(), Closed> {
        match event {
            Event::Init => {
                *listed = Some(Places::new());
                self.send(Delta::ListStarted).await
            }
            Event::InitApply(object) => {
                let key = Key::of(object.meta());
                if let Some(listed) = listed {
                    listed.insert((key.namespace.clone(), key.name.clone()), key.uid.clone());
                }
                self.applied(key, object).await
            }
            Event::InitDone => {
                let listed = listed.take().unwrap_or_default();
                let gone = self.known.missing_in(&listed);
                // At the start there is nothing to compare with: half a fleet may be gone already.
                if let Some(guard) = &mut self.guard
                    && (self.first || listed.is_empty() || !gone.is_empty())
                    && !guard.crd_exists().await
                {
                    // A server may answer for a kind whose definition has just gone, and all objects with it.
                    guard.look_again();
                    for key in gone {
                        self.known.remove(&key);
                        self.hold(key).await?;
                    }
                    return self.send(Delta::NotServed).await;
                }
                let was_not_served = std::mem::take(&mut self.was_not_served);
                for key in gone {
                    self.known.remove(&key);
                    self.log.can_read(&self.resource, &key.place());
                    // What went while the kind was not served went with its definition.
                    match was_not_served {
                        true => self.hold(key).await?,
                        false => self.send(Delta::Deleted(key)).await?,
                    }
                }
                self.guard.iter_mut().for_each(CrdGuard::listed);
                if std::mem::take(&mut self.first)
                    && let Some(guard) = &self.guard
                {
                    self.send(Delta::CrdCreated(guard.founded())).await?;
                }
                self.send(Delta::Synced).await
            }
            Event::Apply(object) => {
                let key = Key::of(object.meta());
                self.applied(key, object).await
            }
            Event::Delete(object) => self.deleted(Key::of(object.meta())).await,
        }
    }

    async fn applied(&mut self, key: Key, object: Received<K>) -> Result<(), Closed> {
        self.guard.iter_mut().for_each(|guard| guard.is_back(&key));
        let delta = match object {
            Received::Readable(object) => {
                self.log.can_read(&self.resource, &key.place());
                Delta::Applied(Arc::new(object))
            }
            Received::Unreadable(object) => self.unreadable(*object),
        };
        self.known.insert(key);
        self.send(delta).await
    }

    fn unreadable(&self, object: Unreadable) -> Delta<K> {
        self.log
            .cannot_read(&self.resource, &object.place(), &object.to_string());
        Delta::Unreadable(Arc::new(object))
    }

    async fn deleted(&mut self, key: Key) -> Result<(), Closed> {
        self.log.can_read(&self.resource, &key.place());
        self.known.remove(&key);
        if self.guard.as_mut().is_some_and(|guard| guard.waits(&key)) {
            return Ok(());
        }
        self.judge(vec![key]).await
    }

    /// Reports deletions, or holds them back.
    async fn judge(&mut self, gone: Vec<Key>) -> Result<(), Closed> {
        let sound = match &mut self.guard {
            Some(guard) => guard.crd_exists().await,
            None => true,
        };
        for key in gone {
            match sound {
                true => self.send(Delta::Deleted(key)).await?,
                false => self.hold(key).await?,
            }
        }
        Ok(())
    }

    /// Holds a deletion back. Without a guard there is nobody to do so.
    async fn hold(&mut self, key: Key) -> Result<(), Closed> {
        let Some(guard) = &mut self.guard else {
            return self.send(Delta::Deleted(key)).await;
        };
        if guard.hold(key.clone()) {
            self.send(Delta::NotServed).await?;
        }
        self.send(Delta::DeletionHeld(key)).await
    }

    async fn release(&mut self) -> Result<(), Closed> {
        let Some(guard) = &mut self.guard else {
            return Ok(());
        };
        for key in guard.release().await {
            self.send(Delta::Deleted(key)).await?;
        }
        Ok(())
    }

    async fn send(&self, delta: Delta<K>) -> Result<(), Closed> {
        for subscriber in &self.subscribers {
            subscriber.send(delta.clone()).await?;
        }
        Ok(())
    }
}

/// The resource with its group, as in RBAC rules.
fn resource<K: Resource<DynamicType = ()>>() -> String {
    let resource = format!("{}.{}", K::plural(&()), K::group(&()));
    resource.trim_end_matches('.').to_owned()
}

fn log_forbidden(resource: &str) {
    tracing::warn!(
        "is not allowed to list {resource}, and goes on as if there were none; accepted: a role with get, list, watch and patch of \
         {resource} and get and patch of its status"
    );
}

/// The pause before the next attempt.
fn longer(pause: Duration, error: &watcher::Error) -> Duration {
    (pause * 2).min(match is_unauthorized(error) {
        true => LONGEST_PAUSE_REFUSED,
        false => LONGEST_PAUSE,
    })
}

/// Whether the server says that it does not know the kind.
fn is_unserved(error: &watcher::Error) -> bool {
    let error = match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => error,
        _ => return false,
    };
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Whether the server knows who asks, and does not allow it.
fn is_forbidden(error: &watcher::Error) -> bool {
    let error = match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => error,
        _ => return false,
    };
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

/// Whether the server does not accept the credentials.
fn is_unauthorized(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => {
            matches!(error, kube::Error::Api(status) if status.code == 401)
        }
        watcher::Error::WatchError(status) => status.code == 401,
        watcher::Error::NoResourceVersion => false,
    }
}

/// Whether the server does not allow the watch.
fn is_refused(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchStartFailed(kube::Error::Api(status)) if matches!(status.code, 401 | 403))
}

async fn until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::client::Body;
    use portolan_api::cluster::ManagedCluster;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_cannot_be_reached_is_asked_less_and_less_often() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let service = tower::service_fn(move |_: http::Request<Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::ready(Err::<http::Response<Body>, tower::BoxError>("gone".into()))
        });
        let watch = Watch::<ManagedCluster>::new(Client::new(service, "default"), Vec::new());
        let minutes = tokio::time::timeout(Duration::from_secs(600), watch.run()).await;
        assert!(minutes.is_err(), "it ended");
        // A doubling wait of at most 15 seconds; without it there would be thousands.
        let asked = asked.load(Ordering::SeqCst);
        assert!((20..100).contains(&asked), "{asked}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_refuses_the_credentials_is_asked_twice_a_minute() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let service = tower::service_fn(move |_: http::Request<Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            let status = serde_json::json!({ "kind": "Status", "apiVersion": "v1", "metadata": {},
                "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized", "code": 401 });
            let mut response = http::Response::new(Body::from(status.to_string().into_bytes()));
            *response.status_mut() = http::StatusCode::UNAUTHORIZED;
            std::future::ready(Ok::<_, tower::BoxError>(response))
        });
        let watch = Watch::<ManagedCluster>::new(Client::new(service, "default"), Vec::new());
        let hour = tokio::time::timeout(Duration::from_secs(3600), watch.run()).await;
        assert!(hour.is_err(), "it ended");
        let asked = asked.load(Ordering::SeqCst);
        assert!((100..=130).contains(&asked), "{asked}");
    }
}
