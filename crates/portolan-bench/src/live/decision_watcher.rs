//! What a plain watcher sees of the decisions: the consumers' side of the latency.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::StreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use portolan_api::cluster::{Placement, PlacementDecision};
use portolan_api::labels::{multicluster as kep, ocm};
use portolan_api::multicluster;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::server::Server;
use crate::clock::now;

/// Namespace and name of a placement.
pub(super) type Key = (String, String);

/// The state of the watches, and whoever waits for a change of it.
#[derive(Debug)]
pub(super) struct DecisionWatcher {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    seen: Mutex<Seen>,
    changed: Notify,
}

/// The decisions as they were last seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    ocm: HashMap<Key, Objects>,
    kep: HashMap<Key, Objects>,
    /// How many clusters a placement's status says it has.
    status: HashMap<Key, i32>,
    synced: usize,
}

/// Clusters by object.
type Objects = BTreeMap<String, Vec<String>>;

impl Seen {
    /// Whether both kinds hold exactly so many clusters, and the one in question or not.
    pub(super) fn shows(&self, key: &Key, clusters: usize, member: Option<(&str, bool)>) -> bool {
        [&self.ocm, &self.kep].into_iter().all(|kind| {
            let Some(objects) = kind.get(key) else {
                return false;
            };
            let entries = || objects.values().flatten();
            entries().count() == clusters
                && member.is_none_or(|(name, is)| entries().any(|entry| entry == name) == is)
        })
    }

    /// Whether the status says so too.
    pub(super) fn reports(&self, key: &Key, clusters: usize) -> bool {
        self.status
            .get(key)
            .is_some_and(|count| usize::try_from(*count) == Ok(clusters))
    }

    pub(super) fn holds(&self, key: &Key, cluster: &str) -> bool {
        let objects = self.kep.get(key);
        objects.is_some_and(|objects| objects.values().flatten().any(|entry| entry == cluster))
    }

    /// How many slices a placement has.
    pub(super) fn slices(&self, key: &Key) -> usize {
        self.kep.get(key).map_or(0, BTreeMap::len)
    }

    /// All OCM objects and all slices.
    pub(super) fn objects(&self) -> (usize, usize) {
        let count = |kind: &HashMap<Key, Objects>| kind.values().map(BTreeMap::len).sum();
        (count(&self.ocm), count(&self.kep))
    }

    /// Whether nothing is decided.
    pub(super) fn is_empty(&self) -> bool {
        self.objects() == (0, 0) && self.status.is_empty()
    }

    /// How often each cluster is chosen.
    pub(super) fn shares(&self) -> BTreeMap<&str, usize> {
        let mut shares = BTreeMap::new();
        for cluster in self.kep.values().flat_map(BTreeMap::values).flatten() {
            *shares.entry(cluster.as_str()).or_default() += 1;
        }
        shares
    }
}

impl DecisionWatcher {
    /// Watches both kinds of decisions and the placements of all namespaces.
    pub(super) async fn open(server: &Server) -> anyhow::Result<DecisionWatcher> {
        let shared = Arc::<Shared>::default();
        let tasks = vec![
            follow(server, &shared, |seen, object: &PlacementDecision, there| {
                let status = object.status.iter().flat_map(|status| &status.decisions);
                let clusters = status.map(|entry| entry.cluster_name.clone()).collect();
                put(&mut seen.ocm, object, ocm::PLACEMENT, there.then_some(clusters));
            }),
            follow(
                server,
                &shared,
                |seen, object: &multicluster::PlacementDecision, there| {
                    let entries = object.decisions.iter().filter_map(|entry| entry.profile(""));
                    let clusters = entries.map(|(_, name)| name.to_owned()).collect();
                    put(
                        &mut seen.kep,
                        object,
                        kep::DECISION_KEY,
                        there.then_some(clusters),
                    );
                },
            ),
            follow(server, &shared, |seen, placement: &Placement, there| {
                let status = placement.status.as_ref().filter(|_| there);
                match status.filter(|status| !status.conditions.is_empty()) {
                    Some(status) => seen
                        .status
                        .insert(key(placement), status.number_of_selected_clusters),
                    None => seen.status.remove(&key(placement)),
                };
            }),
        ];
        let eye = DecisionWatcher { shared, tasks };
        let all = eye.tasks.len();
        eye.until("the bench's own watches are complete", |seen| seen.synced >= all)
            .await?;
        Ok(eye)
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is seen and tells when it was.
    pub(super) async fn until(&self, what: &str, is: impl Fn(&Seen) -> bool) -> anyhow::Result<Instant> {
        let waiting = async {
            loop {
                let changed = self.shared.changed.notified();
                if is(&self.seen()) {
                    return now();
                }
                changed.await;
            }
        };
        let seen = tokio::time::timeout(SEEN_TIMEOUT, waiting).await;
        seen.with_context(|| format!("waited {} s in vain: {what}", SEEN_TIMEOUT.as_secs()))
    }
}

/// Nothing that is measured takes nearly as long.
const SEEN_TIMEOUT: Duration = Duration::from_secs(300);

impl Drop for DecisionWatcher {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn follow<K>(
    server: &Server,
    shared: &Arc<Shared>,
    see: impl Fn(&mut Seen, &K, bool) + Send + 'static,
) -> JoinHandle<()>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let (api, shared) = (Api::<K>::all(server.client.clone()), shared.clone());
    tokio::spawn(async move {
        let mut events = watcher(api, watcher::Config::default()).boxed();
        while let Some(event) = events.next().await {
            {
                let mut seen = shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
                match &event {
                    Ok(Event::Apply(object) | Event::InitApply(object)) => see(&mut seen, object, true),
                    Ok(Event::Delete(object)) => see(&mut seen, object, false),
                    Ok(Event::InitDone) => seen.synced += 1,
                    // An interrupted watch goes on where it was; what was missed arrives late and is measured so.
                    Ok(Event::Init) | Err(_) => {}
                }
            }
            shared.changed.notify_one();
        }
    })
}

fn key(object: &impl Resource<DynamicType = ()>) -> Key {
    let metadata = object.meta();
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    (text(&metadata.namespace), text(&metadata.name))
}

fn put(
    objects: &mut HashMap<Key, Objects>,
    object: &impl Resource<DynamicType = ()>,
    owner: &str,
    clusters: Option<Vec<String>>,
) {
    let (namespace, name) = key(object);
    let labels = object.meta().labels.iter().flatten();
    let mut owner = labels
        .filter(|(label, _)| *label == owner)
        .map(|(_, value)| value.clone());
    let place = (namespace, owner.next().unwrap_or_default());
    match clusters {
        Some(clusters) => drop(objects.entry(place).or_default().insert(name, clusters)),
        None => {
            if let Some(own) = objects.get_mut(&place) {
                own.remove(&name);
            }
        }
    }
}
