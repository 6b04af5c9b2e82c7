//! `AddOnPlacementScore` of `cluster.open-cluster-management.io/v1alpha1`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::resource::plain_kind;
use crate::schema;

/// Scores that an add-on gives to the cluster whose namespace the object is in.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddOnPlacementScore {
    /// Name of the score resource; the namespace is the name of the cluster.
    #[schemars(skip)]
    pub metadata: ObjectMeta,

    /// The scores.
    #[serde(default)]
    pub status: Option<AddOnPlacementScoreStatus>,
}

plain_kind!(AddOnPlacementScore, NamespaceResourceScope, super::GROUP, "v1alpha1", "addonplacementscores", {
    status as "status" optional,
});

/// Scores of one cluster from one add-on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddOnPlacementScoreStatus {
    /// Whether the scores are good to use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// The scores by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub scores: Vec<AddOnPlacementScoreItem>,

    /// When the scores go stale. Absent means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::nullable_time")]
    pub valid_until: Option<Time>,
}

/// One named score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddOnPlacementScoreItem {
    /// Name of the score.
    pub name: String,

    /// Value of the score.
    #[serde(default)]
    #[schemars(range(min = -100, max = 100))]
    pub value: i32,
}
