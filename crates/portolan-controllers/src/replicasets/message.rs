//! What the state hears, and what it wants done.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{ManagedCluster, Placement, PlacementDecision};
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet, ManifestWorkReplicaSetStatus};
use serde_json::Value;
use tokio::time::Instant;

use super::set::Fingerprint;
use crate::upkeep::{Failure, Version};
use crate::watch::Delta;

/// A replica set: namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SetKey {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl SetKey {
    pub(crate) fn new(namespace: &str, name: &str) -> SetKey {
        SetKey {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The owner label of its works. Namespaces have no dots, so the first one ends the namespace.
    pub(crate) fn label(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }

    /// The replica set that an owner label names.
    pub(crate) fn of_label(label: &str) -> Option<SetKey> {
        let (namespace, name) = label.split_once('.')?;
        (!namespace.is_empty() && !name.is_empty()).then(|| SetKey::new(namespace, name))
    }
}

impl fmt::Display for SetKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// A work: the cluster's namespace and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkKey {
    pub(crate) cluster: String,
    pub(crate) name: String,
}

impl WorkKey {
    /// The key of the work with this metadata.
    pub(super) fn of(metadata: &ObjectMeta) -> WorkKey {
        WorkKey {
            cluster: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for WorkKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.cluster, self.name)
    }
}

/// What the state hears.
#[derive(Debug)]
pub(crate) enum Input {
    Set(Delta<ManifestWorkReplicaSet>),
    Work(Delta<ManifestWork>),
    Placement(Delta<Placement>),
    Decision(Delta<PlacementDecision>),
    Cluster(Delta<ManagedCluster>),
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
    Upkeep,
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
            WorkWrite::Labels { .. } | WorkWrite::Delete { .. } => WorkWriteKind::Upkeep,
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
