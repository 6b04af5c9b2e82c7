//! What registration knows, and what is to be written because of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_runtime::watch::{Delta, SyncState};
use tokio::time::Instant;

use super::clusters::Cluster;
use super::heartbeat::{self, Heartbeat, Pulse};
use super::message::Write;
use super::sets::{self, Binding, Set};
use crate::moment::Moment;
use crate::reconcile::{Action, Failure, Membership, Queue, Reconciler};

/// What the state hears.
#[derive(Debug)]
pub(crate) enum Input {
    Cluster(Delta<ManagedCluster>),
    Set(Delta<ManagedClusterSet>),
    Binding(Delta<ManagedClusterSetBinding>),
    Lease(Delta<Lease>),
    /// A write ended.
    Ended {
        target: Target,
        at: Instant,
        result: Result<Answer, Failure>,
    },
}

/// The object as the server answered.
#[derive(Debug)]
pub(crate) enum Answer {
    Cluster(Arc<ManagedCluster>),
    Set(Arc<ManagedClusterSet>),
    Binding(Arc<ManagedClusterSetBinding>),
    /// It had been renewed after all.
    Lease(Arc<Lease>),
}

/// What a write is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Set(String),
    Binding(String, String),
    Cluster(Arc<str>),
    Heartbeat(Arc<str>),
}

/// Clusters, sets and bindings, as far as registration looks at them.
#[derive(Debug)]
pub(crate) struct State {
    known: Known,
    clusters: HashMap<Arc<str>, Cluster>,
    heartbeats: HashMap<Arc<str>, Heartbeat>,
    sets: BTreeMap<String, Set>,
    bindings: BTreeMap<(String, String), Binding>,
    queue: Queue<Target>,
}

#[derive(Debug, Default)]
struct Known {
    clusters: SyncState,
    leases: SyncState,
    sets: SyncState,
    bindings: SyncState,
}

impl State {
    pub(crate) fn new(longest_backoff: Duration) -> State {
        let mut queue = Queue::new(longest_backoff);
        for name in sets::BUILT_IN {
            queue.enqueue(Target::Set(name.to_owned()));
        }
        State {
            known: Known::default(),
            clusters: HashMap::new(),
            heartbeats: HashMap::new(),
            sets: BTreeMap::new(),
            bindings: BTreeMap::new(),
            queue,
        }
    }

    fn cluster_applied(&mut self, object: &ManagedCluster) {
        let name = name_of(&object.metadata);
        let cluster = Cluster::of(object);
        let before = self.clusters.get(name);
        if before.is_some_and(|before| cluster.version.is_before(&before.version)) {
            return;
        }
        // Most of what is heard of a cluster are heartbeats.
        if before.is_none_or(|before| before.labels != cluster.labels) {
            for (set_name, set) in &mut self.sets {
                let was = before.is_some_and(|before| set.membership.has(&before.labels));
                let is = set.membership.has(&cluster.labels);
                if was != is {
                    set.members = if is {
                        set.members + 1
                    } else {
                        set.members.saturating_sub(1)
                    };
                    self.queue.enqueue(Target::Set(set_name.clone()));
                }
            }
        }
        let name = match self.clusters.get_key_value(name) {
            Some((name, _)) => name.clone(),
            None => name.into(),
        };
        if !cluster.is_settled() {
            self.queue.enqueue(Target::Cluster(name.clone()));
        }
        let relied_on = |cluster: &Cluster| (cluster.is_counted_on(), cluster.patience);
        if self
            .clusters
            .get(&name)
            .is_none_or(|before| relied_on(before) != relied_on(&cluster))
        {
            self.queue.enqueue(Target::Heartbeat(name.clone()));
        }
        self.clusters.insert(name, cluster);
    }

    fn cluster_gone(&mut self, name: &str) {
        let Some((name, cluster)) = self.clusters.remove_entry(name) else {
            return;
        };
        for (set_name, set) in &mut self.sets {
            if set.membership.has(&cluster.labels) {
                set.members = set.members.saturating_sub(1);
                self.queue.enqueue(Target::Set(set_name.clone()));
            }
        }
        self.queue.gone(Target::Cluster(name));
    }

    fn lease_applied(&mut self, object: &Lease) {
        if name_of(&object.metadata) != heartbeat::LEASE {
            return;
        }
        let cluster = object.metadata.namespace.as_deref().unwrap_or_default();
        let before = self.heartbeats.get_key_value(cluster);
        let beat = Heartbeat::of(object, before.map(|(_, beat)| beat));
        if before.is_some_and(|(_, before)| beat.version.is_before(&before.version)) {
            return;
        }
        let name = before.map_or_else(|| cluster.into(), |(name, _)| name.clone());
        if beat.is_new() {
            self.queue.enqueue(Target::Heartbeat(name.clone()));
        }
        self.heartbeats.insert(name, beat);
    }

