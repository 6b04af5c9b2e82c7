//! What the publisher knows, and what is to be written because of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::ManagedCluster;
use portolan_api::multicluster::ClusterProfile;
use portolan_runtime::watch::{Delta, SyncState};
use tokio::time::Instant;

use super::bound_namespaces::BoundNamespaces;
use super::cluster::Cluster;
use super::content::{Content, Observed};
use super::message::{Input, Key, Outcome, Removal, Write};
use super::namespace::Namespace;
use super::published_profiles::Profiles;
use crate::crd_age::{CrdAge, RestoreWindow};
use crate::health::{Outputs, UNSERVED};
use crate::moment::Moment;
use crate::reconcile::{Action, Failure, Labels, Membership, Queue, Reconciler};
use crate::sabotage::{Rule, sabotaged};

/// Clusters, where they are wanted, and the profiles that are there.
#[derive(Debug)]
pub(crate) struct State {
    known: Known,
    /// Of clusters, sets, bindings and placements: whether some may still be on their way.
    crd_age: [CrdAge; 4],
    restore_grace: Duration,
    spaces: BoundNamespaces,
    /// Bindings, placements or sets changed since the namespaces were last worked out.
    spaces_changed: bool,
    sets_changed: BTreeSet<String>,
    clusters: BTreeMap<Arc<str>, Cluster>,
    /// Clusters that cannot be read. What was never read of them is unknown, and so is whether they are wanted.
    unreadable: BTreeSet<Arc<str>>,
    namespaces: BTreeMap<Arc<str>, Namespace>,
    queue: Queue<Key>,
    published_profiles: Profiles,
    outputs: Outputs,
    /// Whether `PublishedProfiles` knows that all kinds are synced.
    announced: bool,
    longest_backoff: Duration,
}

#[derive(Debug, Default)]
struct Known {
    clusters: SyncState,
    sets: SyncState,
    bindings: SyncState,
    placements: SyncState,
    profiles: SyncState,
}

impl Known {
    fn is_complete(&self) -> bool {
        [
            self.clusters,
            self.sets,
            self.bindings,
            self.placements,
            self.profiles,
        ]
        .into_iter()
        .all(SyncState::is_synced)
    }
}

impl State {
    pub(crate) fn new(
        shared: Option<&str>,
        longest_backoff: Duration,
        restore_grace: Duration,
        published_profiles: Profiles,
        outputs: Outputs,
    ) -> State {
        State {
            known: Known::default(),
            crd_age: Default::default(),
            restore_grace,
            spaces: BoundNamespaces::new(shared),
            spaces_changed: true,
            sets_changed: BTreeSet::new(),
            clusters: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            namespaces: BTreeMap::new(),
            queue: Queue::new(longest_backoff),
            published_profiles,
            outputs,
            announced: false,
            longest_backoff,
        }
    }

    fn cluster_applied(&mut self, object: &ManagedCluster) {
        let name = name_of(&object.metadata);
        self.no_longer_unreadable(name);
        let labels = Labels::new(object.metadata.labels.as_ref());
        let deleting = object.metadata.deletion_timestamp.is_some();
        let content = Content::of(object);
        match self.clusters.get_mut(name) {
            Some(cluster) => {
                let same_place = cluster.labels == labels && cluster.deleting == deleting;
                if same_place && *cluster.content == content {
                    return;
                }
                *cluster = Cluster {
                    labels,
                    deleting,
                    content: Arc::new(content),
                };
            }
            None => {
                let cluster = Cluster {
                    labels,
                    deleting,
                    content: Arc::new(content),
                };
                self.clusters.insert(name.into(), cluster);
            }
        }
        self.place_everywhere(name);
    }

    fn cluster_gone(&mut self, name: &str) {
        self.clusters.remove(name);
        self.no_longer_unreadable(name);
        self.place_everywhere(name);
    }

