//! The `decisionStrategy` of a Placement.

use k8s_openapi::apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClusterClaimSelector;
use crate::schema;

/// How a decision is divided and updated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionStrategy {
    /// How selected clusters are divided into groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_strategy: Option<GroupStrategy>,

    /// How the decision objects are rewritten when the selection changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
}

/// How selected clusters are divided into groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupStrategy {
    /// Named groups. They come first, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decision_groups: Vec<DecisionGroup>,

    /// Largest size of a group: a number of clusters, or a percentage of all selected clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::group_size")]
    pub clusters_per_decision_group: Option<IntOrString>,

    /// Whether groups are cut anew by name each time, or clusters keep their group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "ByName"))]
    pub assignment: Option<GroupAssignment>,
}

/// How clusters get their group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum GroupAssignment {
    /// Groups are cut from the clusters in name order at every evaluation.
    #[default]
    ByName,
    /// Clusters keep their group. New ones fill the last group, then holes in earlier groups.
    Sticky,
}

/// A named group of clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionGroup {
    /// Name of the group, used as a label value on its decision objects.
    #[schemars(regex(pattern = "^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$"))]
    pub group_name: String,

    /// Which of the selected clusters belong to the group.
    pub group_cluster_selector: GroupClusterSelector,
}

/// Condition on the clusters of a group. A part that is absent or empty matches every cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupClusterSelector {
    /// Condition on the labels of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub label_selector: Option<LabelSelector>,

    /// Condition on the claims of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_selector: Option<ClusterClaimSelector>,
}

/// How the decision objects are rewritten when the selection changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStrategy {
    /// `All` writes each object once. `RollingUpdate` grows objects first and shrinks them afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "All"))]
    pub r#type: Option<UpdateStrategyType>,
}

/// How the decision objects are rewritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UpdateStrategyType {
    /// Each object is written once with its final content.
    #[default]
    All,
    /// Objects first hold the old and the new clusters, then only the new ones, so no cluster that stays is
    /// ever missing.
    RollingUpdate,
}
