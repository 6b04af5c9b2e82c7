//! Label and annotation keys, spelt from the documents.
//!
//! They are not taken from the API crate on purpose: a misspelt constant there would otherwise be invisible here.

/// Groups the slices of one logical decision.
pub(crate) const DECISION_KEY: &str = "multicluster.x-k8s.io/decision-key";
/// Position of a slice, from 0.
pub(crate) const DECISION_INDEX: &str = "multicluster.x-k8s.io/decision-index";
/// Revision of the set that a slice belongs to.
pub(crate) const DECISION_REVISION: &str = "multicluster.x-k8s.io/decision-revision";
/// Number of slices in the revision.
pub(crate) const DECISION_SLICE_COUNT: &str = "multicluster.x-k8s.io/decision-slice-count";
/// Links a decision to a workload.
pub(crate) const PLACEMENT_KEY: &str = "multicluster.x-k8s.io/placement-key";
/// First revision of the KEP: name of the placement.
pub(crate) const R1_PLACEMENT: &str = "multicluster.x-k8s.io/placement";
/// First revision of the KEP: name of the scheduler.
pub(crate) const R1_SCHEDULER: &str = "multicluster.x-k8s.io/scheduler";
/// Two profiles with the same value are the same cluster.
pub(crate) const INVENTORY_MEMBER_ID: &str = "multicluster.x-k8s.io/inventory-member-id";
/// Group index of a slice.
pub(crate) const DECISION_GROUP_INDEX: &str = "multicluster.x-k8s.io/decision-group-index";
/// Placement of an OCM decision.
pub(crate) const OCM_PLACEMENT: &str = "cluster.open-cluster-management.io/placement";
/// Group index of an OCM decision.
pub(crate) const OCM_GROUP_INDEX: &str = "cluster.open-cluster-management.io/decision-group-index";
/// Group name of an OCM decision.
pub(crate) const OCM_GROUP_NAME: &str = "cluster.open-cluster-management.io/decision-group-name";
/// Hash of the group and the clusters of an OCM object.
pub(crate) const CONTENT: &str = "portolan.dev/content";
