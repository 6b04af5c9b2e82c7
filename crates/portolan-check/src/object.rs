//! The objects that checks read, of every kind.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::{cluster, multicluster};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::Value;

use crate::Cluster;

/// The kinds that checks look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectKind {
    /// `PlacementDecision` of `multicluster.x-k8s.io`.
    Slice,
    /// `PlacementDecision` of `cluster.open-cluster-management.io`.
    Decision,
    /// `Placement` of `cluster.open-cluster-management.io`.
    Placement,
    /// `ClusterProfile` of `multicluster.x-k8s.io`.
    Profile,
}

impl ObjectKind {
    /// API version and kind as they are written.
    pub fn api(self) -> (&'static str, &'static str) {
        match self {
            Self::Slice => ("multicluster.x-k8s.io/v1alpha1", "PlacementDecision"),
            Self::Decision => ("cluster.open-cluster-management.io/v1beta1", "PlacementDecision"),
            Self::Placement => ("cluster.open-cluster-management.io/v1beta1", "Placement"),
            Self::Profile => ("multicluster.x-k8s.io/v1alpha1", "ClusterProfile"),
        }
    }

    fn of(api_version: &str, kind: &str) -> Option<Self> {
        let group = api_version.split_once('/').map(|(group, _)| group)?;
        match (group, kind) {
            ("multicluster.x-k8s.io", "PlacementDecision") => Some(Self::Slice),
            ("multicluster.x-k8s.io", "ClusterProfile") => Some(Self::Profile),
            ("cluster.open-cluster-management.io", "PlacementDecision") => Some(Self::Decision),
            ("cluster.open-cluster-management.io", "Placement") => Some(Self::Placement),
            _ => None,
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slice => "PlacementDecision.multicluster.x-k8s.io",
            Self::Decision => "PlacementDecision.cluster.open-cluster-management.io",
            Self::Placement => "Placement",
            Self::Profile => "ClusterProfile",
        })
    }
}

/// Which object: kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// Kind of the object.
    pub kind: ObjectKind,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// An object of one of the kinds that checks look at. Serialises as the object itself, with `apiVersion` and `kind`.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A slice of a KEP decision.
    Slice(multicluster::PlacementDecision),
    /// An object of an OCM decision.
    Decision(cluster::PlacementDecision),
    /// A Placement.
    Placement(Box<cluster::Placement>),
    /// A ClusterProfile.
    Profile(Box<multicluster::ClusterProfile>),
}

impl Object {
    /// The kind of the object.
    pub fn kind(&self) -> ObjectKind {
        match self {
            Self::Slice(_) => ObjectKind::Slice,
            Self::Decision(_) => ObjectKind::Decision,
            Self::Placement(_) => ObjectKind::Placement,
            Self::Profile(_) => ObjectKind::Profile,
        }
    }

    /// Name, labels and the rest of the metadata.
    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Slice(object) => &object.metadata,
            Self::Decision(object) => &object.metadata,
            Self::Placement(object) => &object.metadata,
            Self::Profile(object) => &object.metadata,
        }
    }

    /// Which object it is.
    pub fn key(&self) -> ObjectKey {
        let metadata = self.metadata();
        ObjectKey {
            kind: self.kind(),
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }

    /// The clusters the object lists, in its order, namespaces filled in. Entries that name no cluster are left out.
    /// Empty for kinds that list none.
    pub fn clusters(&self) -> Vec<Cluster> {
        match self {
            Self::Slice(object) => slice_clusters(object),
            Self::Decision(object) => decision_clusters(object),
            Self::Placement(_) | Self::Profile(_) => Vec::new(),
        }
    }

    /// The object without what a server adds on every write, to compare what a writer meant.
    pub(crate) fn content(&self) -> Self {
        let mut object = self.clone();
        let metadata = match &mut object {
            Self::Slice(object) => &mut object.metadata,
            Self::Decision(object) => &mut object.metadata,
            Self::Placement(object) => &mut object.metadata,
            Self::Profile(object) => &mut object.metadata,
        };
        metadata.resource_version = None;
        metadata.generation = None;
        metadata.managed_fields = None;
        object
    }
}

/// The clusters of a KEP slice. Both forms of an entry are read: a reference, whose namespace defaults to the
/// slice's own, and the bare name of the API's first revision.
pub(crate) fn slice_clusters(slice: &multicluster::PlacementDecision) -> Vec<Cluster> {
    let own = slice.metadata.namespace.as_deref().unwrap_or_default();
    slice
        .decisions
        .iter()
        .filter_map(|entry| {
            let (namespace, name) = match (&entry.cluster_profile_ref, &entry.cluster_name) {
                (Some(profile), _) => (profile.namespace.as_deref(), profile.name.as_str()),
                (None, Some(name)) => (None, name.as_str()),
                (None, None) => return None,
            };
            let namespace = namespace.filter(|namespace| !namespace.is_empty()).unwrap_or(own);
            (!name.is_empty()).then(|| Cluster::profile(namespace, name))
        })
        .collect()
}

/// The clusters of an OCM object. An empty name is a slot that is not filled.
pub(crate) fn decision_clusters(decision: &cluster::PlacementDecision) -> Vec<Cluster> {
    let entries = decision
        .status
        .as_ref()
        .map(|status| status.decisions.as_slice())
        .unwrap_or_default();
    entries
        .iter()
        .filter(|entry| !entry.cluster_name.is_empty())
        .map(|entry| Cluster::managed(entry.cluster_name.as_str()))
        .collect()
}

impl From<multicluster::PlacementDecision> for Object {
    fn from(object: multicluster::PlacementDecision) -> Self {
        Self::Slice(object)
    }
}

impl From<cluster::PlacementDecision> for Object {
    fn from(object: cluster::PlacementDecision) -> Self {
        Self::Decision(object)
    }
}

impl From<cluster::Placement> for Object {
    fn from(object: cluster::Placement) -> Self {
        Self::Placement(Box::new(object))
    }
}

impl From<multicluster::ClusterProfile> for Object {
    fn from(object: multicluster::ClusterProfile) -> Self {
        Self::Profile(Box::new(object))
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = match self {
            Self::Slice(object) => serde_json::to_value(object),
            Self::Decision(object) => serde_json::to_value(object),
            Self::Placement(object) => serde_json::to_value(object),
            Self::Profile(object) => serde_json::to_value(object),
        };
        let mut value = value.map_err(S::Error::custom)?;
        if let Value::Object(fields) = &mut value {
            let (api_version, kind) = self.kind().api();
            fields.insert("apiVersion".to_owned(), api_version.into());
            fields.insert("kind".to_owned(), kind.into());
        }
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = |field: &str| {
            value
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let Some(known) = ObjectKind::of(&api_version, &kind) else {
            return Err(D::Error::custom(format!(
                "apiVersion {api_version:?} with kind {kind:?} is not checked; expected PlacementDecision, \
                 ClusterProfile or Placement of multicluster.x-k8s.io or cluster.open-cluster-management.io"
            )));
        };
        match known {
            ObjectKind::Slice => serde_json::from_value(value).map(Self::Slice),
            ObjectKind::Decision => serde_json::from_value(value).map(Self::Decision),
            ObjectKind::Placement => serde_json::from_value(value).map(Self::Placement),
            ObjectKind::Profile => serde_json::from_value(value).map(Self::Profile),
        }
        .map_err(D::Error::custom)
    }
}
