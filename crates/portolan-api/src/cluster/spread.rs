//! The `spreadPolicy` of a Placement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How selected clusters are spread over topology domains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpreadPolicy {
    /// The constraints. All of them count together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub spread_constraints: Vec<SpreadConstraintsTerm>,
}

/// A bound on how unevenly clusters may be selected from the domains of one topology key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpreadConstraintsTerm {
    /// Name of the label or claim whose values are the domains.
    #[schemars(
        regex(
            pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
        ),
        length(max = 316)
    )]
    pub topology_key: String,

    /// Whether `topologyKey` names a label or a claim.
    pub topology_key_type: TopologyKeyType,

    /// Largest allowed difference between the fullest and the emptiest domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-default" = 1))]
    pub max_skew: Option<i32>,

    /// What to do with a cluster that would break the bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "ScheduleAnyway"))]
    pub when_unsatisfiable: Option<UnsatisfiableAction>,
}

/// What a topology key names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TopologyKeyType {
    /// A cluster label.
    #[default]
    Label,
    /// A cluster claim.
    Claim,
}

/// What to do with a cluster that would break a spread constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UnsatisfiableAction {
    /// Leave the cluster out.
    DoNotSchedule,
    /// Prefer clusters that keep the bound, but take the cluster when nothing better is left.
    #[default]
    ScheduleAnyway,
}
