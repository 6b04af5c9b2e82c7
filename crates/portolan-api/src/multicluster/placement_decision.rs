//! `PlacementDecision` of `multicluster.x-k8s.io` (KEP-5313).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::resource::plain_kind;

/// One slice of the set of clusters that a scheduler chose. There is neither a spec nor a status: the slice is
/// data that one scheduler writes and many consumers read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementDecision {
    /// Name, namespace, labels and owner of the slice.
    #[schemars(skip)]
    pub metadata: ObjectMeta,

    /// The chosen clusters, at most 100 in one slice.
    #[schemars(length(min = 0, max = 100))]
    pub decisions: Vec<ClusterDecision>,

    /// Name of the scheduler that wrote the slice.
    #[serde(default)]
    pub scheduler_name: Option<String>,
}

plain_kind!(PlacementDecision, NamespaceResourceScope, super::GROUP, "v1alpha1", "placementdecisions", {
    decisions as "decisions",
    scheduler_name as "schedulerName" optional,
});

/// One chosen cluster, named by exactly one of `clusterProfileRef` and `clusterName`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "x-kubernetes-validations" = [{
        "rule": "has(self.clusterProfileRef) != has(self.clusterName)",
        "message": "exactly one of clusterProfileRef and clusterName has to be set",
    }],
    "oneOf" = [{ "required": ["clusterProfileRef"] }, { "required": ["clusterName"] }]
))]
pub struct ClusterDecision {
    /// The ClusterProfile of the chosen cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_profile_ref: Option<ClusterProfileReference>,

    /// Name of a ClusterProfile in the namespace of the slice: the form of the API's first revision, read but
    /// never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,

    /// Why the cluster was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ClusterDecision {
    /// Namespace and name of the ClusterProfile that the entry names, in either form. `own_namespace` is that of the
    /// slice, which counts when the entry names none. `None` when the entry names no cluster.
    pub fn profile<'a>(&'a self, own_namespace: &'a str) -> Option<(&'a str, &'a str)> {
        match (&self.cluster_profile_ref, &self.cluster_name) {
            (Some(reference), _) => {
                let namespace = reference
                    .namespace
                    .as_deref()
                    .filter(|namespace| !namespace.is_empty());
                Some((namespace.unwrap_or(own_namespace), &reference.name))
            }
            (None, Some(name)) => Some((own_namespace, name)),
            (None, None) => None,
        }
    }
}

/// Points at a ClusterProfile. Only `name` and `namespace` carry meaning; the other fields of an object
/// reference are accepted and ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterProfileReference {
    /// Name of the ClusterProfile.
    pub name: String,

    /// Namespace of the ClusterProfile. Absent or empty means the namespace of the slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,

    /// API version of the referenced object. Accepted, never needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,

    /// Kind of the referenced object. Accepted, never needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,

    /// UID of the referenced object. Accepted, never needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,

    /// Resource version of the referenced object. Accepted, never needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,

    /// Part of the referenced object. Accepted, never needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
}
