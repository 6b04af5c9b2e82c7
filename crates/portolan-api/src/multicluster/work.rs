//! `Work` and `AppliedWork` of `multicluster.x-k8s.io`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::resource::plain_kind;
use crate::schema;

/// Objects to apply on the cluster that the namespace stands for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// Name, labels and annotations.
    #[schemars(skip)]
    pub metadata: ObjectMeta,

    /// What is wanted. May be missing in a manifest.
    #[serde(default)]
    pub spec: WorkSpec,

    /// What is observed.
    #[serde(default)]
    pub status: Option<WorkStatus>,
}

plain_kind!(Work, NamespaceResourceScope, super::GROUP, "v1alpha1", "works", {
    spec as "spec",
    status as "status" optional,
});

impl Work {
    /// An object with a name and a spec, and nothing else.
    pub fn new(name: &str, spec: WorkSpec) -> Self {
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

/// What is to be applied on the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkSpec {
    /// The objects.
    #[serde(default)]
    pub workload: WorkloadTemplate,
}

/// A list of objects to apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadTemplate {
    /// The objects, each complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::embedded_objects")]
    pub manifests: Vec<Value>,
}

/// How far a Work has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkStatus {
    /// State of the whole work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::condition_list")]
    pub conditions: Vec<Condition>,

    /// State of each object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifest_conditions: Vec<ManifestCondition>,
}

/// State of one object of a Work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestCondition {
    /// Which object.
    #[serde(default)]
    pub identifier: ResourceIdentifier,

    /// Its state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::condition_list")]
    pub conditions: Vec<Condition>,
}

/// Names an object of a Work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceIdentifier {
    /// Position of the object in the work.
    #[serde(default)]
    pub ordinal: i32,

    /// API group of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,

    /// API version of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// Kind of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,

    /// Resource (plural) of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,

    /// Namespace of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,

    /// Name of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Which Work of the hub was applied.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "multicluster.x-k8s.io",
    version = "v1alpha1",
    kind = "AppliedWork",
    plural = "appliedworks",
    status = "AppliedWorkStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "What a Work has left on the member cluster."
)]
#[serde(rename_all = "camelCase")]
pub struct AppliedWorkSpec {
    /// Name of the Work.
    pub work_name: String,

    /// Namespace of the Work on the hub.
    pub work_namespace: String,
}

/// The objects that a Work has left on the member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedWorkStatus {
    /// The objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied_resources: Vec<AppliedResource>,
}

/// One object on the member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedResource {
    /// Which object.
    #[serde(flatten)]
    pub identifier: ResourceIdentifier,

    /// UID of the object on the member cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}
