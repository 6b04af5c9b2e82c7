//! From manifests to an engine that has seen them, and to what each placement has stored.
//!
//! Both `simulate` and `explain` ask it. Nothing is evaluated here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clap::ValueEnum;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{Placement, PlacementDecision};
use portolan_api::labels::{SCHEDULER_NAME, multicluster as kep, ocm, portolan};
use portolan_api::{multicluster, shorten};
use portolan_engine::decide::{Stored, detect_inventory};
use portolan_engine::engine::Engine;
use portolan_engine::fleet;
use portolan_engine::placement::PlacementKey;

use crate::input::{Manifests, Notes, Problem};

/// `--inventory`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inventory {
    /// ClusterProfiles when there is no ManagedCluster in the input
    #[default]
    Auto,
    /// ManagedClusters with sets and bindings
    Managedclusters,
    /// The ClusterProfiles of each placement's own namespace
    Clusterprofiles,
}

impl Inventory {
    /// Which inventory these manifests are read as.
    pub(crate) fn resolve(self, manifests: &Manifests) -> fleet::Inventory {
        match self {
            Inventory::Auto => detect_inventory(manifests.clusters().count(), manifests.profiles().count()),
            Inventory::Managedclusters => fleet::Inventory::ManagedClusters,
            Inventory::Clusterprofiles => fleet::Inventory::ClusterProfiles,
        }
    }
}

/// An engine that has seen the manifests, and what its placements have stored.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) engine: Engine,
    decisions: BTreeMap<Arc<str>, Vec<PlacementDecision>>,
    slices: BTreeMap<Arc<str>, Vec<multicluster::PlacementDecision>>,
}

impl World {
    pub(crate) fn new(manifests: &Manifests, inventory: Inventory) -> World {
        let mut engine = Engine::new(inventory.resolve(manifests));
        manifests.cluster_sets().for_each(|set| engine.apply_set(set));
        manifests
            .bindings()
            .for_each(|binding| engine.apply_binding(binding));
        manifests
            .clusters()
            .for_each(|cluster| engine.apply_cluster(cluster));
        manifests
            .profiles()
            .for_each(|profile| engine.apply_profile(profile));
        manifests.scores().for_each(|score| engine.apply_score(score));
        manifests
            .placements()
            .filter(|placement| is_ours(placement))
            .for_each(|placement| {
                engine.apply_placement(placement);
            });
        let mut world = World {
            engine,
            decisions: BTreeMap::new(),
            slices: BTreeMap::new(),
        };
        for decision in manifests.decisions() {
            world
                .decisions
                .entry(namespace(&decision.metadata))
                .or_default()
                .push(decision.clone());
        }
        for slice in manifests.slices() {
            world
                .slices
                .entry(namespace(&slice.metadata))
                .or_default()
                .push(slice.clone());
        }
        world.observe();
        world
    }

    /// Tells the engine which decisions belong to which placement. Those of placements that are not in the input are
    /// told too: they count for Balance.
    fn observe(&mut self) {
        let by_label: BTreeMap<(Arc<str>, String), PlacementKey> = self
            .engine
            .placements()
            .map(|key| {
                (
                    (
                        key.namespace.clone(),
                        shorten::label_value(&key.name).into_owned(),
                    ),
                    key.clone(),
                )
            })
            .collect();
        for (namespace, decisions) in &self.decisions {
            let mut owners: BTreeMap<String, Vec<PlacementDecision>> = BTreeMap::new();
            for decision in decisions {
                // A decision without the label is nobody's prior and still counts.
                let owner = label(&decision.metadata, ocm::PLACEMENT).unwrap_or_default();
                owners.entry(owner.to_owned()).or_default().push(decision.clone());
            }
            for (owner, decisions) in owners {
                let named = || PlacementKey::new(namespace, &owner);
                let key = by_label
                    .get(&(namespace.clone(), owner.clone()))
                    .cloned()
                    .unwrap_or_else(named);
                self.engine.observe_decisions(&key, &decisions);
            }
        }
    }

    /// The placements that are evaluated, in order.
    pub(crate) fn placements(&self) -> Vec<PlacementKey> {
        self.engine.placements().cloned().collect()
    }

    /// The placement with that namespace and name, or an error that names those that are there.
    pub(crate) fn find(&self, wanted: &PlacementKey) -> Result<PlacementKey, Problem> {
        if self.engine.placement(wanted).is_some() {
            return Ok(wanted.clone());
        }
        let mut names: Vec<String> = self.engine.placements().map(ToString::to_string).collect();
        let more = names.len().saturating_sub(10);
        names.truncate(10);
        let there = match (names.is_empty(), more) {
            (true, _) => "there is no Placement in it".to_owned(),
            (_, 0) => format!("accepted: {}", names.join(", ")),
            _ => format!("accepted: {} and {more} more", names.join(", ")),
        };
        Err(Problem::of_arguments(format!(
            "--placement {wanted} is not in the input; {there}"
        )))
    }

