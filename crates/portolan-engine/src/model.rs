//! What selection hands to layout: the chosen clusters, in decision groups.

use std::sync::Arc;

/// One cluster that a placement selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Name of the cluster: the ManagedCluster's, or the ClusterProfile's in a profile inventory.
    pub name: Arc<str>,
    /// Weighted total of all prioritizers.
    pub score: i64,
    /// Number of untolerated PreferNoSelect taints: it ranks before the score.
    pub avoided: u32,
}

/// One decision group. Its index is its position in the list that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Group {
    /// Name from `decisionGroups[].groupName`, or empty for the clusters that no named group took.
    pub name: String,
    /// Clusters by name, or by rank when the placement sorts by score.
    pub clusters: Vec<Chosen>,
}
