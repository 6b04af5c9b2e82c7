//! What is known of replica sets and everything they depend on, and what is to be written because of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{ManagedCluster, Placement};
use portolan_api::labels::{ocm, portolan};
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_runtime::watch::{Delta, Key, SyncState};
use tokio::time::Instant;

use super::attempts::Attempts;
use super::decisions::{Chosen, Part};
use super::index::{Index, UnreadableWorks};
use super::key::{SetKey, WorkKey};
use super::message::{Ending, Input, Job, WorkWriteKind};
use super::refusals::{Cause, Refusal};
use super::set::Set;
use super::works::Work;
use crate::absence::{Absences, Standing};
use crate::bound::Bound;
use crate::moment::{Moment, Since};
use crate::reconcile::{Failure, Queue, Reconciler, backoff};
use crate::sabotage::{Rule, sabotaged};

/// Clusters that evaluations visit in one turn of the loop: an evaluation visits every cluster of every Placement of the set. A
/// larger number would let a tenant with large sets keep the loop from turning, a smaller one would make turns for nothing.
const MOST_VISITS: usize = 160_000;
/// What an evaluation costs beside its clusters, in clusters.
const PER_SET: usize = 10_000;
/// Clusters that refuse a work which are remembered for the replica sets of one namespace. A larger number would let a tenant use
/// much memory; with a smaller one large rollouts would wait for such clusters instead of counting them as failed.
pub(super) const MOST_REFUSALS: usize = 100_000;

/// Replica sets, their works, placements, decisions, and which clusters are offline.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) known: Known,
    pub(super) sets: BTreeMap<SetKey, Set>,
    pub(super) works: BTreeMap<SetKey, BTreeMap<WorkKey, Work>>,
    /// Whose a work is: a deletion names the work alone. In order, so that the works of a cluster stand together.
    owners: BTreeMap<WorkKey, SetKey>,
    pub(super) unreadable: UnreadableWorks,
    /// Works that have gone since the last job of their replica set ended, by UID. Answers to the writes of a job come
    /// when all are written, and a work may be gone by then: a cluster must not wait for it to leave ever after.
    gone: BTreeMap<SetKey, BTreeSet<String>>,
    pub(super) placements: HashMap<(String, String), Chosen>,
    pub(super) decisions: HashMap<(String, String), BTreeMap<String, Part>>,
    /// Which placement a decision object was of.
    decided_for: HashMap<(String, String), String>,
    pub(super) index: Index,
    pub(super) offline: BTreeSet<String>,
    pub(super) absences: Absences,
    /// Which clusters may get works.
    pub(super) bound: Bound,
    pub(super) refusals: BTreeMap<SetKey, BTreeMap<String, Refusal>>,
    pub(super) attempts: BTreeMap<SetKey, Attempts>,
    /// When the status of a replica set was last written.
    pub(super) told: BTreeMap<SetKey, Instant>,
    /// Since when a decision of a replica set is unsettled.
    pub(super) unsettled: BTreeMap<SetKey, Instant>,
    queue: Queue<SetKey>,
    longest_backoff: Duration,
}

#[derive(Debug)]
pub(super) struct Known {
    sets: SyncState,
    works: SyncState,
    placements: SyncState,
    decisions: SyncState,
    clusters: SyncState,
}

impl Known {
    /// Whether works can be told from works that are not known yet.
    fn works(&self) -> bool {
        self.sets.is_synced() && self.works.is_synced()
    }

    /// Whether decisions can be followed. A hub without ManagedClusters has none that is offline.
    pub(super) fn decisions(&self) -> bool {
        self.placements.is_synced() && self.decisions.is_synced() && self.clusters != SyncState::Listing
    }
}

