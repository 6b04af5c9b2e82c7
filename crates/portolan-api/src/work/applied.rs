//! `AppliedManifestWork` of `work.open-cluster-management.io/v1`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ResourceIdentifier;
use crate::resource::plain_kind;
use crate::schema;

/// What a ManifestWork has left on the member cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedManifestWork {
    /// Name, labels and annotations.
    #[schemars(skip)]
    pub metadata: ObjectMeta,

    /// Which ManifestWork of which hub was applied. May be missing.
    #[serde(default)]
    pub spec: AppliedManifestWorkSpec,

    /// The objects.
    #[serde(default)]
    pub status: Option<AppliedManifestWorkStatus>,
}

plain_kind!(AppliedManifestWork, ClusterResourceScope, super::GROUP, "v1", "appliedmanifestworks", {
    spec as "spec",
    status as "status" optional,
});

/// Which ManifestWork of which hub was applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedManifestWorkSpec {
    /// Tells the hub of the work from other hubs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub_hash: Option<String>,

    /// Tells the agent that applied the work from other agents.
    #[serde(default, rename = "agentID", skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,

    /// Name of the ManifestWork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_work_name: Option<String>,
}

/// The objects that a ManifestWork has left on the member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedManifestWorkStatus {
    /// The objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied_resources: Vec<AppliedManifestResourceMeta>,

    /// Since when the work is not to be found on the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub eviction_start_time: Option<Time>,
}

/// One object on the member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedManifestResourceMeta {
    /// Which object.
    #[serde(flatten)]
    pub identifier: ResourceIdentifier,

    /// API version of the object.
    #[serde(default)]
    pub version: String,

    /// UID of the object on the member cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}
