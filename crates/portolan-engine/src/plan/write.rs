//! The requests of a plan.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::{
    cluster::{self, PlacementDecisionStatus, PlacementStatus},
    multicluster,
};

use super::Observed;

/// One request to the API server.
///
/// Each names the version it was derived from, where one is known. A later write of the same plan to the same object
/// is made with the version that the earlier one was acknowledged with.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Create an OCM decision. It has no status: a server drops it here.
    CreateDecision(Box<cluster::PlacementDecision>),
    /// Set labels, annotations and owner references of an OCM decision.
    DecisionMetadata(Box<ObjectMeta>),
    /// Set the status of an OCM decision.
    DecisionStatus {
        /// Which one.
        object: Reference,
        /// The whole status.
        status: PlacementDecisionStatus,
    },
    /// Delete an OCM decision.
    DeleteDecision(Reference),
    /// Create a KEP slice.
    CreateSlice(Box<multicluster::PlacementDecision>),
    /// Replace a KEP slice, labels and entries in one write.
    ReplaceSlice(Box<multicluster::PlacementDecision>),
    /// Delete a KEP slice.
    DeleteSlice(Reference),
    /// Set the status of the placement.
    PlacementStatus(Box<PlacementStatus>),
}

/// An object and the version of it that a write was derived from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// UID of the object, if it was observed.
    pub uid: Option<String>,
    /// Version of the object, if it was observed.
    pub resource_version: Option<String>,
}

impl Reference {
    pub(super) fn to(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
        }
    }

    fn is(&self, metadata: &ObjectMeta) -> bool {
        let same = |field: &Option<String>, value: &str| field.as_deref().unwrap_or_default() == value;
        same(&metadata.name, &self.name) && same(&metadata.namespace, &self.namespace)
    }
}

impl Write {
    pub(super) fn delete_decision(metadata: &ObjectMeta) -> Self {
        Self::DeleteDecision(Reference::to(metadata))
    }

    pub(super) fn delete_slice(metadata: &ObjectMeta) -> Self {
        Self::DeleteSlice(Reference::to(metadata))
    }

    /// Does the write to objects in memory, as a server would. Creating what is there replaces it; changing or
    /// deleting what is not there does nothing.
    pub fn apply(&self, observed: &mut Observed) {
        match self {
            Self::CreateDecision(object) => {
                let object = cluster::PlacementDecision {
                    metadata: object.metadata.clone(),
                    status: None,
                };
                let own = Reference::to(&object.metadata);
                observed.decisions.retain(|other| !own.is(&other.metadata));
                observed.decisions.push(object);
            }
            Self::DecisionMetadata(metadata) => {
                let own = Reference::to(metadata);
                if let Some(object) = observed
                    .decisions
                    .iter_mut()
                    .find(|object| own.is(&object.metadata))
                {
                    object.metadata = kept_by_server(&object.metadata, metadata);
                }
            }
            Self::DecisionStatus { object, status } => {
                if let Some(found) = observed
                    .decisions
                    .iter_mut()
                    .find(|found| object.is(&found.metadata))
                {
                    found.status = Some(status.clone());
                }
            }
            Self::DeleteDecision(object) => observed.decisions.retain(|other| !object.is(&other.metadata)),
            Self::CreateSlice(slice) | Self::ReplaceSlice(slice) => {
                let own = Reference::to(&slice.metadata);
                match observed.slices.iter_mut().find(|other| own.is(&other.metadata)) {
                    Some(other) => {
                        let metadata = kept_by_server(&other.metadata, &slice.metadata);
                        *other = multicluster::PlacementDecision {
                            metadata,
                            ..(**slice).clone()
                        };
                    }
                    None if matches!(self, Self::CreateSlice(_)) => observed.slices.push((**slice).clone()),
                    None => {}
                }
            }
            Self::DeleteSlice(slice) => observed.slices.retain(|other| !slice.is(&other.metadata)),
            Self::PlacementStatus(status) => observed.status = Some((**status).clone()),
        }
    }
}

/// The metadata that an update results in: what only a server writes stays.
fn kept_by_server(observed: &ObjectMeta, written: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        uid: observed.uid.clone(),
        resource_version: observed.resource_version.clone(),
        creation_timestamp: observed.creation_timestamp.clone(),
        generation: observed.generation,
        managed_fields: observed.managed_fields.clone(),
        ..written.clone()
    }
}