    /// What was known of a cluster without a Lease stays as it is.
    fn lease_gone(&mut self, cluster: &str) {
        if let Some((name, _)) = self.heartbeats.remove_entry(cluster) {
            self.queue.gone(Target::Heartbeat(name));
        }
    }

    fn set_applied(&mut self, object: &ManagedClusterSet) {
        let name = name_of(&object.metadata);
        let before = self.sets.get(name);
        let mut set = Set::of(object, before);
        if before.is_some_and(|before| set.version.is_before(&before.version)) {
            return;
        }
        if before.is_none_or(|before| before.membership != set.membership) {
            let clusters = self.clusters.values();
            set.members = clusters
                .filter(|cluster| set.membership.has(&cluster.labels))
                .count();
            if let Membership::Invalid(problem) = &set.membership {
                tracing::warn!(set = name, %problem, "cannot evaluate the selector of the ManagedClusterSet; its conditions stay unchanged");
            }
        }
        let is_new = before.is_none();
        self.sets.insert(name.to_owned(), set);
        self.queue.enqueue(Target::Set(name.to_owned()));
        if is_new {
            self.touch_bindings(name);
        }
    }

    fn set_gone(&mut self, name: &str) {
        self.sets.remove(name);
        self.queue.gone(Target::Set(name.to_owned()));
        self.touch_bindings(name);
    }

    fn touch_bindings(&mut self, set: &str) {
        for (namespace, name) in self.bindings.keys().filter(|(_, name)| name == set) {
            self.queue
                .enqueue(Target::Binding(namespace.clone(), name.clone()));
        }
    }

    fn binding_applied(&mut self, object: &ManagedClusterSetBinding) {
        let key = (
            object.metadata.namespace.clone().unwrap_or_default(),
            name_of(&object.metadata).to_owned(),
        );
        let binding = Binding::of(object);
        if self
            .bindings
            .get(&key)
            .is_some_and(|before| binding.version.is_before(&before.version))
        {
            return;
        }
        self.queue.enqueue(Target::Binding(key.0.clone(), key.1.clone()));
        self.bindings.insert(key, binding);
    }

    fn ended(&mut self, target: Target, at: Instant, result: Result<Answer, Failure>) {
        let Ok(answer) = result else {
            self.queue.failed(&target, at);
            return;
        };
        if !self.queue.succeeded(&target) {
            return;
        }
        match answer {
            Answer::Cluster(object) => self.cluster_applied(&object),
            Answer::Set(object) => self.set_applied(&object),
            Answer::Binding(object) => self.binding_applied(&object),
            Answer::Lease(object) => self.lease_applied(&object),
        }
    }

    /// Everything is looked at that waited for a kind to be known.
    fn touch_all(&mut self) {
        for name in self.sets.keys().map(String::as_str).chain(sets::BUILT_IN) {
            self.queue.enqueue(Target::Set(name.to_owned()));
        }
        for (namespace, name) in self.bindings.keys() {
            self.queue
                .enqueue(Target::Binding(namespace.clone(), name.clone()));
        }
        for (name, cluster) in &self.clusters {
            if !cluster.is_settled() {
                self.queue.enqueue(Target::Cluster(name.clone()));
            }
        }
        for name in self.heartbeats.keys() {
            self.queue.enqueue(Target::Heartbeat(name.clone()));
        }
    }
}

impl Reconciler for State {
    const NAME: &'static str = "registration";
    type Input = Input;
    type Write = Write;