    /// What was left as it is while the cluster could not be read is looked at again.
    fn no_longer_unreadable(&mut self, name: &str) {
        if let Some(name) = self.unreadable.take(name) {
            let spaces = self.namespaces.iter();
            for (namespace, _) in spaces.filter(|(_, space)| space.entries.contains_key(&name)) {
                self.queue.enqueue((namespace.clone(), name.clone()));
            }
        }
    }

    /// Works out in which namespaces a cluster is wanted.
    fn place_everywhere(&mut self, name: &str) {
        let cluster = self.clusters.get_key_value(name);
        let name = cluster.map_or_else(|| name.into(), |(name, _)| name.clone());
        let cluster = cluster.map(|(_, cluster)| cluster);
        for (namespace, space) in &mut self.namespaces {
            let wanted = cluster.is_some_and(|cluster| space.wants(&self.spaces, cluster));
            if space.place(&name, wanted) {
                self.queue.enqueue((namespace.clone(), name.clone()));
                self.published_profiles
                    .note(namespace, &name, space.standing(&name));
            }
        }
    }

    /// Works out in which namespaces all clusters are wanted, where that may have changed.
    fn work_out_spaces(&mut self) {
        if !self.spaces_changed && self.sets_changed.is_empty() {
            return;
        }
        let mut wanted = self.spaces.wanted();
        for namespace in wanted.keys() {
            self.namespaces.entry(namespace.clone()).or_default();
        }
        for (namespace, space) in &mut self.namespaces {
            let bound = wanted.remove(namespace).unwrap_or_default();
            let same_sets = bound.iter().all(|set| !self.sets_changed.contains(set));
            if space.bound == bound && same_sets {
                continue;
            }
            space.doubtful = self.spaces.is_doubtful(&bound);
            space.bound = bound;
            let strangers = space
                .entries
                .keys()
                .filter(|name| !self.clusters.contains_key(*name));
            let names: Vec<Arc<str>> = self.clusters.keys().chain(strangers).cloned().collect();
            for name in names {
                let cluster = self.clusters.get(&name);
                let wanted = cluster.is_some_and(|cluster| space.wants(&self.spaces, cluster));
                if space.place(&name, wanted) {
                    self.queue.enqueue((namespace.clone(), name.clone()));
                    self.published_profiles
                        .note(namespace, &name, space.standing(&name));
                }
            }
        }
        self.namespaces
            .retain(|_, space| !space.bound.is_empty() || !space.entries.is_empty());
        self.spaces_changed = false;
        self.sets_changed.clear();
    }

    fn profile_applied(&mut self, object: &ClusterProfile) {
        let (namespace, name) = (namespace_of(&object.metadata), name_of(&object.metadata));
        let namespace = match self.namespaces.get_key_value(namespace) {
            Some((namespace, _)) => namespace.clone(),
            None => namespace.into(),
        };
        let name = match self.clusters.get_key_value(name) {
            Some((name, _)) => name.clone(),
            None => name.into(),
        };
        let space = self.namespaces.entry(namespace.clone()).or_default();
        let entry = space.entries.entry(name.clone()).or_default();
        if entry.observe(Observed::of(object)) {
            self.published_profiles
                .note(&namespace, &name, space.standing(&name));
            self.queue.enqueue((namespace, name));
        }
    }

    fn profile_gone(&mut self, namespace: &str, name: &str) {
        let key: Key = (namespace.into(), name.into());
        if let Some(space) = self.namespaces.get_mut(namespace) {
            space.lose(&key.1);
            self.published_profiles
                .note(&key.0, &key.1, space.standing(&key.1));
        }
        self.queue.gone(key);
    }

    fn ended(&mut self, key: &Key, at: Instant, outcome: Outcome) {
        let (shown, failure) = match outcome {
            Outcome::Shown(profile) => (Some(profile), None),
            Outcome::Begun(profile, failure) => (Some(profile), Some(failure)),
            Outcome::Held => {
                self.queue.failed(key, at);
                return;
            }
            Outcome::Removed => {
                self.queue.succeeded(key);
                if let Some(space) = self.namespaces.get_mut(&key.0) {
                    space.removed(&key.1);
                    self.published_profiles
                        .note(&key.0, &key.1, space.standing(&key.1));
                }
                return;
            }
            Outcome::Failed(failure) => (None, Some(failure)),
        };
        let valid = match failure {
            Some(_) => self.queue.failed(key, at),
            None => self.queue.succeeded(key),
        };
        if let Some(profile) = shown {
            self.let_in(&key.0);
            if valid {
                self.profile_applied(&profile);
            }
        } else if let Some(failure) = failure {
            self.refused(key, at, failure);
        }
    }

