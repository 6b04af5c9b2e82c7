//! What the profile controller remembers of a ManagedCluster.

use std::sync::Arc;

use super::content::Content;
use crate::reconcile::Labels;

#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) labels: Labels,
    pub(super) deleting: bool,
    pub(super) content: Arc<Content>,
}
