//! The `tolerations` of a Placement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A taint that a placement puts up with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Toleration {
    /// Key of the taint. Absent means any key and needs operator `Exists`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        regex(
            pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        ),
        length(max = 316)
    )]
    pub key: Option<String>,

    /// `Equal` compares values, `Exists` takes any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "Equal"))]
    pub operator: Option<String>,

    /// Value of the taint for operator `Equal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub value: Option<String>,

    /// Effect of the taint. Absent means any effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,

    /// How long the taint is tolerated, counted from the time it was added. Absent means for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// What a taint does to placements that do not tolerate it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// The cluster is not selected, and leaves decisions it is in.
    #[default]
    NoSelect,
    /// The cluster is selected only after clusters without such a taint.
    PreferNoSelect,
    /// The cluster is not selected anew, but stays in decisions it is in.
    NoSelectIfNew,
}
