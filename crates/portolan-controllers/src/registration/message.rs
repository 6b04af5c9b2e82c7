//! What the registration controller writes.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::clusters::ClusterChange;
use crate::reconcile::Version;

/// One write. Each but a creation carries the version that it was derived from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    CreateSet {
        name: String,
    },
    RepairSet {
        name: String,
        version: Version,
    },
    SetStatus {
        name: String,
        version: Version,
        conditions: Vec<Condition>,
    },
    BindingStatus {
        namespace: String,
        name: String,
        version: Version,
        conditions: Vec<Condition>,
    },
    Cluster {
        name: Arc<str>,
        version: Version,
        change: ClusterChange,
    },
    /// To be written if both are still what they were: a hub that could not be reached heard of no renewal either.
    Silent {
        name: Arc<str>,
        version: Version,
        lease: Version,
        at: Timestamp,
    },
}