impl State {
    /// `hears_clusters` says whether ManagedClusters will be heard of.
    pub(crate) fn new(longest_backoff: Duration, hears_clusters: bool) -> State {
        State {
            known: Known {
                sets: SyncState::Listing,
                works: SyncState::Listing,
                placements: SyncState::Listing,
                decisions: SyncState::Listing,
                clusters: if hears_clusters {
                    SyncState::Listing
                } else {
                    SyncState::NotServed
                },
            },
            sets: BTreeMap::new(),
            works: BTreeMap::new(),
            owners: BTreeMap::new(),
            unreadable: UnreadableWorks::default(),
            gone: BTreeMap::new(),
            placements: HashMap::new(),
            decisions: HashMap::new(),
            decided_for: HashMap::new(),
            index: Index::default(),
            offline: BTreeSet::new(),
            absences: Absences::default(),
            bound: Bound::everywhere(),
            refusals: BTreeMap::new(),
            attempts: BTreeMap::new(),
            told: BTreeMap::new(),
            unsettled: BTreeMap::new(),
            queue: queue(longest_backoff),
            longest_backoff,
        }
    }

    /// The same, which makes works for clusters of bound sets alone.
    pub(crate) fn requiring_bindings(self) -> State {
        State {
            bound: Bound::by_bindings(),
            ..self
        }
    }

    fn set_applied(&mut self, object: Arc<ManifestWorkReplicaSet>) {
        let key = SetKey::new(namespace_of(&object.metadata), name_of(&object.metadata));
        let before = self.sets.get(&key);
        let set = Set::new(object, before);
        if before.is_some_and(|before| set.version.is_before(&before.version)) {
            return;
        }
        let referred = before.map(Set::placements).unwrap_or_default();
        let decisions = &self.decisions;
        self.index
            .refer(&key, &referred, &set.placements(), |place| decisions.get(place));
        self.sets.insert(key.clone(), set);
        self.queue.enqueue(key);
    }

    fn set_gone(&mut self, key: SetKey) {
        if let Some(set) = self.sets.remove(&key) {
            let (referred, decisions) = (set.placements(), &self.decisions);
            let none = BTreeSet::new();
            self.index
                .refer(&key, &referred, &none, |place| decisions.get(place));
        }
        self.refusals.remove(&key);
        self.attempts.remove(&key);
        self.gone.remove(&key);
        self.told.remove(&key);
        self.unsettled.remove(&key);
        self.queue.gone(key);
    }

    fn work_applied(&mut self, object: &ManifestWork) {
        let key = WorkKey::of(&object.metadata);
        let owner = SetKey::of_work(&object.metadata);
        if self.owners.get(&key) != owner.as_ref() {
            self.work_gone(&key);
        }
        let Some(owner) = owner else { return };
        let mut work = Work::of(object, !self.known.works.is_synced());
        let works = self.works.entry(owner.clone()).or_default();
        if works
            .get(&key)
            .is_some_and(|before| before.uid == work.uid && work.version.is_before(&before.version))
        {
            return;
        }
        if let Some(before) = works.get(&key) {
            work.follow(before);
        }
        works.insert(key.clone(), work);
        self.owners.insert(key, owner.clone());
        self.queue.enqueue(owner);
    }

    /// What was last read of it stands; of one that was never read nothing is known but that it is there.
    fn work_unreadable(&mut self, metadata: &ObjectMeta) {
        if let Some(owner) = SetKey::of_work(metadata) {
            let before = self.unreadable.insert(WorkKey::of(metadata), owner.clone());
            before.into_iter().for_each(|before| self.queue.enqueue(before));
            self.queue.enqueue(owner);
        }
    }

    fn work_gone(&mut self, key: &WorkKey) {
        let Some(owner) = self.owners.remove(key) else {
            return;
        };
        if let Some(works) = self.works.get_mut(&owner) {
            if let Some(work) = works.remove(key)
                && self.sets.contains_key(&owner)
            {
                self.gone.entry(owner.clone()).or_default().insert(work.uid);
            }
            if works.is_empty() {
                self.works.remove(&owner);
            }
        }
        self.queue.enqueue(owner);
    }

    fn placement_applied(&mut self, object: &Placement) {
        let key = (
            namespace_of(&object.metadata).to_owned(),
            name_of(&object.metadata).to_owned(),
        );
        let chosen = Chosen::of(object);
        if self.placements.get(&key) != Some(&chosen) {
            self.touch_referring(&key);
            self.placements.insert(key, chosen);
        }
    }

