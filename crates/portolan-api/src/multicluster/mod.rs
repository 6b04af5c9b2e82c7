//! Group `multicluster.x-k8s.io`: the vendor-neutral decision, the cluster inventory and the work API.

mod cluster_profile;
mod placement_decision;
mod work;

pub use cluster_profile::{
    AccessProvider, ClusterAccess, ClusterManager, ClusterProfile, ClusterProfileSpec, ClusterProfileStatus,
    ClusterVersion, NamedExtension, Property,
};
pub use placement_decision::{ClusterDecision, ClusterProfileReference, PlacementDecision};
pub use work::{
    AppliedResource, AppliedWork, AppliedWorkSpec, AppliedWorkStatus, ManifestCondition, ResourceIdentifier,
    Work, WorkSpec, WorkStatus, WorkloadTemplate,
};

/// The API group of every kind in this module.
pub const GROUP: &str = "multicluster.x-k8s.io";

/// How many entries one decision slice may hold.
pub const MAX_DECISIONS: usize = 100;
