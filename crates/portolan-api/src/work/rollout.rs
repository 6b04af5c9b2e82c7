//! The `rolloutStrategy` of a placement reference.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::field::FieldError;
use crate::schema;

/// How a workload reaches the selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutStrategy {
    /// Which of the three settings below counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "All"))]
    pub r#type: Option<RolloutType>,

    /// Settings for type `All`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<RolloutAll>,

    /// Settings for type `Progressive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progressive: Option<RolloutProgressive>,

    /// Settings for type `ProgressivePerGroup`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progressive_per_group: Option<RolloutProgressivePerGroup>,
}

impl RolloutStrategy {
    /// The settings that ask for something and belong to another type than the strategy's: they have no effect. `path` is
    /// where the strategy stands.
    pub fn settings_without_effect(&self, path: &str) -> Vec<FieldError> {
        let kind = self.r#type.unwrap_or_default();
        let all = self.all.as_ref().filter(|all| !all.config.is_default());
        let progressive = self.progressive.as_ref().filter(|settings| {
            let asks = settings.max_concurrency.is_some() || !settings.mandatory_decision_groups.is_empty();
            asks || !settings.config.is_default()
        });
        let per_group = self.progressive_per_group.as_ref().filter(|settings| {
            !settings.mandatory_decision_groups.is_empty() || !settings.config.is_default()
        });
        let settings = [
            (RolloutType::All, all.map(|settings| json!(settings))),
            (
                RolloutType::Progressive,
                progressive.map(|settings| json!(settings)),
            ),
            (
                RolloutType::ProgressivePerGroup,
                per_group.map(|settings| json!(settings)),
            ),
        ];
        let of_others = settings.into_iter().filter(|(of, _)| *of != kind);
        of_others
            .filter_map(|(of, settings)| Some(without_effect(path, of, &settings?, kind)))
            .collect()
    }

    /// The settings that belong to the type, if they are there.
    pub fn config(&self) -> Option<&RolloutConfig> {
        match self.r#type.unwrap_or_default() {
            RolloutType::All => self.all.as_ref().map(|all| &all.config),
            RolloutType::Progressive => self.progressive.as_ref().map(|progressive| &progressive.config),
            RolloutType::ProgressivePerGroup => {
                self.progressive_per_group.as_ref().map(|groups| &groups.config)
            }
        }
    }
}

/// The warning about settings of the type `of` in a strategy of another type.
pub(crate) fn without_effect(path: &str, of: RolloutType, settings: &Value, kind: RolloutType) -> FieldError {
    FieldError::new(
        format!("{path}.{}", of.settings()),
        settings,
        format!("these settings have no effect, because the type is {kind:?}"),
        format!("type: {of:?}, or settings under {}", kind.settings()),
    )
}

/// In which steps a workload reaches the selected clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RolloutType {
    /// All clusters at once.
    #[default]
    All,
    /// A bounded number of clusters at a time.
    Progressive,
    /// One decision group after the other.
    ProgressivePerGroup,
}

impl RolloutType {
    /// The field with the settings of the type.
    pub(crate) fn settings(self) -> &'static str {
        match self {
            RolloutType::All => "all",
            RolloutType::Progressive => "progressive",
            RolloutType::ProgressivePerGroup => "progressivePerGroup",
        }
    }
}

/// Settings that all rollout types share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutConfig {
    /// How long a cluster has to stay successful before it counts, as a duration such as `90s` or `1h30m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "0"))]
    pub min_success_time: Option<String>,

    /// How long a cluster may take to become successful: digits with `h`, `m` or `s`, or `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = schema::DEADLINE), extend("x-default" = "None"))]
    pub progress_deadline: Option<String>,

    /// How many clusters may fail before the rollout stops: a number or a percentage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::max_failures")]
    pub max_failures: Option<IntOrString>,

    /// Older name of `progressDeadline`, used when that sets no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = schema::DEADLINE))]
    pub timeout: Option<String>,
}

impl RolloutConfig {
    /// Whether the settings are those that a server fills in.
    fn is_default(&self) -> bool {
        let is_no_time = |text: &str| matches!(text, "" | "0" | "0s");
        let is_none = |amount: &IntOrString| match amount {
            IntOrString::Int(number) => *number == 0,
            IntOrString::String(text) => matches!(text.as_str(), "" | "0" | "0%"),
        };
        self.effective_progress_deadline().is_none()
            && self.min_success_time.as_deref().is_none_or(is_no_time)
            && self.max_failures.as_ref().is_none_or(is_none)
    }

    /// The deadline that counts: `progressDeadline`, or `timeout` when `progressDeadline` sets no limit. A server
    /// fills `progressDeadline` with `None`, so its mere presence does not say that someone meant it.
    pub fn effective_progress_deadline(&self) -> Option<&str> {
        [&self.progress_deadline, &self.timeout]
            .into_iter()
            .filter_map(Option::as_deref)
            .find(|limit| !matches!(*limit, "" | "None"))
    }
}

/// Settings of a rollout to all clusters at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutAll {
    /// Times and failure budget.
    #[serde(flatten)]
    pub config: RolloutConfig,
}

/// Settings of a rollout to a bounded number of clusters at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutProgressive {
    /// Times and failure budget.
    #[serde(flatten)]
    pub config: RolloutConfig,

    /// Groups that have to succeed before any other cluster is touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mandatory_decision_groups: Vec<MandatoryDecisionGroup>,

    /// How many clusters may be in progress at once: a number or a percentage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::max_concurrency")]
    pub max_concurrency: Option<IntOrString>,
}

/// Settings of a rollout to one decision group after the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutProgressivePerGroup {
    /// Times and failure budget.
    #[serde(flatten)]
    pub config: RolloutConfig,

    /// Groups that have to succeed before any other group is touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mandatory_decision_groups: Vec<MandatoryDecisionGroup>,
}

/// Names a decision group, by name or else by index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MandatoryDecisionGroup {
    /// Name of the group. Counts before the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_name: Option<String>,

    /// Index of the group, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_index: Option<i32>,
}