    fn decision_applied(&mut self, metadata: &ObjectMeta, part: Part) {
        let (namespace, name) = (namespace_of(metadata), name_of(metadata));
        let id = (namespace.to_owned(), name.to_owned());
        let annotations = metadata.annotations.as_ref();
        let full = annotations.and_then(|annotations| annotations.get(portolan::PLACEMENT_NAME));
        let label = metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(ocm::PLACEMENT));
        let placement = full.or(label).cloned().unwrap_or_default();
        if self.decided_for.get(&id) != Some(&placement) {
            self.decision_gone(&id);
        }
        let place = (id.0.clone(), placement);
        let parts = self.decisions.entry(place.clone()).or_default();
        let before = parts.get(name);
        if before != Some(&part) {
            self.index.decide(&place, before, Some(&part));
            parts.insert(id.1.clone(), part);
            self.touch_referring(&place);
        }
        self.decided_for.insert(id, place.1);
    }

    fn decision_gone(&mut self, id: &(String, String)) {
        let Some(placement) = self.decided_for.remove(id) else {
            return;
        };
        let place = (id.0.clone(), placement);
        if let Some(parts) = self.decisions.get_mut(&place) {
            let part = parts.remove(&id.1);
            self.index.decide(&place, part.as_ref(), None);
            if parts.is_empty() {
                self.decisions.remove(&place);
            }
        }
        self.touch_referring(&place);
    }

    /// Offline is who says so, or of whom others do. A cluster that never reported is not: on a hub where nobody looks
    /// after availability all would be.
    fn cluster_applied(&mut self, object: &ManagedCluster) {
        let (name, standing) = (name_of(&object.metadata), Standing::of(object));
        let is_news = self.absences.note(name, standing);
        if self.set_offline(name, standing.is_offline) || is_news {
            self.touch_choosing(name);
        }
    }

    fn cluster_gone(&mut self, name: &str) {
        let is_news = self.absences.forget(name);
        if self.set_offline(name, false) || is_news {
            self.touch_choosing(name);
        }
    }

    fn set_offline(&mut self, name: &str, offline: bool) -> bool {
        match offline {
            true => self.offline.insert(name.to_owned()),
            false => self.offline.remove(name),
        }
    }

    fn touch_referring(&mut self, place: &(String, String)) {
        let referring = self.index.referring(place);
        referring.for_each(|key| self.queue.enqueue(key.clone()));
    }

    /// Replica sets that have a work in the cluster, or are to have one.
    fn touch_choosing(&mut self, cluster: &str) {
        let first = WorkKey {
            cluster: cluster.to_owned(),
            name: String::new(),
        };
        let works = self.owners.range(first..);
        let owners = works.take_while(|(work, _)| work.cluster == cluster);
        let concerned = owners.map(|(_, owner)| owner).chain(self.index.choosing(cluster));
        concerned.for_each(|key| self.queue.enqueue(key.clone()));
    }

    fn touch_namespace(&mut self, namespace: &str) {
        let first = SetKey::new(namespace, "");
        let in_namespace = self.sets.range(first..);
        let in_namespace = in_namespace.take_while(|(key, _)| key.namespace == namespace);
        in_namespace.for_each(|(key, _)| self.queue.enqueue(key.clone()));
    }

    fn touch_all(&mut self) {
        self.sets.keys().for_each(|key| self.queue.enqueue(key.clone()));
    }

    fn ended(&mut self, ending: Ending) {
        let Ending {
            set: key,
            at,
            works,
            template,
            object,
        } = ending;
        let mut is_to_be_repeated = false;
        // Counted once: what one job adds on top is bounded by its writes.
        let mut room = None;
        let gone = self.gone.remove(&key).unwrap_or_default();
        for work in works {
            match work.result {
                Ok(answer) => {
                    if let Some(refusals) = self.refusals.get_mut(&key) {
                        refusals.remove(&work.key.cluster);
                    }
                    let Some(answer) = answer else {
                        self.work_gone(&work.key);
                        continue;
                    };
                    if work.kind != WorkWriteKind::Routine
                        && let Some(set) = self.sets.get_mut(&key)
                        && set.template == template
                    {
                        set.accepted = Some(super::set::Fingerprint::of(&answer.spec));
                    }
                    if !gone.contains(answer.metadata.uid.as_deref().unwrap_or_default()) {
                        self.work_applied(&answer);
                    }
                }
                Err(failure) => {
                    let cause = match (work.kind, failure) {
                        // Another ManifestWork has the name. If it is ours after all, the watch will say so.
                        (WorkWriteKind::Creation, Failure::Conflict)
                        | (
                            WorkWriteKind::Creation | WorkWriteKind::Template,
                            Failure::Missing | Failure::Forbidden | Failure::Invalid,
                        ) => Cause::of(failure),
                        _ => None,
                    };
                    let room = *room.get_or_insert_with(|| self.room_for_refusals(&key.namespace));
                    let is_remembered =
                        cause.is_some_and(|cause| self.refused(&key, &work.key.cluster, cause, (at, room)));
                    is_to_be_repeated |= !is_remembered;
                }
            }
        }
        match object {
            Some(Err(_)) => is_to_be_repeated = true,
            Some(Ok(Some(object))) => {
                // What was heard meanwhile may be newer, which the versions tell.
                if self.sets.contains_key(&key) {
                    self.set_applied(object);
                }
            }
            Some(Ok(None)) | None => {}
        }
        match is_to_be_repeated {
            true => self.queue.failed(&key, at),
            false => self.queue.succeeded(&key),
        };
    }

    /// What an evaluation of a replica set costs, in clusters that it visits.
    pub(super) fn cost(&self, key: &SetKey) -> usize {
        let placements = self.sets.get(key).map(Set::placements);
        let parts = placements.into_iter().flatten().filter_map(|placement| {
            let place = (key.namespace.clone(), placement.to_owned());
            self.decisions.get(&place)
        });
        let clusters = parts.flat_map(BTreeMap::values).map(|part| part.clusters.len());
        PER_SET + clusters.sum::<usize>() + self.works.get(key).map_or(0, BTreeMap::len)
    }

    /// How many more clusters that refuse a work may be remembered for the replica sets of a namespace.
    pub(super) fn room_for_refusals(&self, namespace: &str) -> usize {
        let sets = self.refusals.range(SetKey::new(namespace, "")..);
        let of_namespace = sets.take_while(|(key, _)| key.namespace == namespace);
        MOST_REFUSALS.saturating_sub(of_namespace.map(|(_, refusals)| refusals.len()).sum())
    }

    /// Remembers that a cluster refuses its work. `false` when there is no room for that: then the replica set is tried again later
    /// as a whole.
    fn refused(&mut self, key: &SetKey, cluster: &str, cause: Cause, (at, room): (Instant, usize)) -> bool {
        let is_known = self.refusals.get(key).is_some_and(|of| of.contains_key(cluster));
        if !is_known && room == 0 {
            return false;
        }
        let refusals = self.refusals.entry(key.clone()).or_default();
        let refusal = refusals.entry(cluster.to_owned()).or_insert(Refusal {
            cause,
            times: 0,
            first: Since::at(at),
            until: at,
        });
        refusal.cause = cause;
        refusal.times += 1;
        refusal.until = at + backoff(refusal.times, self.longest_backoff);
        true
    }
}

