//! The fleet index: clusters, sets, bindings and scores in the shape that evaluation reads.
//!
//! It holds what is, never what was decided by policy. `engine` feeds it changes and asks which placements they
//! concern; `evaluate` reads it. Everything a query needs is brought up to date by `prepare`, so that evaluation
//! itself only reads.

pub(crate) mod bits;
pub(crate) mod cel;
mod changes;
pub(crate) mod cluster;
pub(crate) mod counts;
mod delta;
mod document;
mod keys;
mod order;
mod pool;
mod query;
pub(crate) mod scores;
pub(crate) mod sets;
mod slots;
mod spending;

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_api::labels;

pub use bits::{ClusterId, Clusters};
pub(crate) use delta::{Change, ClusterDelta};
pub use sets::{Eligibility, set_mistake};
pub(crate) use spending::Spending;

use crate::selector::Selector;
use cel::CelVerdicts;
use cluster::Cluster;
use counts::Counts;
use keys::KeyIndex;
use order::NameOrder;
use pool::Pool;
use scores::Scores;
use sets::{Membership, Sets};
use slots::Slots;
use spending::Allowance;

/// Where clusters come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inventory {
    /// `ManagedCluster`s with sets and bindings.
    #[default]
    ManagedClusters,
    /// `ClusterProfile`s: a placement chooses among those of its own namespace.
    ClusterProfiles,
}

/// ClusterProfiles that stand for the same member cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateMembers {
    /// Which member cluster.
    pub member: String,
    /// Their names, from oldest to newest.
    pub profiles: Vec<String>,
    /// The one that counts, if one does.
    pub counts: Option<String>,
}

/// All clusters and what is known about them.
#[derive(Debug, Default)]
pub struct Fleet {
    inventory: Inventory,
    pool: Pool,
    slots: Slots,
    order: NameOrder,
    /// Clusters that are in the fleet and not being deleted.
    available: Clusters,
    labels: KeyIndex,
    claims: KeyIndex,
    /// Clusters with a taint that can reject them.
    tainted: Clusters,
    /// Clusters with a `PreferNoSelect` taint.
    avoided: Clusters,
    /// Allocatable CPU and memory; NaN where the cluster does not report both capacity and allocatable.
    cpu: Vec<f64>,
    memory: Vec<f64>,
    by_namespace: BTreeMap<Arc<str>, Clusters>,
    sets: Sets,
    scores: Scores,
    cel: CelVerdicts,
    allowance: Allowance,
    pub(crate) counts: Counts,
}

impl Fleet {
    /// An empty fleet over the given inventory.
    pub fn new(inventory: Inventory) -> Fleet {
        let mut fleet = Fleet {
            inventory,
            ..Fleet::default()
        };
        // Sets and profile inventories always look at their label.
        fleet.labels.retain_key(&labels::ocm::CLUSTER_SET.into());
        fleet.labels.retain_key(&labels::multicluster::CLUSTER_SET.into());
        fleet
    }

    /// An account of what the expressions of one placement cost.
    pub(crate) fn spending(&self) -> Spending {
        Spending::with_limit(self.allowance.0)
    }

    /// Lets the expressions of one placement cost so much; see `portolan_cel::Budget::PER_PLACEMENT`.
    pub(crate) fn set_expression_budget(&mut self, units: u64) {
        self.allowance = Allowance(units);
    }

    /// Which inventory the fleet is read from.
    pub fn inventory(&self) -> Inventory {
        self.inventory
    }

    /// Number of clusters, those being deleted included.
    pub fn len(&self) -> usize {
        self.slots.present()
    }

    /// Whether there is no cluster.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every cluster, those being deleted included, in id order.
    pub fn iter(&self) -> impl Iterator<Item = ClusterId> + '_ {
        self.slots.clusters().map(|(id, _)| id)
    }

    /// Name of a cluster.
    pub fn name(&self, cluster: ClusterId) -> &Arc<str> {
        &self.slots.key(cluster).1
    }

    /// The cluster a placement of `namespace` means by `name`.
    pub fn find(&self, namespace: &str, name: &str) -> Option<ClusterId> {
        self.slots.find(self.scope(namespace), name)
    }

    /// The clusters of `set` in name order.
    pub(crate) fn sorted(&self, set: &Clusters) -> Vec<ClusterId> {
        self.order.sorted(set)
    }

    pub(crate) fn rank(&self, cluster: ClusterId) -> u32 {
        self.order.rank(cluster)
    }

    pub(crate) fn cluster(&self, cluster: ClusterId) -> Option<&Cluster> {
        self.slots.cluster(cluster)
    }

    pub(crate) fn cpu(&self) -> &[f64] {
        &self.cpu
    }

    pub(crate) fn memory(&self) -> &[f64] {
        &self.memory
    }

    pub(crate) fn tainted(&self) -> &Clusters {
        &self.tainted
    }

    pub(crate) fn avoided(&self) -> &Clusters {
        &self.avoided
    }

    pub(crate) fn set_problem(&self, set: &str) -> Option<&str> {
        match &self.sets.sets.get(set)?.membership {
            Membership::Invalid(problem) => Some(problem),
            _ => None,
        }
    }

    pub(crate) fn set_selector(&self, set: &str) -> Option<&Selector> {
        match &self.sets.sets.get(set)?.membership {
            Membership::Selector(selector) => Some(selector),
            _ => None,
        }
    }

    pub(crate) fn in_set(&self, set: &str, cluster: ClusterId) -> bool {
        self.sets
            .sets
            .get(set)
            .is_some_and(|set| set.members.contains(cluster))
    }

    /// Profiles of different namespaces are different clusters; ManagedClusters have no namespace.
    fn scope<'a>(&self, namespace: &'a str) -> &'a str {
        match self.inventory {
            Inventory::ManagedClusters => "",
            Inventory::ClusterProfiles => namespace,
        }
    }
}
