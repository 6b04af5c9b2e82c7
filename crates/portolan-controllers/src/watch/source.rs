use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::guard::Guard;
use super::lean::Lean;
use super::{Delta, Key};

/// How long to wait before asking again for a kind that is not served.
const UNSERVED_PAUSE: Duration = Duration::from_secs(1);
/// Objects in one answer of a list. All of them are in memory at once, and what is given back the system rarely gets.
const PAGE: u32 = 100;
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Where the deltas of a watch go. A full channel slows the watch down; a closed one ends it.
pub struct Feed<K>(Box<dyn Fn(Delta<K>) -> Sending + Send + Sync>);

type Sending = futures::future::BoxFuture<'static, Result<(), Closed>>;

/// Nobody listens any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Closed;

impl<K: Send + Sync + 'static> Feed<K> {
    /// Feeds a channel of messages that deltas are turned into.
    pub fn new<M: Send + 'static>(
        sender: mpsc::Sender<M>,
        wrap: impl Fn(Delta<K>) -> M + Send + Sync + 'static,
    ) -> Feed<K> {
        Feed(Box::new(move |delta| {
            let (sender, message) = (sender.clone(), wrap(delta));
            Box::pin(async move { sender.send(message).await.map_err(|_| Closed) })
        }))
    }
}

/// A watch of one kind, for any number of listeners.
pub struct Source<K> {
    api: Api<Lean<K>>,
    config: watcher::Config,
    feeds: Vec<Feed<K>>,
    guard: Option<Guard>,
    /// Whether the kind was not served since the last complete list.
    lapsed: bool,
    /// What was reported to be there, to find out what a new list no longer has.
    known: HashMap<(String, String), String>,
}

