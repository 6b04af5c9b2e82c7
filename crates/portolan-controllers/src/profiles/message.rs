//! What the publisher's state hears, and what it wants done.

use std::sync::Arc;

use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use portolan_api::multicluster::ClusterProfile;
use portolan_runtime::watch::Delta;
use tokio::time::Instant;

use super::content::Content;
use crate::reconcile::{Failure, Version};

/// Which profile: namespace and name.
pub(crate) type Key = (Arc<str>, Arc<str>);

/// What the state hears.
#[derive(Debug)]
pub(crate) enum Input {
    Cluster(Delta<ManagedCluster>),
    Set(Delta<ManagedClusterSet>),
    Binding(Delta<ManagedClusterSetBinding>),
    Placement(Delta<Placement>),
    Profile(Delta<ClusterProfile>),
    /// Writes ended.
    Ended {
        at: Instant,
        endings: Vec<(Key, Outcome)>,
    },
}

/// How a write ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was carried out, and this is what the profile looks like.
    Shown(Arc<ClusterProfile>),
    /// It was begun: this is what the profile looks like, and then something failed.
    Begun(Arc<ClusterProfile>, Failure),
    /// The profile is deleted.
    Removed,
    /// The profile is not deleted, because a decision slice refers to it.
    Held,
    /// It was not carried out.
    Failed(Failure),
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    /// Creates a profile, and then writes its status.
    Create { key: Key, content: Arc<Content> },
    /// Puts labels and display name right.
    Metadata {
        key: Key,
        version: Version,
        content: Arc<Content>,
    },
    /// Puts the status right.
    Status { key: Key, content: Arc<Content> },
    /// Deletes profiles of one namespace.
    Remove {
        namespace: Arc<str>,
        profiles: Vec<Removal>,
    },
}

/// A profile to delete.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Removal {
    pub(crate) name: Arc<str>,
    pub(crate) version: Version,
    /// Whether it goes even while slices refer to it.
    pub(crate) unconditional: bool,
}
