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
use portolan_runtime::failure::error_chain;
use portolan_runtime::logging::FailureLog;
use portolan_runtime::tasks::Tasks;
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
    /// The works that each event is sent to.
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
            let held = followed.iter().map(|(watched, followed)| {
                let works = followed.works.lock().unwrap_or_else(PoisonError::into_inner);
                (watched.clone(), works.clone())
            });
            let spare = match followed.len() >= MOST {
                true => spare(&held.collect(), work, user),
                false => None,
            };
            if let Some(spare) = spare {
                tracing::debug!(object = %spare.0, most = MOST, "the watch of the object ends: others have fewer; it is read periodically instead");
                followed.remove(&spare);
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

/// The watch that makes room for another one of a work, if the others have more than their share: first whose executor has the
/// most, then which work of that executor. It takes a difference of two, or works would take watches from one another for ever.
fn spare(held: &BTreeMap<Watched, BTreeSet<WorkKey>>, work: &WorkKey, user: Option<&str>) -> Option<Watched> {
    let mut by_user: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for (_, user) in held.keys() {
        *by_user.entry(user.as_deref()).or_default() += 1;
    }
    let own = by_user.get(&user).copied().unwrap_or_default();
    let largest = by_user.iter().max_by_key(|(_, count)| **count)?;
    let from = match *largest.1 > own + 1 {
        true => *largest.0,
        false => user,
    };
    let of_user = || held.iter().filter(|((_, user), _)| user.as_deref() == from);
    let mut by_work: BTreeMap<&WorkKey, usize> = BTreeMap::new();
    for key in of_user().flat_map(|(_, works)| works) {
        *by_work.entry(key).or_default() += 1;
    }
    let own = by_work.get(work).copied().unwrap_or_default();
    let (largest, count) = by_work.iter().max_by_key(|(_, count)| **count)?;
    if from == user && *count <= own + 1 {
        return None;
    }
    // One that tells few works is missed by few.
    let of_work = of_user().filter(|(_, works)| works.contains(*largest));
    of_work
        .min_by_key(|(_, works)| works.len())
        .map(|(watched, _)| watched.clone())
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
                if sender.send(Input::ObjectChanged(work)).await.is_err() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::WorkKind;

    fn key(name: &str) -> WorkKey {
        WorkKey {
            kind: WorkKind::ManifestWork,
            name: name.to_owned(),
        }
    }

    /// As many watches as there are, had by works of these executors as far as they get them.
    fn take(asked: &[(&str, Option<&str>, usize)]) -> BTreeMap<String, usize> {
        let mut held: BTreeMap<Watched, BTreeSet<WorkKey>> = BTreeMap::new();
        // Each asks again at each look.
        for _ in 0..3 {
            for (work, user, count) in asked {
                for number in 0..*count {
                    let id = ObjectId {
                        name: format!("{work}-{number}"),
                        ..ObjectId::default()
                    };
                    let watched = (id, user.map(str::to_owned));
                    if held.contains_key(&watched) {
                        continue;
                    }
                    if held.len() >= MOST
                        && let Some(spare) = spare(&held, &key(work), *user)
                    {
                        held.remove(&spare);
                    }
                    if held.len() < MOST {
                        held.insert(watched, BTreeSet::from([key(work)]));
                    }
                }
            }
        }
        let mut counts = BTreeMap::new();
        for work in held.values().flatten() {
            *counts.entry(work.name.clone()).or_default() += 1;
        }
        counts
    }

    #[test]
    fn one_work_does_not_take_the_watches_of_all_others() {
        let counts = take(&[("greedy", None, 500), ("one", None, 3), ("other", None, 1)]);
        assert_eq!((counts["one"], counts["other"]), (3, 1));
        assert_eq!(counts["greedy"], MOST - 4);
        let counts = take(&[("a", None, 500), ("b", None, 500)]);
        assert!(counts["a"].abs_diff(counts["b"]) <= 1, "{counts:?}");
    }

    #[test]
    fn one_executor_does_not_take_the_watches_of_others_with_many_works() {
        let names: Vec<String> = (0..100).map(|number| format!("greedy-{number}")).collect();
        let mut asked: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), Some("greedy"), 2))
            .collect();
        asked.push(("one", Some("modest"), 20));
        asked.push(("other", None, 5));
        let counts = take(&asked);
        assert_eq!((counts["one"], counts["other"]), (20, 5), "{counts:?}");
        assert_eq!(counts.values().sum::<usize>(), MOST);
    }
}
