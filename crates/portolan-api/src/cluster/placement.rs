//! `Placement` of `cluster.open-cluster-management.io/v1beta1`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClusterPredicate, DecisionStrategy, PrioritizerPolicy, SpreadPolicy, Toleration};
use crate::schema;

/// What a Placement asks for: which clusters may be chosen, which are preferred, and how the answer is laid out.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "Placement",
    plural = "placements",
    namespaced,
    status = "PlacementStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Asks for a set of clusters out of the cluster sets bound to its namespace."
)]
#[serde(rename_all = "camelCase")]
pub struct PlacementSpec {
    /// Names of the cluster sets to choose from. Empty means every set bound to the namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_sets: Vec<String>,

    /// How many clusters to select at most. Absent means all that match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub number_of_clusters: Option<i32>,

    /// Alternatives a cluster may match to be a candidate. Empty means that every cluster is a candidate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicates: Vec<ClusterPredicate>,

    /// Which scores rank the candidates, and with which weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prioritizer_policy: Option<PrioritizerPolicy>,

    /// How the selected clusters are to be spread over topology domains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_policy: Option<SpreadPolicy>,

    /// Taints of clusters that this placement puts up with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,

    /// How the decision is divided into groups, and how its objects are updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_strategy: Option<DecisionStrategy>,

    /// Order of the clusters in the decision. `Name` is read as `ClusterName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::sort_by")]
    pub sort_by: Option<SortBy>,

    /// Shortest time between two writes that change nothing but scores: digits followed by `h`, `m` or `s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9]+[hms]$"), extend("x-default" = "1m"))]
    pub score_rate_limit: Option<String>,
}

/// Order of the clusters in a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum SortBy {
    /// By cluster name, ascending byte order. `Name` is accepted as another spelling.
    #[default]
    #[serde(alias = "Name")]
    ClusterName,
    /// By score, highest first, then by cluster name.
    Score,
}

/// What was decided for a Placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementStatus {
    /// How many clusters are selected.
    #[serde(default)]
    pub number_of_selected_clusters: i32,

    /// The decision groups in index order, with the decision objects that hold them.
    #[serde(default)]
    pub decision_groups: Vec<DecisionGroupStatus>,

    /// Whether the placement is satisfied and whether its settings are sound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// When scores in the decision were last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub last_score_update_time: Option<Time>,
}

/// One decision group of a Placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionGroupStatus {
    /// Position of the group, from 0.
    #[serde(default)]
    pub decision_group_index: i32,

    /// Name of the group in the spec, empty for groups that only result from the group size.
    #[serde(default)]
    pub decision_group_name: String,

    /// Names of the decision objects that hold the group.
    #[serde(default)]
    pub decisions: Vec<String>,

    /// How many clusters the group has.
    #[serde(default)]
    #[schemars(extend("x-default" = 0))]
    pub cluster_count: i32,
}
