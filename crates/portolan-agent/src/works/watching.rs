//! Objects that are looked at as they change: `feedbackScrapeType: Watch`.
//!
//! A watch says only that there is something to see; the look itself is the same as any other. So a watch that is refused,
//! or one too many, costs nothing but time: the object is looked at as often as all others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{ApiResource, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use portolan_controllers::failure::error_chain;
use portolan_controllers::logging::FailureLog;
use portolan_controllers::tasks::Tasks;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::Input;
use crate::spoke::{Place, Problem};
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
    followed: Mutex<BTreeMap<ObjectId, Followed>>,
}

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

    /// From now on the work is told of changes of these objects, and of no others.
    pub(super) fn follow<'t>(&self, work: &WorkKey, targets: impl Iterator<Item = &'t Target>) {
        let wanted: BTreeMap<&ObjectId, &Target> = targets.map(|target| (&target.id, target)).collect();
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.retain(|id, followed| {
            let mut works = followed.works.lock().unwrap_or_else(PoisonError::into_inner);
            if !wanted.contains_key(id) {
                works.remove(work);
            }
            !works.is_empty()
        });
        for (id, target) in wanted {
            if let Some(followed) = followed.get(id) {
                let mut works = followed.works.lock().unwrap_or_else(PoisonError::into_inner);
                works.insert(work.clone());
                continue;
            }
            if followed.len() >= MOST {
                tracing::debug!(object = %id, most = MOST, "the limit of watches is reached; the object is read periodically instead");
                continue;
            }
            let works = Arc::new(Mutex::new(BTreeSet::from([work.clone()])));
            let sender = self.sender.clone();
            let watch = watch(
                self.spoke.clone(),
                target,
                works.clone(),
                sender,
                self.log.clone(),
            );
            // The server may refuse the watch for good.
            let watch = self
                .tasks
                .spawn_finite("watch of an object", watch)
                .abort_handle();
            followed.insert(id.clone(), Followed { works, watch });
        }
    }
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
