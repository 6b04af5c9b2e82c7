//! The `prioritizerPolicy` of a Placement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which scores count, and how much.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrioritizerPolicy {
    /// `Additive` starts from the default weights (Balance 1, Steady 1), `Exact` from nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "Additive"))]
    pub mode: Option<String>,

    /// Scores and their weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<PrioritizerConfig>,
}

/// A score and its weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-required" = ["scoreCoordinate"]))]
pub struct PrioritizerConfig {
    /// Where the score comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_coordinate: Option<ScoreCoordinate>,

    /// Factor of the score. 0 turns the score off, a negative weight turns its order round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -10, max = 10), extend("x-default" = 1))]
    pub weight: Option<i32>,
}

/// Where a score comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-required" = ["type"]))]
pub struct ScoreCoordinate {
    /// `BuiltIn` reads `builtIn`, `AddOn` reads `addOn`, `Property` reads `property`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["BuiltIn", "AddOn", "Property"], "x-default" = "BuiltIn"))]
    pub r#type: Option<String>,

    /// Name of a built-in score: Balance, Steady, ResourceAllocatableCPU or ResourceAllocatableMemory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_in: Option<String>,

    /// A score that an add-on publishes per cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add_on: Option<AddOnScore>,

    /// Name of a cluster claim or property with a numeric value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
}

/// Names one score of an AddOnPlacementScore.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddOnScore {
    /// Name of the AddOnPlacementScore object in the cluster's namespace.
    pub resource_name: String,

    /// Name of the score inside that object.
    pub score_name: String,
}
