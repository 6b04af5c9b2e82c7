//! A plan that is being made, before it is sorted.

use crate::cluster::Cluster;

/// A plan that is being made.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) to_rollout: Vec<Cluster>,
    pub(crate) timed_out: Vec<Cluster>,
    pub(crate) breach: bool,
}
