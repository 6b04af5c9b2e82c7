//! One group of a decision.

use std::sync::Arc;

use crate::fleet::ClusterId;

/// One group of clusters, by name or by score as the placement asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterGroup {
    /// Name of the group; empty for the rest.
    pub name: Arc<str>,
    /// Its clusters in order.
    pub clusters: Vec<ClusterId>,
}
