//! Group `cluster.open-cluster-management.io`: the request API, the OCM-shaped output and the inventory.

mod cluster_set;
mod decision;
mod managed_cluster;
mod placement;
mod prioritizer;
mod score;
mod selector;
mod spread;
mod strategy;
mod toleration;

pub use cluster_set::{
    ManagedClusterSelector, ManagedClusterSet, ManagedClusterSetBinding, ManagedClusterSetBindingSpec,
    ManagedClusterSetBindingStatus, ManagedClusterSetSpec, ManagedClusterSetStatus,
};
pub use decision::{ClusterDecision, PlacementDecision, PlacementDecisionStatus, content_hash};
pub use managed_cluster::{
    ClientConfig, ClusterSetManagedNamespaceConfig, ManagedCluster, ManagedClusterClaim, ManagedClusterSpec,
    ManagedClusterStatus, ManagedClusterVersion, ManagedNamespaceConfig, Taint,
};
pub use placement::{DecisionGroupStatus, Placement, PlacementSpec, PlacementStatus, SortBy};
pub use prioritizer::{AddOnScore, PrioritizerConfig, PrioritizerPolicy, ScoreCoordinate};
pub use score::{AddOnPlacementScore, AddOnPlacementScoreItem, AddOnPlacementScoreStatus};
pub use selector::{ClusterCelSelector, ClusterClaimSelector, ClusterPredicate, ClusterSelector};
pub use spread::{SpreadConstraintsTerm, SpreadPolicy, TopologyKeyType, UnsatisfiableAction};
pub use strategy::{
    DecisionGroup, DecisionStrategy, GroupAssignment, GroupClusterSelector, GroupStrategy, UpdateStrategy,
    UpdateStrategyType,
};
pub use toleration::{TaintEffect, Toleration};

/// The API group of every kind in this module.
pub const GROUP: &str = "cluster.open-cluster-management.io";
