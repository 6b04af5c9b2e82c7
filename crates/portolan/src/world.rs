//! From manifests to an engine that has seen them, and to what each placement has stored.
//!
//! Both `simulate` and `explain` ask it. Nothing is evaluated here.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::ValueEnum;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::PlacementDecision;
use portolan_api::labels::ocm;
use portolan_api::{multicluster, shorten};
use portolan_engine::decide::{Stored, detect_inventory};
use portolan_engine::engine::Engine;
use portolan_engine::fleet;
use portolan_engine::placement::{
    PlacementKey, decision_name_prefix, has_key, is_ours, owns_decision, why_not_ours, with_stand_ins,
};

use crate::input::{Manifests, Notes, Problem};
use crate::object_name;

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

/// Placements of the hub that cannot be read. The controllers keep what was decided for them.
fn unreadable(manifests: &Manifests) -> impl Iterator<Item = (PlacementKey, String)> {
    manifests.unreadable("Placement").filter_map(|(name, why)| {
        let (namespace, name) = name.split_once('/')?;
        Some((
            PlacementKey::new(namespace, name),
            format!("it cannot be read: {why}"),
        ))
    })
}

/// An engine that has seen the manifests, and what its placements have stored.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) engine: Engine,
    decisions: BTreeMap<Arc<str>, Vec<PlacementDecision>>,
    slices: BTreeMap<Arc<str>, Vec<multicluster::PlacementDecision>>,
    /// Placements for which nothing is decided, and why.
    left_out: BTreeMap<PlacementKey, String>,
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
                // What the controllers would evaluate; they report a word that is not known.
                let mut placement = placement.clone();
                let _ = with_stand_ins(&mut placement);
                engine.apply_placement(&placement);
            });
        let mut world = World {
            engine,
            decisions: BTreeMap::new(),
            slices: BTreeMap::new(),
            left_out: manifests
                .placements()
                .filter_map(|placement| Some((PlacementKey::of(placement), why_not_ours(placement)?)))
                .chain(unreadable(manifests))
                .collect(),
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

    /// The placement with that namespace and name, or an error that names the placements `place` has.
    pub(crate) fn find(&self, wanted: &PlacementKey, place: &str) -> Result<PlacementKey, Problem> {
        if self.engine.placement(wanted).is_some() {
            return Ok(wanted.clone());
        }
        if let Some(why) = self.left_out.get(wanted) {
            return Err(Problem::of_arguments(format!(
                "nothing is decided for the Placement {wanted} {place}: {why}"
            )));
        }
        let there = self.engine.placements().chain(self.left_out.keys()).cloned();
        Err(object_name::missing("Placement", wanted, place, there))
    }

    /// What a placement has stored, and what of others stands on its names or under its key, in index order.
    pub(crate) fn stored(&self, key: &PlacementKey) -> Stored {
        let prefix = decision_name_prefix(key);
        let concerns =
            |metadata: &ObjectMeta| metadata.name.as_deref().unwrap_or_default().starts_with(&prefix);
        let decisions = self.decisions.get(&key.namespace).into_iter().flatten();
        let decisions: Vec<_> = decisions
            .filter(|decision| owns_decision(key, decision) || concerns(&decision.metadata))
            .cloned()
            .collect();
        let slices = self.slices.get(&key.namespace).into_iter().flatten();
        let slices: Vec<_> = slices
            .filter(|slice| has_key(key, slice) || concerns(&slice.metadata))
            .cloned()
            .collect();
        let mut stored = Stored { decisions, slices };
        stored.sort();
        stored
    }
}

/// Says what of the input has no part in the answer. Bindings without a set are in the conditions of the placements that
/// could use them.
pub(crate) fn note_gaps(manifests: &Manifests, notes: &mut Notes) {
    for placement in manifests.placements() {
        if let Some(why) = why_not_ours(placement) {
            let key = PlacementKey::of(placement);
            notes.remark(format!("left out: Placement {key}: {why}"));
        }
    }
    if manifests.placements().next().is_none() {
        notes.remark("there is no Placement in the input");
    }
}

fn namespace(metadata: &ObjectMeta) -> Arc<str> {
    metadata.namespace.as_deref().unwrap_or_default().into()
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}
