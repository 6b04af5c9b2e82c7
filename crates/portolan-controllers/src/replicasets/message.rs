//! What the state hears, and what it wants done.

use std::sync::Arc;

use portolan_api::cluster::{
    ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement, PlacementDecision,
};
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet, ManifestWorkReplicaSetStatus};
use portolan_runtime::watch::Delta;
use serde_json::Value;
use tokio::time::Instant;

use super::key::{SetKey, WorkKey};
use super::set::Fingerprint;
use crate::reconcile::{Failure, Version};

/// What the state hears.
#[derive(Debug)]
pub(crate) enum Input {
    Set(Delta<ManifestWorkReplicaSet>),
    Work(Delta<ManifestWork>),
    Placement(Delta<Placement>),
    Decision(Delta<PlacementDecision>),
    Cluster(Delta<ManagedCluster>),
    ClusterSet(Delta<ManagedClusterSet>),
    Binding(Delta<ManagedClusterSetBinding>),
    /// A job ended.
    Ended(Box<Ending>),
}

/// How a job ended.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) set: SetKey,
    pub(crate) at: Instant,
    pub(crate) works: Vec<WorkEnding>,
    /// The template that was written.
    pub(crate) template: Fingerprint,
    /// What became of the replica set itself, if it was written; `None` is gone.
    pub(crate) object: Option<Result<Option<Arc<ManifestWorkReplicaSet>>, Failure>>,
}

/// What became of the write of one work.
#[derive(Debug)]
pub(crate) struct WorkEnding {
    pub(crate) key: WorkKey,
    pub(crate) kind: WorkWriteKind,
    /// The work as the server answered; `None` when it is deleted.
    pub(crate) result: Result<Option<Arc<ManifestWork>>, Failure>,
}

/// What a write of a work was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkWriteKind {
    /// A new work.
    Creation,
    /// The template on a work that there is.
    Template,
    /// Labels, or a deletion.
    Routine,
}

/// Everything to be written for one replica set now. Works are written in parallel, the replica set itself last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    pub(crate) set: SetKey,
    /// The template that works are written with.
    pub(crate) template: Fingerprint,
    pub(crate) works: Vec<WorkWrite>,
    pub(crate) object: Option<SetWrite>,
    /// The works go because the replica set does, which is to be believed only while its definition stays.
    pub(crate) is_farewell: bool,
}

/// One write of a work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WorkWrite {
    Create(Arc<ManifestWork>),
    /// Spec, labels and annotations become those of the object, which has no version; the rest stays.
    Replace {
        version: Version,
        work: Arc<ManifestWork>,
    },
    /// Labels alone.
    Labels {
        key: WorkKey,
        version: Version,
        labels: Value,
    },
    Delete {
        key: WorkKey,
        uid: String,
    },
}

impl WorkWrite {
    pub(crate) fn kind(&self) -> WorkWriteKind {
        match self {
            WorkWrite::Create(_) => WorkWriteKind::Creation,
            WorkWrite::Replace { .. } => WorkWriteKind::Template,
            WorkWrite::Labels { .. } | WorkWrite::Delete { .. } => WorkWriteKind::Routine,
        }
    }

    pub(crate) fn key(&self) -> WorkKey {
        match self {
            WorkWrite::Create(work) | WorkWrite::Replace { work, .. } => WorkKey {
                cluster: work.metadata.namespace.clone().unwrap_or_default(),
                name: work.metadata.name.clone().unwrap_or_default(),
            },
            WorkWrite::Labels { key, .. } | WorkWrite::Delete { key, .. } => key.clone(),
        }
    }
}

/// A write of the replica set itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SetWrite {
    Finalizers {
        version: Version,
        finalizers: Vec<String>,
    },
    Status {
        version: Version,
        status: Box<ManifestWorkReplicaSetStatus>,
    },
}