    /// A profile could not be written. Where the namespace is the reason, it is not tried for every cluster of it.
    fn refused(&mut self, key: &Key, at: Instant, failure: Failure) {
        let Some(space) = self.namespaces.get_mut(&key.0) else {
            return;
        };
        let Some(entry) = space.entries.get_mut(&key.1) else {
            return;
        };
        if entry.observed.is_some() {
            return;
        }
        match failure {
            Failure::Missing | Failure::Forbidden => {
                if space.hold_back(at, self.longest_backoff) {
                    self.note_all(&key.0);
                }
            }
            Failure::Invalid => {
                entry.refused = true;
                self.published_profiles
                    .note(&key.0, &key.1, space.standing(&key.1));
            }
            Failure::Conflict | Failure::Transient => {}
        }
    }

    fn let_in(&mut self, namespace: &Arc<str>) {
        let held_back = self
            .namespaces
            .get_mut(namespace)
            .and_then(|space| space.held_back.take());
        if held_back.is_some() {
            self.note_all(namespace);
        }
    }

    fn note_all(&self, namespace: &Arc<str>) {
        let Some(space) = self.namespaces.get(namespace) else {
            return;
        };
        for name in space.entries.keys() {
            self.published_profiles
                .note(namespace, name, space.standing(name));
        }
    }

    /// Which kinds are listed completely, and how old their definitions are.
    fn follow_lists(&mut self, input: &Input) {
        let ([clusters, sets, bindings, placements], known) = (&mut self.crd_age, &mut self.known);
        match input {
            Input::Cluster(delta) => {
                clusters.hear(delta);
                known.clusters.after(delta);
            }
            Input::Set(delta) => {
                sets.hear(delta);
                known.sets.after(delta);
            }
            Input::Binding(delta) => {
                bindings.hear(delta);
                known.bindings.after(delta);
            }
            Input::Placement(delta) => {
                placements.hear(delta);
                known.placements.after(delta);
            }
            Input::Profile(delta) => known.profiles.after(delta),
            Input::Ended { .. } => {}
        }
    }
}

impl Reconciler for State {
    const NAME: &'static str = "cluster profiles";
    type Input = Input;
    type Write = Write;

