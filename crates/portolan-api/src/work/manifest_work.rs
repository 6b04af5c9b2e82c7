//! `ManifestWork` of `work.open-cluster-management.io/v1`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ManifestConfigOption;
use crate::resource::plain_kind;
use crate::schema;

/// Objects to apply on the cluster whose namespace the work is in.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestWork {
    /// Name, namespace, labels and annotations. The namespace is the name of the cluster.
    #[schemars(skip)]
    pub metadata: ObjectMeta,

    /// What is to be applied.
    #[serde(default)]
    pub spec: ManifestWorkSpec,

    /// What happened on the cluster.
    #[serde(default)]
    pub status: Option<ManifestWorkStatus>,
}

plain_kind!(ManifestWork, NamespaceResourceScope, super::GROUP, "v1", "manifestworks", {
    spec as "spec",
    status as "status" optional,
});

impl ManifestWork {
    /// An object with a name and a spec, and nothing else.
    pub fn new(name: &str, spec: ManifestWorkSpec) -> Self {
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

/// What is to be applied on a cluster, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestWorkSpec {
    /// The objects.
    #[serde(default)]
    pub workload: ManifestsTemplate,

    /// What happens to the objects when the work is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_option: Option<DeleteOption>,

    /// Settings for single objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifest_configs: Vec<ManifestConfigOption>,

    /// In whose name the agent applies the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<Executor>,
}

/// A list of objects to apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestsTemplate {
    /// The objects, each complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::embedded_objects")]
    pub manifests: Vec<Value>,
}

/// What happens to the objects when the work is deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteOption {
    /// Whether the objects are deleted, kept, or kept in part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "Foreground"))]
    pub propagation_policy: Option<DeletePropagationPolicy>,

    /// Which objects are kept with policy `SelectivelyOrphan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selectively_orphans: Option<SelectivelyOrphan>,

    /// How long after its completion the work is deleted, in seconds. Absent means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i64>,
}

/// What happens to the objects of a deleted work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum DeletePropagationPolicy {
    /// They are deleted first.
    #[default]
    Foreground,
    /// They stay.
    Orphan,
    /// Those that the rules name stay.
    SelectivelyOrphan,
}

/// Which objects outlive their work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelectivelyOrphan {
    /// The objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orphaning_rules: Vec<ResourceIdentifier>,
}

/// Names one object of a work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceIdentifier {
    /// API group of the object, empty for the core group.
    #[serde(default)]
    pub group: String,

    /// Resource (plural) of the object.
    pub resource: String,

    /// Name of the object.
    pub name: String,

    /// Namespace of the object, empty when it has none.
    #[serde(default)]
    pub namespace: String,
}

/// In whose name the agent applies the objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Executor {
    /// Whose permissions count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<ExecutorSubject>,
}

/// Whose permissions count when objects are applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutorSubject {
    /// Kind of the subject.
    pub r#type: ExecutorSubjectType,

    /// The service account for type `ServiceAccount`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ExecutorServiceAccount>,
}

/// Kind of an executor subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ExecutorSubjectType {
    /// A service account on the member cluster.
    #[default]
    ServiceAccount,
}

/// A service account on the member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutorServiceAccount {
    /// Namespace of the service account.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$")
    )]
    pub namespace: String,

    /// Name of the service account.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$")
    )]
    pub name: String,
}

/// What happened on the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestWorkStatus {
    /// State of the whole work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// State of the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_status: Option<ManifestResourceStatus>,
}

/// State of the objects of a work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestResourceStatus {
    /// State of each object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<ManifestCondition>,
}

/// State of one object of a work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestCondition {
    /// Which object.
    #[serde(default)]
    pub resource_meta: ManifestResourceMeta,

    /// Values read back from the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_feedback: Option<StatusFeedback>,

    /// Its state.
    #[serde(default)]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// Names an object of a work by its position and its identity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestResourceMeta {
    /// Position of the object in the work.
    #[serde(default)]
    pub ordinal: i32,

    /// API group of the object.
    #[serde(default)]
    pub group: String,

    /// API version of the object.
    #[serde(default)]
    pub version: String,

    /// Kind of the object.
    #[serde(default)]
    pub kind: String,

    /// Resource (plural) of the object.
    #[serde(default)]
    pub resource: String,

    /// Name of the object.
    #[serde(default)]
    pub name: String,

    /// Namespace of the object.
    #[serde(default)]
    pub namespace: String,
}

/// Values read back from an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusFeedback {
    /// The values by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub values: Vec<FeedbackValue>,
}

/// A named value read back from an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackValue {
    /// Name of the value, as in the feedback rule.
    pub name: String,

    /// The value.
    pub field_value: FieldValue,
}

/// A value of one of four types.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldValue {
    /// Which of the fields below is set.
    pub r#type: FieldValueType,

    /// An integer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integer: Option<i64>,

    /// A string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,

    /// A boolean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boolean: Option<bool>,

    /// A list or an object, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub json_raw: Option<String>,
}

/// Type of a value read back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum FieldValueType {
    /// An integer.
    Integer,
    /// A string.
    #[default]
    String,
    /// A boolean.
    Boolean,
    /// JSON text.
    JsonRaw,
}
