//! Objects that are looked at as they change: `feedbackScrapeType: Watch`.
//!
//! A watch says only that there is something to see; the look itself is the same as any other. So a watch that is refused,
//! or one too many, costs nothing but time: the object is looked at as often as all others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use http::header::HeaderValue;
use kube::api::{ApiResource, DynamicObject};
use kube::client::Body;
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use portolan_controllers::failure::error_chain;
use portolan_controllers::logging::FailureLog;
use portolan_controllers::tasks::Tasks;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::Input;
use crate::spoke::{IMPERSONATE, Place, Problem};
use crate::work::{ObjectId, Target, WorkKey};

/// Watches that one agent has open at the same time: each is a connection, and a server has many agents.
const MOST: usize = 64;
/// Events of an object that count as one if they have come together.
const AT_ONCE: usize = 64;
/// How long an object is left alone after it was looked at: where another manager answers every write of ours, there would
/// be no end and no pause.
const PAUSE: Duration = Duration::from_millis(250);

/// The watches of one agent. All end with it.
pub(crate) struct Watches {
    spoke: Client,
    sender: mpsc::Sender<Input>,
    log: FailureLog,
    tasks: Tasks,
    followed: Mutex<BTreeMap<Watched, Followed>>,
}

/// An object, and in whose name it is watched if not in the agent's own.
type Watched = (ObjectId, Option<String>);

struct Followed {
    /// Who is told.
    works: Arc<Mutex<BTreeSet<WorkKey>>>,
    watch: AbortHandle,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl Watches {
    pub(crate) fn new(spoke: Client, sender: mpsc::Sender<Input>, log: FailureLog, tasks: Tasks) -> Watches {
        Watches {
            spoke,
            sender,
            log,
            tasks,
            followed: Mutex::new(BTreeMap::new()),
        }
    }

    /// From now on the work is told of changes of these objects, and of no others. They are watched in the name of `user`.
    pub(super) fn follow<'t>(
        &self,
        work: &WorkKey,
        user: Option<&str>,
        targets: impl Iterator<Item = &'t Target>,
    ) {
        let wanted: BTreeMap<Watched, &Target> = targets
            .map(|target| ((target.id.clone(), user.map(str::to_owned)), target))
            .collect();
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.retain(|id, followed| {
            let mut works = followed.works.lock().unwrap_or_else(PoisonError::into_inner);
            if !wanted.contains_key(id) {
                works.remove(work);
            }
            // One that was refused is tried again: the right may have been granted.
            !works.is_empty() && !followed.watch.is_finished()
        });
        for (watched, target) in wanted {
            if let Some(followed) = followed.get(&watched) {
                let mut works = followed.works.lock().unwrap_or_else(PoisonError::into_inner);
                works.insert(work.clone());
                continue;
            }
            if followed.len() >= MOST {
                tracing::debug!(object = %target.id, most = MOST, "the limit of watches is reached; the object is read periodically instead");
                continue;
            }
            let spoke = match user.map(|user| in_the_name_of(&self.spoke, user)) {
                None => self.spoke.clone(),
                Some(Some(spoke)) => spoke,
                // The name of a service account can always be sent.
                Some(None) => continue,
            };
            let works = Arc::new(Mutex::new(BTreeSet::from([work.clone()])));
            let sender = self.sender.clone();
            let watch = watch(spoke, target, works.clone(), sender, self.log.clone());
            // The server may refuse the watch for good.
            let watch = self
                .tasks
                .spawn_finite("watch of an object", watch)
                .abort_handle();
            followed.insert(watched, Followed { works, watch });
        }
    }
}

/// A client all of whose requests are made in another's name.
fn in_the_name_of(spoke: &Client, user: &str) -> Option<Client> {
    let user = HeaderValue::from_str(user).ok()?;
    let client = spoke.clone();
    let service = tower::service_fn(move |mut request: http::Request<Body>| {
        request.headers_mut().insert(IMPERSONATE, user.clone());
        let client = client.clone();
        async move { client.send(request).await.map_err(tower::BoxError::from) }
    });
    Some(Client::new(service, spoke.default_namespace()))
}

/// Tells the works each time the object changes, until the server will not have it.
fn watch(
    spoke: Client,
    target: &Target,
    works: Arc<Mutex<BTreeSet<WorkKey>>>,
    sender: mpsc::Sender<Input>,
    log: FailureLog,
) -> impl Future<Output = ()> + use<> {
    let place = Place::of(target);
    let resource = ApiResource {
        group: place.id.group.clone(),
        version: place.version.clone(),
        api_version: target.manifest.api_version(),
        kind: target.kind.clone(),
        plural: place.id.resource.clone(),
    };
    let api: Api<PartialObjectMeta<DynamicObject>> = match place.id.namespace.as_str() {
        "" => Api::all_with(spoke, &resource),
        namespace => Api::namespaced_with(spoke, namespace, &resource),
    };
    let config = watcher::Config::default().fields(&format!("metadata.name={}", place.id.name));
    async move {
        let mut events = Box::pin(
            watcher::watcher(api, config)
                .default_backoff()
                .ready_chunks(AT_ONCE),
        );
        while let Some(events) = events.next().await {
            let mut changed = false;
            for event in events {
                match event {
                    Ok(watcher::Event::Init | watcher::Event::InitDone) => {}
                    Ok(_) => changed = true,
                    Err(error) if is_refused(&error) => {
                        log.watch_failed(&place.id.kind(), &error);
                        tracing::debug!(object = %place.id, "the object cannot be watched and is read periodically instead");
                        return;
                    }
                    Err(error) => {
                        let error = error_chain(&error);
                        tracing::debug!(object = %place.id, error, "the watch of the object ended and is started again");
                    }
                }
            }
            if !changed {
                continue;
            }
            // What changed is read by the look that follows.
            let told = works.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for work in told {
                if sender.send(Input::Stirred(work)).await.is_err() {
                    return;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Whether it makes no sense to ask again.
fn is_refused(error: &watcher::Error) -> bool {
    let status = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Problem::of(error),
        watcher::Error::WatchError(status) => return status.code == 403,
        watcher::Error::NoResourceVersion => return false,
    };
    matches!(status, Problem::Refused(_))
}