#[cfg(test)]
impl State {
    /// The replica sets that are ready.
    pub(super) fn ready(&self) -> impl Iterator<Item = &SetKey> {
        self.queue.ready()
    }

    /// As if all that are ready had been looked at.
    pub(super) fn forget_ready(&mut self) {
        self.queue = queue(self.longest_backoff);
    }
}

impl Reconciler for State {
    const NAME: &'static str = "replica sets";
    type Input = Input;
    type Write = Job;

    fn handle(&mut self, input: Input) {
        match &input {
            Input::Set(delta) => self.known.sets.after(delta),
            Input::Work(delta) => self.known.works.after(delta),
            Input::Placement(delta) => self.known.placements.after(delta),
            Input::Decision(delta) => self.known.decisions.after(delta),
            Input::Cluster(delta) => self.known.clusters.after(delta),
            Input::ClusterSet(_) | Input::Binding(_) | Input::Ended(_) => {}
        }
        let rights_change = match &input {
            Input::Cluster(delta) => self.bound.hear_cluster(delta),
            Input::ClusterSet(delta) => self.bound.hear_set(delta),
            Input::Binding(delta) => self.bound.hear_binding(delta),
            _ => false,
        };
        if rights_change && self.bound.is_asked() {
            match &input {
                // A cluster that enters or leaves a set is a change for those that choose it alone.
                Input::Cluster(Delta::Applied(cluster)) => self.touch_choosing(name_of(&cluster.metadata)),
                Input::Cluster(Delta::Unreadable(cluster)) => self.touch_choosing(name_of(&cluster.metadata)),
                Input::Cluster(Delta::Deleted(key)) => self.touch_choosing(&key.name),
                // A binding gives rights in its own namespace.
                Input::Binding(delta) => match delta.namespace() {
                    Some(namespace) => self.touch_namespace(namespace),
                    None => self.touch_all(),
                },
                _ => self.touch_all(),
            }
        }
        match input {
            Input::Set(Delta::Applied(object)) => self.set_applied(object),
            Input::Set(Delta::Deleted(key)) => self.set_gone(SetKey::new(&key.namespace, &key.name)),
            Input::Work(Delta::Applied(object)) => {
                let owner = self.unreadable.remove(&WorkKey::of(&object.metadata));
                owner.into_iter().for_each(|owner| self.queue.enqueue(owner));
                self.work_applied(&object);
            }
            Input::Work(Delta::Unreadable(object)) => self.work_unreadable(&object.metadata),
            Input::Work(Delta::Deleted(Key { namespace, name, .. })) => {
                let key = WorkKey {
                    cluster: namespace,
                    name,
                };
                self.work_gone(&key);
                if let Some(owner) = self.unreadable.remove(&key) {
                    self.queue.enqueue(owner);
                }
            }
            Input::Placement(Delta::Applied(object)) => self.placement_applied(&object),
            Input::Placement(Delta::Deleted(key)) => {
                let place = (key.namespace, key.name);
                self.placements.remove(&place);
                self.touch_referring(&place);
            }
            Input::Decision(Delta::Applied(object)) => {
                self.decision_applied(&object.metadata, Part::of(&object));
            }
            Input::Decision(Delta::Unreadable(object)) if !sabotaged(Rule::UnreadableIsNotAbsent) => {
                self.decision_applied(&object.metadata, Part::unreadable(object.to_string()));
            }
            Input::Decision(Delta::Deleted(key)) => self.decision_gone(&(key.namespace, key.name)),
            Input::Cluster(Delta::Applied(object)) => self.cluster_applied(&object),
            Input::Cluster(Delta::Unreadable(object)) => {
                self.absences.cannot_read(name_of(&object.metadata));
            }
            Input::Cluster(Delta::Deleted(key)) => self.cluster_gone(&key.name),
            Input::Set(Delta::Synced | Delta::NotServed)
            | Input::Work(Delta::Synced | Delta::NotServed)
            | Input::Placement(Delta::Synced | Delta::NotServed)
            | Input::Decision(Delta::Synced | Delta::NotServed)
            | Input::Cluster(Delta::Synced | Delta::NotServed) => self.touch_all(),
            Input::Set(_) | Input::Work(_) | Input::Placement(_) | Input::Decision(_) | Input::Cluster(_) => {
            }
            Input::ClusterSet(_) | Input::Binding(_) => {}
            Input::Ended(ending) => self.ended(*ending),
        }
    }

    fn due(&mut self, now: Moment, room: usize) -> Vec<Job> {
        if !self.known.works() {
            return Vec::new();
        }
        self.absences.look(now);
        let mut queue = std::mem::replace(&mut self.queue, queue(self.longest_backoff));
        let jobs = queue.poll_weighed(now.instant, room, |key| (self.cost(key), self.decide(key, now)));
        self.queue = queue;
        jobs
    }

    fn next_due(&self) -> Option<Instant> {
        // Timers cannot help while not everything is known; what is heard will.
        self.queue.next().filter(|_| self.known.works())
    }
}

fn queue(longest_backoff: Duration) -> Queue<SetKey> {
    Queue::limited(longest_backoff, MOST_VISITS, |key| &key.namespace)
}

fn name_of(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

fn namespace_of(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap_or_default()
}
