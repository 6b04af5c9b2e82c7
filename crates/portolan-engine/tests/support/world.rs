//! The hub as a test keeps it: plain maps of objects, edited together with the engine.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use portolan_api::cluster::{
    AddOnPlacementScore, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use portolan_api::labels::ocm;
use portolan_engine::engine::Engine;
use portolan_engine::fleet::Inventory;
use portolan_engine::placement::PlacementKey;
use portolan_reference::{Hub, PlainOutcome, Usage};

use super::edits::{self, Edit};

/// Decisions by placement.
pub(crate) type Decisions = BTreeMap<PlacementKey, Vec<PlacementDecision>>;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) clusters: BTreeMap<String, ManagedCluster>,
    pub(crate) sets: BTreeMap<String, ManagedClusterSet>,
    pub(crate) bindings: BTreeMap<(String, String), ManagedClusterSetBinding>,
    pub(crate) scores: BTreeMap<(String, String), AddOnPlacementScore>,
    pub(crate) placements: BTreeMap<PlacementKey, Placement>,
    /// What each placement decided last, as far as it is written.
    pub(crate) prior: Decisions,
    /// The same with what is being written: what Balance counts.
    pub(crate) counted: Decisions,
    /// Units that the expressions of one placement may cost.
    pub(crate) expression_budget: u64,
}

impl World {
    pub(crate) fn new() -> World {
        World {
            now: super::start(),
            clusters: BTreeMap::new(),
            sets: BTreeMap::new(),
            bindings: BTreeMap::new(),
            scores: BTreeMap::new(),
            placements: BTreeMap::new(),
            prior: Decisions::new(),
            counted: Decisions::new(),
            expression_budget: portolan_cel::Budget::PER_PLACEMENT,
        }
    }

    /// Makes the edit here and tells the engine, the way a watch would.
    pub(crate) fn apply(&mut self, edit: &Edit, engine: &mut Engine) {
        let change =
            |world: &mut World, engine: &mut Engine, name: &str, change: &dyn Fn(&mut ManagedCluster)| {
                if let Some(cluster) = world.clusters.get_mut(name) {
                    change(cluster);
                    engine.apply_cluster(cluster);
                }
            };
        match edit {
            Edit::Cluster(cluster) => {
                self.clusters.insert(name(&cluster.metadata), cluster.clone());
                engine.apply_cluster(cluster);
            }
            Edit::RemoveCluster(name) => {
                self.clusters.remove(name);
                engine.remove_cluster(name);
            }
            Edit::Label(name, key, value) => {
                change(self, engine, name, &|cluster| set_label(cluster, key, value));
            }
            Edit::ClusterSetLabel(name, value) => {
                change(self, engine, name, &|cluster| {
                    set_label(cluster, ocm::CLUSTER_SET, value)
                });
            }
            Edit::Claims(name, claims) => change(self, engine, name, &|cluster| {
                cluster
                    .status
                    .get_or_insert_default()
                    .cluster_claims
                    .clone_from(claims);
            }),
            Edit::Taints(name, taints) => {
                change(self, engine, name, &|cluster| {
                    cluster.spec.taints.clone_from(taints)
                });
            }
            Edit::Resources(name, allocatable, capacity) => change(self, engine, name, &|cluster| {
                let status = cluster.status.get_or_insert_default();
                status.allocatable.clone_from(allocatable);
                status.capacity.clone_from(capacity);
            }),
            Edit::Deleting(name, deleting) => change(self, engine, name, &|cluster| {
                cluster.metadata.deletion_timestamp = deleting.then(|| super::time(0));
            }),
            Edit::Set(set) => {
                self.sets.insert(name(&set.metadata), set.clone());
                engine.apply_set(set);
            }
            Edit::RemoveSet(name) => {
                self.sets.remove(name);
                engine.remove_set(name);
            }
            Edit::Binding(binding) => {
                self.bindings.insert(names(&binding.metadata), binding.clone());
                engine.apply_binding(binding);
            }
            Edit::RemoveBinding(namespace, name) => {
                self.bindings.remove(&(namespace.clone(), name.clone()));
                engine.remove_binding(namespace, name);
            }
            Edit::Score(score) => {
                self.scores.insert(names(&score.metadata), score.clone());
                engine.apply_score(score);
            }
            Edit::RemoveScore(namespace, name) => {
                self.scores.remove(&(namespace.clone(), name.clone()));
                engine.remove_score(namespace, name);
            }
            Edit::Placement(placement) => {
                self.placements
                    .insert(PlacementKey::of(placement), placement.clone());
                engine.apply_placement(placement);
            }
            Edit::RemovePlacement(key) => {
                if self.placements.remove(key).is_some() {
                    self.complete(key);
                }
                engine.remove_placement(key);
            }
            Edit::Observe(key, decisions) => {
                self.counted.insert(key.clone(), decisions.clone());
                self.complete(key);
                engine.observe_decisions(key, decisions);
            }
            Edit::Advance(seconds) => self.now += SignedDuration::from_secs(*seconds),
        }
    }