    /// What a placement has stored, and what of others stands on its names or under its key, in index order.
    pub(crate) fn stored(&self, key: &PlacementKey) -> Stored {
        let prefix = format!("{}-decision-", key.name);
        let concerns =
            |metadata: &ObjectMeta| metadata.name.as_deref().unwrap_or_default().starts_with(&prefix);
        let decisions = self.decisions.get(&key.namespace).into_iter().flatten();
        let mut decisions: Vec<_> = decisions
            .filter(|decision| owns_decision(key, decision) || concerns(&decision.metadata))
            .cloned()
            .collect();
        decisions.sort_by_key(|decision| number(&decision.metadata, None));
        let slices = self.slices.get(&key.namespace).into_iter().flatten();
        let mut slices: Vec<_> = slices
            .filter(|slice| has_key(key, slice) || concerns(&slice.metadata))
            .cloned()
            .collect();
        slices.sort_by_key(|slice| number(&slice.metadata, Some(kep::DECISION_INDEX)));
        Stored { decisions, slices }
    }
}

/// Whether a decision is the placement's: by namespace, which is given, and label.
pub(crate) fn owns_decision(key: &PlacementKey, decision: &PlacementDecision) -> bool {
    label(&decision.metadata, ocm::PLACEMENT) == Some(&*shorten::label_value(&key.name))
}

/// Whether a slice is the placement's: by key and scheduler.
pub(crate) fn owns_slice(key: &PlacementKey, slice: &multicluster::PlacementDecision) -> bool {
    has_key(key, slice) && slice.scheduler_name.as_deref() == Some(SCHEDULER_NAME)
}

fn has_key(key: &PlacementKey, slice: &multicluster::PlacementDecision) -> bool {
    label(&slice.metadata, kep::DECISION_KEY) == Some(&*shorten::label_value(&key.name))
}

/// OCM's own controllers keep away from a placement with the first annotation, and it is handed to us by the second.
fn is_ours(placement: &Placement) -> bool {
    let annotation = |key: &str| {
        placement
            .metadata
            .annotations
            .as_ref()
            .and_then(|all| all.get(key))
    };
    let disabled = annotation(ocm::SCHEDULING_DISABLE).is_some_and(|value| value == "true");
    let handed_over = annotation(portolan::SCHEDULER).is_some_and(|value| value == SCHEDULER_NAME);
    (!disabled || handed_over) && placement.metadata.deletion_timestamp.is_none()
}

/// Says what of the input has no part in the answer, and what the answer lacks.
pub(crate) fn note_gaps(manifests: &Manifests, inventory: Inventory, notes: &mut Notes) {
    for placement in manifests.placements().filter(|placement| !is_ours(placement)) {
        let key = PlacementKey::of(placement);
        let why = match placement.metadata.deletion_timestamp {
            Some(_) => "it is being deleted".to_owned(),
            None => format!(
                "annotation {} hands it to another scheduler",
                ocm::SCHEDULING_DISABLE
            ),
        };
        notes.remark(format!("left out: Placement {key}: {why}"));
    }
    if manifests.placements().next().is_none() {
        notes.remark("there is no Placement in the input");
    }
    if inventory.resolve(manifests) == fleet::Inventory::ManagedClusters {
        let sets: BTreeSet<&str> = manifests
            .cluster_sets()
            .filter_map(|set| set.metadata.name.as_deref())
            .collect();
        let bound = manifests
            .bindings()
            .filter_map(|binding| binding.metadata.name.as_deref());
        for name in bound.filter(|name| !sets.contains(name)) {
            notes.remark(format!(
                "ManagedClusterSet {name} is bound but not in the input: the binding has no effect"
            ));
        }
    }
}

fn namespace(metadata: &ObjectMeta) -> Arc<str> {
    metadata.namespace.as_deref().unwrap_or_default().into()
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// Sorts objects by the number in a label or at the end of their name, then by name.
fn number(metadata: &ObjectMeta, label_key: Option<&str>) -> (u64, String) {
    let name = metadata.name.as_deref().unwrap_or_default();
    let labelled = label_key.and_then(|key| label(metadata, key)?.parse().ok());
    let suffix = || name.rsplit('-').next().and_then(|suffix| suffix.parse().ok());
    (labelled.or_else(suffix).unwrap_or(u64::MAX), name.to_owned())
}
