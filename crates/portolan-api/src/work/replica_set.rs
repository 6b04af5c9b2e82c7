//! `ManifestWorkReplicaSet` of `work.open-cluster-management.io/v1alpha1`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ManifestWorkSpec, RolloutStrategy};
use crate::resource::plain_kind;
use crate::schema;

/// Puts one ManifestWork on every cluster that its placements select.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestWorkReplicaSet {
    /// Name, namespace, labels and annotations.
    #[schemars(skip)]
    pub metadata: ObjectMeta,

    /// What goes where, and in which steps.
    #[serde(default)]
    pub spec: ManifestWorkReplicaSetSpec,

    /// How far the rollout has come.
    #[serde(default)]
    pub status: Option<ManifestWorkReplicaSetStatus>,
}

plain_kind!(ManifestWorkReplicaSet, NamespaceResourceScope, super::GROUP, "v1alpha1", "manifestworkreplicasets", {
    spec as "spec",
    status as "status" optional,
});

impl ManifestWorkReplicaSet {
    /// An object with a name and a spec, and nothing else.
    pub fn new(name: &str, spec: ManifestWorkReplicaSetSpec) -> Self {
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

/// What goes where, and in which steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-required" = ["placementRefs"]))]
pub struct ManifestWorkReplicaSetSpec {
    /// Spec of the ManifestWork on each cluster.
    #[serde(default)]
    pub manifest_work_template: ManifestWorkSpec,

    /// The placements whose clusters get the work.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub placement_refs: Vec<LocalPlacementReference>,

    /// Whether deletion waits for the works to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "Background"))]
    pub cascade_deletion_policy: Option<CascadeDeletionPolicy>,
}

/// Whether deletion waits for the works to be gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum CascadeDeletionPolicy {
    /// Do not wait.
    #[default]
    Background,
    /// Wait.
    Foreground,
}

/// A placement in the same namespace, and how to roll out to its clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalPlacementReference {
    /// Name of the placement.
    #[schemars(length(min = 1))]
    pub name: String,

    /// In which steps the works reach the clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = { "type": "All", "all": { "progressDeadline": "None" } }))]
    pub rollout_strategy: Option<RolloutStrategy>,
}

/// How far a rollout has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestWorkReplicaSetStatus {
    /// Whether the placements were found, the works are applied and the rollout is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// Counts over all placements.
    #[serde(default)]
    pub summary: Summary,

    /// Counts per placement.
    #[serde(default)]
    pub placement_summary: Vec<PlacementSummary>,
}

/// How many works are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Works that exist.
    #[serde(default)]
    pub total: i32,

    /// Works in progress.
    #[serde(default)]
    pub progressing: i32,

    /// Works whose objects are all there.
    #[serde(default)]
    pub available: i32,

    /// Works in bad health.
    #[serde(default)]
    pub degraded: i32,

    /// Works that were applied.
    #[serde(default)]
    pub applied: i32,

    /// Works that there should be in the end.
    #[serde(default)]
    pub desired_total: i32,

    /// Works that carry the newest template.
    #[serde(default)]
    pub updated: i32,
}

/// State of a rollout to one placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementSummary {
    /// Name of the placement.
    #[serde(default)]
    pub name: String,

    /// How many decision groups have the work, in words.
    #[serde(default)]
    pub available_decision_groups: String,

    /// Counts for this placement.
    #[serde(default)]
    pub summary: Summary,
}
