//! `ManagedClusterSet` and `ManagedClusterSetBinding` of `cluster.open-cluster-management.io/v1beta2`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ManagedNamespaceConfig;
use crate::labels::ocm;
use crate::resource::plain_kind;
use crate::schema;

/// A set of member clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSet {
    /// Name, labels and annotations.
    #[schemars(skip)]
    pub metadata: ObjectMeta,

    /// What is wanted. May be missing in a manifest.
    #[serde(default)]
    #[schemars(extend("x-default" = { "clusterSelector": { "selectorType": "ExclusiveClusterSetLabel" } }))]
    pub spec: ManagedClusterSetSpec,

    /// What is observed.
    #[serde(default)]
    pub status: Option<ManagedClusterSetStatus>,
}

plain_kind!(ManagedClusterSet, ClusterResourceScope, super::GROUP, "v1beta2", "managedclustersets", {
    spec as "spec",
    status as "status" optional,
});

impl ManagedClusterSet {
    /// An object with a name and a spec, and nothing else.
    pub fn new(name: &str, spec: ManagedClusterSetSpec) -> Self {
        Self {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            spec,
            status: None,
        }
    }

    /// The set `default` or `global` as the registration creates it. Nothing for another name.
    pub fn built_in(name: &str) -> Option<Self> {
        let cluster_selector = ManagedClusterSelector::built_in(name)?;
        Some(Self::new(
            name,
            ManagedClusterSetSpec {
                cluster_selector,
                ..ManagedClusterSetSpec::default()
            },
        ))
    }
}

/// Which clusters belong to a set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSetSpec {
    /// Which clusters belong to the set.
    #[serde(default)]
    #[schemars(extend("x-default" = { "selectorType": "ExclusiveClusterSetLabel" }))]
    pub cluster_selector: ManagedClusterSelector,

    /// Namespaces the set wants on its clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub managed_namespaces: Vec<ManagedNamespaceConfig>,
}

/// How the members of a set are found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSelector {
    /// `ExclusiveClusterSetLabel` goes by the cluster set label, `LabelSelector` by `labelSelector`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["ExclusiveClusterSetLabel", "LabelSelector"], "x-default" = "ExclusiveClusterSetLabel"))]
    pub selector_type: Option<String>,

    /// Condition on the labels of a cluster. Absent matches nothing, an empty selector matches everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub label_selector: Option<LabelSelector>,
}

impl ManagedClusterSelector {
    /// How the clusters of a built-in set are found. Nothing for a set that is not built in.
    pub fn built_in(set: &str) -> Option<Self> {
        let (selector_type, label_selector) = match set {
            ocm::DEFAULT_CLUSTER_SET => ("ExclusiveClusterSetLabel", None),
            ocm::GLOBAL_CLUSTER_SET => ("LabelSelector", Some(LabelSelector::default())),
            _ => return None,
        };
        Some(Self {
            selector_type: Some(selector_type.to_owned()),
            label_selector,
        })
    }
}

/// State of a cluster set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSetStatus {
    /// Whether the set has clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::condition_list")]
    pub conditions: Vec<Condition>,
}

/// Lets the placements of its namespace select clusters from one cluster set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSetBinding {
    /// Name, namespace, labels and annotations.
    #[schemars(skip)]
    pub metadata: ObjectMeta,

    /// Which set is bound.
    #[serde(default)]
    pub spec: ManagedClusterSetBindingSpec,

    /// Whether the binding took effect.
    #[serde(default)]
    pub status: Option<ManagedClusterSetBindingStatus>,
}

plain_kind!(ManagedClusterSetBinding, NamespaceResourceScope, super::GROUP, "v1beta2", "managedclustersetbindings", {
    spec as "spec",
    status as "status" optional,
});

impl ManagedClusterSetBinding {
    /// An object with a name and a spec, and nothing else.
    pub fn new(name: &str, spec: ManagedClusterSetBindingSpec) -> Self {
        Self {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            spec,
            status: None,
        }
    }
}

/// Which set a namespace may select clusters from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSetBindingSpec {
    /// Name of the cluster set. The binding has to have the same name.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub cluster_set: String,
}

/// State of a binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSetBindingStatus {
    /// Whether the set exists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::condition_list")]
    pub conditions: Vec<Condition>,
}