    fn handle(&mut self, input: Input) {
        self.follow_lists(&input);
        match input {
            Input::Cluster(Delta::Applied(object)) => self.cluster_applied(&object),
            Input::Cluster(Delta::Deleted(key)) => self.cluster_gone(&key.name),
            Input::Cluster(Delta::Unreadable(object)) => {
                self.unreadable.insert(name_of(&object.metadata).into());
            }
            // The members of a set that was never read are not known.
            Input::Set(Delta::Unreadable(object)) => {
                let name = name_of(&object.metadata);
                if !self.spaces.has_set(name) {
                    self.spaces
                        .apply_set(name, Membership::Invalid(object.to_string()));
                    self.sets_changed.insert(name.to_owned());
                    self.spaces_changed = true;
                }
            }
            // That they are there is all that counts of bindings and placements.
            Input::Binding(Delta::Unreadable(object)) => {
                let (namespace, name) = (namespace_of(&object.metadata), name_of(&object.metadata));
                self.spaces_changed |= self.spaces.apply_binding(namespace, name);
            }
            Input::Placement(Delta::Unreadable(object)) => {
                let (namespace, name) = (namespace_of(&object.metadata), name_of(&object.metadata));
                self.spaces_changed |= self.spaces.apply_placement(namespace, name);
            }
            Input::Set(Delta::Applied(object)) => {
                let name = name_of(&object.metadata);
                if self.spaces.apply_set(name, Membership::of(&object)) {
                    self.sets_changed.insert(name.to_owned());
                    self.spaces_changed = true;
                }
            }
            Input::Set(Delta::Deleted(key)) => self.spaces_changed |= self.spaces.remove_set(&key.name),
            Input::Binding(Delta::Applied(object)) => {
                let (namespace, name) = (namespace_of(&object.metadata), name_of(&object.metadata));
                self.spaces_changed |= self.spaces.apply_binding(namespace, name);
            }
            Input::Binding(Delta::Deleted(key)) => {
                self.spaces_changed |= self.spaces.remove_binding(&key.namespace, &key.name);
            }
            Input::Placement(Delta::Applied(object)) => {
                let (namespace, name) = (namespace_of(&object.metadata), name_of(&object.metadata));
                self.spaces_changed |= self.spaces.apply_placement(namespace, name);
            }
            Input::Placement(Delta::Deleted(key)) => {
                self.spaces_changed |= self.spaces.remove_placement(&key.namespace, &key.name);
            }
            Input::Profile(Delta::Applied(object)) => self.profile_applied(&object),
            Input::Profile(Delta::Deleted(key)) => self.profile_gone(&key.namespace, &key.name),
            Input::Profile(Delta::NotServed) => {
                tracing::warn!(
                    "ClusterProfiles are not published until their CustomResourceDefinition is installed"
                );
                self.published_profiles.switch(true);
                self.outputs.off(Outputs::CLUSTER_PROFILES, UNSERVED);
            }
            Input::Profile(Delta::Synced) => {
                self.published_profiles.switch(false);
                self.outputs.on(Outputs::CLUSTER_PROFILES);
            }
            Input::Cluster(_)
            | Input::Set(_)
            | Input::Binding(_)
            | Input::Placement(_)
            | Input::Profile(_) => {}
            Input::Ended { at, endings } => {
                for (key, outcome) in endings {
                    self.ended(&key, at, outcome);
                }
            }
        }
    }

    fn due(&mut self, now: Moment, room: usize) -> Vec<Write> {
        if !self.known.is_complete() {
            return Vec::new();
        }
        self.work_out_spaces();
        if !self.announced {
            self.published_profiles.ready();
            self.announced = true;
        }
        let crd_age = self.crd_age.iter_mut();
        let graces: Vec<RestoreWindow> = crd_age
            .filter_map(|kind| kind.grace(now, self.restore_grace))
            .collect();
        let (namespaces, clusters, longest) = (&mut self.namespaces, &self.clusters, self.longest_backoff);
        let unknown = |name: &Arc<str>| {
            !clusters.contains_key(name)
                && self.unreadable.contains(name)
                && !sabotaged(Rule::UnreadableIsNotAbsent)
        };
        let steps = self
            .queue
            .poll(now.instant, room, |key| match namespaces.get_mut(&key.0) {
                _ if unknown(&key.1) => Action::AwaitChange,
                Some(space) => space.decide(key, clusters.get(&key.1), &graces, now.instant, longest),
                None => Action::AwaitChange,
            });
        gathered(steps)
    }

    fn next_due(&self) -> Option<Instant> {
        // Timers cannot help while not everything is known; what is heard will.
        self.queue.next().filter(|_| self.known.is_complete())
    }
}

/// Removals of one namespace together, because one look at its slices serves them all.
fn gathered(steps: Vec<Write>) -> Vec<Write> {
    let mut removals = BTreeMap::<Arc<str>, Vec<Removal>>::new();
    let mut writes = Vec::with_capacity(steps.len());
    for step in steps {
        match step {
            Write::Remove { namespace, profiles } => removals.entry(namespace).or_default().extend(profiles),
            other => writes.push(other),
        }
    }
    let removals = removals.into_iter();
    writes.extend(removals.map(|(namespace, profiles)| Write::Remove { namespace, profiles }));
    writes
}

fn name_of(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

fn namespace_of(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap_or_default()
}