    fn handle(&mut self, input: Input) {
        match &input {
            Input::Cluster(delta) => self.known.clusters.after(delta),
            Input::Set(delta) => self.known.sets.after(delta),
            Input::Binding(delta) => self.known.bindings.after(delta),
            Input::Lease(delta) => self.known.leases.after(delta),
            Input::Ended { .. } => {}
        }
        match input {
            Input::Cluster(Delta::Applied(object)) => self.cluster_applied(&object),
            Input::Cluster(Delta::Deleted(key)) => self.cluster_gone(&key.name),
            Input::Set(Delta::Applied(object)) => self.set_applied(&object),
            Input::Set(Delta::Deleted(key)) => self.set_gone(&key.name),
            Input::Binding(Delta::Applied(object)) => self.binding_applied(&object),
            Input::Binding(Delta::Deleted(key)) => {
                let key = (key.namespace, key.name);
                self.bindings.remove(&key);
                self.queue.gone(Target::Binding(key.0, key.1));
            }
            Input::Lease(Delta::Applied(object)) => self.lease_applied(&object),
            Input::Lease(Delta::Deleted(key)) => self.lease_gone(&key.namespace),
            Input::Cluster(Delta::Synced)
            | Input::Set(Delta::Synced)
            | Input::Binding(Delta::Synced)
            | Input::Lease(Delta::Synced) => self.touch_all(),
            Input::Cluster(Delta::NotServed) => off("ManagedCluster", "taints and the default set"),
            Input::Set(Delta::NotServed) => off("ManagedClusterSet", "built-in sets and conditions"),
            Input::Binding(Delta::NotServed) => off("ManagedClusterSetBinding", "the conditions of bindings"),
            Input::Lease(Delta::NotServed) => off("Lease", "the taints of clusters whose Lease expired"),
            // What cannot be read stands as it was last read; nothing is written about what never was.
            Input::Cluster(
                Delta::Unreadable(_) | Delta::ListStarted | Delta::DeletionHeld(_) | Delta::CrdCreated(_),
            )
            | Input::Set(
                Delta::Unreadable(_) | Delta::ListStarted | Delta::DeletionHeld(_) | Delta::CrdCreated(_),
            )
            | Input::Binding(
                Delta::Unreadable(_) | Delta::ListStarted | Delta::DeletionHeld(_) | Delta::CrdCreated(_),
            )
            | Input::Lease(
                Delta::Unreadable(_) | Delta::ListStarted | Delta::DeletionHeld(_) | Delta::CrdCreated(_),
            ) => {}
            Input::Ended { target, at, result } => self.ended(target, at, result),
        }
    }

    /// The controller heard nothing during the pause, so a missing heartbeat says nothing.
    fn paused(&mut self, now: Instant, late: Duration) {
        for (name, beat) in &mut self.heartbeats {
            let patience = self.clusters.get(name).map(|cluster| cluster.patience);
            if patience.is_none_or(|patience| late >= heartbeat::longest_pause(patience)) {
                beat.forgive(now);
            }
        }
    }

    fn due(&mut self, now: Moment, room: usize) -> Vec<Write> {
        let State {
            known,
            clusters,
            heartbeats,
            sets,
            bindings,
            queue,
        } = self;
        queue.poll(now.instant, room, |target| match target {
            Target::Set(name) if known.sets.is_synced() => match sets.get_mut(name) {
                Some(set) => set.decide(name, known.clusters.is_synced(), now),
                None if sets::BUILT_IN.contains(&name.as_str()) => {
                    Action::Write(Write::CreateSet { name: name.clone() })
                }
                None => Action::AwaitChange,
            },
            Target::Binding(namespace, name) if known.sets.is_synced() && known.bindings.is_synced() => {
                match bindings.get(&(namespace.clone(), name.clone())) {
                    Some(binding) => binding.decide(namespace, name, sets.contains_key(name), now.wall),
                    None => Action::AwaitChange,
                }
            }
            Target::Cluster(name) if known.clusters.is_synced() => match clusters.get(name) {
                Some(cluster) => cluster.change(now.wall).map_or(Action::AwaitChange, |change| {
                    Action::Write(Write::Cluster {
                        name: name.clone(),
                        version: cluster.version.clone(),
                        change,
                    })
                }),
                None => Action::AwaitChange,
            },
            Target::Heartbeat(name) if known.clusters.is_synced() && known.leases.is_synced() => {
                match (clusters.get(name), heartbeats.get_mut(name)) {
                    (Some(cluster), Some(beat)) => match beat.look(cluster.patience, now.instant) {
                        Pulse::Beats => Action::AwaitChange,
                        Pulse::BeatsUntil(then) => Action::RequeueAt(then),
                        Pulse::Silent if cluster.is_counted_on() => Action::Write(Write::Silent {
                            name: name.clone(),
                            version: cluster.version.clone(),
                            lease: beat.version.clone(),
                            at: now.wall,
                        }),
                        Pulse::Silent => Action::AwaitChange,
                    },
                    // A cluster that never had a Lease is reported about in other ways, or by hand.
                    _ => Action::AwaitChange,
                }
            }
            // Not all is known that it takes; when it is, everything is looked at.
            _ => Action::AwaitChange,
        })
    }

    fn next_due(&self) -> Option<Instant> {
        self.queue.next()
    }
}

fn off(kind: &str, part: &str) {
    tracing::warn!(
        kind,
        "the kind is not served; registration does not write {part} until its CustomResourceDefinition is installed"
    );
}

fn name_of(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}