    /// What is being written is written.
    pub(crate) fn complete(&mut self, key: &PlacementKey) {
        let counted = self.counted.get(key).cloned().unwrap_or_default();
        self.prior.insert(key.clone(), counted);
    }

    /// Makes an outcome part of what Balance counts. One that keeps the last decision changes nothing.
    pub(crate) fn fold(&mut self, key: &PlacementKey, outcome: &PlainOutcome) {
        if outcome.status.keeps_last_decision() {
            return;
        }
        let groups = outcome.groups.iter().enumerate();
        let decisions = groups.map(|(index, (group, clusters))| {
            edits::decision(&key.namespace, &key.name, index, index, group, clusters)
        });
        self.counted.insert(key.clone(), decisions.collect());
    }

    /// How often other placements use each cluster.
    pub(crate) fn usage(&self, key: &PlacementKey) -> Usage {
        portolan_reference::usage_without(self.counted.values().flatten(), &key.namespace, &key.name)
    }

    pub(crate) fn plain(&self, key: &PlacementKey, own: &[PlacementDecision], usage: &Usage) -> PlainOutcome {
        let hub = Hub::new(
            self.clusters.values(),
            self.sets.values(),
            self.bindings.values(),
            self.scores.values(),
        )
        .with_expression_budget(self.expression_budget);
        portolan_reference::evaluate(&hub, &self.placements[key], own, usage, self.now)
    }

    pub(crate) fn own<'a>(decisions: &'a Decisions, key: &PlacementKey) -> &'a [PlacementDecision] {
        decisions.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// An engine that is given all objects in the order of `salt`, and has never seen any others.
    pub(crate) fn fresh_engine(&self, salt: usize) -> Engine {
        let mut engine =
            Engine::new(Inventory::ManagedClusters).with_expression_budget(self.expression_budget);
        let observed = self.counted.iter().filter(|(_, decisions)| !decisions.is_empty());
        let mut edits: Vec<Edit> = self.clusters.values().cloned().map(Edit::Cluster).collect();
        edits.extend(self.sets.values().cloned().map(Edit::Set));
        edits.extend(self.bindings.values().cloned().map(Edit::Binding));
        edits.extend(self.scores.values().cloned().map(Edit::Score));
        edits.extend(self.placements.values().cloned().map(Edit::Placement));
        edits.extend(observed.map(|(key, decisions)| Edit::Observe(key.clone(), decisions.clone())));
        let mut scratch = World::new();
        for (_, edit) in shuffled(&edits, salt) {
            scratch.apply(edit, &mut engine);
        }
        engine
    }
}

/// The items in an order that depends on nothing but `salt`.
pub(crate) fn shuffled<T>(items: &[T], salt: usize) -> BTreeMap<(usize, usize), &T> {
    let place = |index: usize| {
        index
            .wrapping_add(1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ salt)
            .rotate_left(17)
    };
    items
        .iter()
        .enumerate()
        .map(|(index, item)| ((place(index), index), item))
        .collect()
}

fn set_label(cluster: &mut ManagedCluster, key: &str, value: &Option<String>) {
    let labels = cluster.metadata.labels.get_or_insert_default();
    match value {
        Some(value) => labels.insert(key.to_owned(), value.clone()),
        None => labels.remove(key),
    };
}

fn name(metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> String {
    metadata.name.clone().unwrap_or_default()
}

fn names(metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> (String, String) {
    (metadata.namespace.clone().unwrap_or_default(), name(metadata))
}