impl<K> Source<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// A watch of everything that `client` sees.
    pub fn new(client: Client, feeds: Vec<Feed<K>>) -> Source<K> {
        Source::of(Api::all(client), feeds)
    }

    /// A watch of one namespace.
    pub fn namespaced(client: Client, namespace: &str, feeds: Vec<Feed<K>>) -> Source<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
    {
        Source::of(Api::namespaced(client, namespace), feeds)
    }

    fn of(api: Api<Lean<K>>, feeds: Vec<Feed<K>>) -> Source<K> {
        Source {
            api,
            config: watcher::Config::default().page_size(PAGE),
            feeds,
            guard: None,
            lapsed: false,
            known: HashMap::new(),
        }
    }

    /// Only objects of this name, whatever their namespace.
    pub fn named(mut self, name: &str) -> Source<K> {
        self.config = self.config.fields(&format!("metadata.name={name}"));
        self
    }

    /// Does not take objects for deleted that go with their CustomResourceDefinition.
    pub fn guarded(mut self, client: Client) -> Source<K> {
        self.guard = Some(Guard::of::<K>(client));
        self
    }

    /// Watches until nobody listens any more. Errors are logged and tried again.
    pub async fn run(mut self) {
        if self.watch().await.is_err() {
            tracing::debug!(kind = %K::kind(&()), "the watch ends: nobody listens");
        }
    }

    async fn watch(&mut self) -> Result<(), Closed> {
        let mut listed: Option<HashMap<(String, String), String>> = None;
        let mut pause = SHORTEST_PAUSE;
        let mut served = true;
        let mut stream = watcher::watcher(self.api.clone(), self.config.clone()).boxed();
        loop {
            let release = self.guard.as_ref().and_then(Guard::release_at);
            let look = self.guard.as_ref().and_then(Guard::look_at);
            let event = tokio::select! {
                event = stream.next() => event,
                () = until(release) => {
                    self.release().await?;
                    continue;
                }
                () = until(look) => {
                    if let Some(guard) = &mut self.guard && guard.is_settled().await {
                        stream = watcher::watcher(self.api.clone(), self.config.clone()).boxed();
                    }
                    continue;
                }
            };
            let Some(event) = event else { return Ok(()) };
            match event {
                Ok(event) => {
                    pause = SHORTEST_PAUSE;
                    if !served {
                        if matches!(event, Event::Init) {
                            // That a list is tried is no news; whether the kind is served is not known before it is
                            // answered.
                            continue;
                        }
                        served = true;
                        tracing::info!(kind = %K::kind(&()), "the kind is served now");
                        self.pass_on(Event::Init, &mut listed).await?;
                    }
                    self.pass_on(event, &mut listed).await?;
                }
                Err(error) if is_unserved(&error) => {
                    if served {
                        served = false;
                        tracing::warn!(
                            kind = %K::kind(&()), group = %K::group(&()), version = %K::version(&()),
                            "the API server does not serve this kind; install its CustomResourceDefinition \
                             (portolan crds | kubectl apply -f -, or --install-crds)"
                        );
                        self.lapsed = true;
                        self.tell(Delta::Unserved).await?;
                    }
                    tokio::time::sleep(UNSERVED_PAUSE).await;
                    // A kind that comes back is listed anew: continuing where the watch ended would tell neither what
                    // went with the kind nor that all is known again.
                    stream = watcher::watcher(self.api.clone(), self.config.clone()).boxed();
                }
                Err(error) => {
                    tracing::warn!(kind = %K::kind(&()), error = %crate::request::describe(&error), ?pause, "the watch failed and is tried again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn pass_on(
        &mut self,
        event: Event<Lean<K>>,
        listed: &mut Option<HashMap<(String, String), String>>,
    ) -> Result<(), Closed> {
        match event {
            Event::Init => {
                *listed = Some(HashMap::new());
                self.tell(Delta::Listing).await
            }
            Event::InitApply(Lean(object)) => {
                let key = Key::of(object.meta());
                if let Some(listed) = listed {
                    listed.insert((key.namespace.clone(), key.name.clone()), key.uid.clone());
                }
                self.applied(key, object).await
            }
            Event::InitDone => {
                let listed = listed.take().unwrap_or_default();
                let gone: Vec<Key> = self
                    .known
                    .iter()
                    .filter(|(key, _)| !listed.contains_key(*key))
                    .map(|((namespace, name), uid)| Key {
                        namespace: namespace.clone(),
                        name: name.clone(),
                        uid: uid.clone(),
                    })
                    .collect();
                if let Some(guard) = &mut self.guard
                    && (listed.is_empty() || !gone.is_empty())
                    && !guard.is_sound().await
                {
                    // A server may answer for a kind whose definition has just gone, and all objects with it.
                    for key in gone {
                        self.known.remove(&(key.namespace.clone(), key.name.clone()));
                        guard.hold(key);
                    }
                    guard.look_again();
                    return self.tell(Delta::Unserved).await;
                }
                let lapsed = std::mem::take(&mut self.lapsed);
                for key in gone {
                    match &mut self.guard {
                        // It went while the kind was not served, and so with its definition.
                        Some(guard) if lapsed => {
                            self.known.remove(&(key.namespace.clone(), key.name.clone()));
                            guard.hold(key);
                        }
                        _ => self.deleted(key).await?,
                    }
                }
                self.guard.iter_mut().for_each(Guard::listed);
                self.tell(Delta::Synced).await
            }
            Event::Apply(Lean(object)) => {
                let key = Key::of(object.meta());
                self.applied(key, object).await
            }
            Event::Delete(object) => self.deleted(Key::of(object.meta())).await,
        }
    }

    async fn applied(&mut self, key: Key, object: K) -> Result<(), Closed> {
        self.guard.iter_mut().for_each(|guard| guard.is_back(&key));
        self.known.insert((key.namespace, key.name), key.uid);
        self.tell(Delta::Applied(Arc::new(object))).await
    }

    async fn deleted(&mut self, key: Key) -> Result<(), Closed> {
        self.known.remove(&(key.namespace.clone(), key.name.clone()));
        if let Some(guard) = &mut self.guard
            && !guard.is_sound().await
        {
            let first = guard.hold(key);
            return if first {
                self.tell(Delta::Unserved).await
            } else {
                Ok(())
            };
        }
        self.tell(Delta::Deleted(key)).await
    }

    async fn release(&mut self) -> Result<(), Closed> {
        let released = self.guard.as_mut().map(Guard::release).unwrap_or_default();
        for key in released {
            self.tell(Delta::Deleted(key)).await?;
        }
        Ok(())
    }

    async fn tell(&self, delta: Delta<K>) -> Result<(), Closed> {
        for feed in &self.feeds {
            (feed.0)(delta.clone()).await?;
        }
        Ok(())
    }
}

/// Whether the server says that it does not know the kind.
fn is_unserved(error: &watcher::Error) -> bool {
    let error = match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => error,
        _ => return false,
    };
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

async fn until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
