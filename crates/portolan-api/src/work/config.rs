//! The `manifestConfigs` of a ManifestWork: feedback rules and update strategies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ResourceIdentifier;

/// Settings for one object of a work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestConfigOption {
    /// Which object.
    pub resource_identifier: ResourceIdentifier,

    /// Which values of its status are read back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedback_rules: Vec<FeedbackRule>,

    /// How the object is brought up to date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,

    /// Conditions of the work that follow from the object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["condition"]))]
    pub condition_rules: Vec<ConditionRule>,

    /// Whether values are read back in intervals or as they change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "Poll"))]
    pub feedback_scrape_type: Option<FeedbackScrapeType>,
}

/// Which values of an object's status are read back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackRule {
    /// Whether the values are the usual ones of the kind or listed below.
    pub r#type: FeedbackType,

    /// The values for type `JSONPaths`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub json_paths: Vec<JsonPath>,
}

/// Where the list of values to read back comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum FeedbackType {
    /// The usual values of well-known kinds.
    #[default]
    WellKnownStatus,
    /// The listed paths.
    #[serde(rename = "JSONPaths")]
    JsonPaths,
}

/// A value to read back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JsonPath {
    /// Name the value gets.
    pub name: String,

    /// API version of the object the path speaks about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// JSON path of the value.
    pub path: String,
}

/// When values are read back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum FeedbackScrapeType {
    /// In intervals.
    #[default]
    Poll,
    /// As they change.
    Watch,
}

/// How an object is brought up to date.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-required" = ["type"]))]
pub struct UpdateStrategy {
    /// The way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "Update"))]
    pub r#type: Option<UpdateStrategyType>,

    /// Settings for type `ServerSideApply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_side_apply: Option<ServerSideApplyConfig>,
}

/// The way an object is brought up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UpdateStrategyType {
    /// By an update call.
    #[default]
    Update,
    /// Not at all once it exists.
    CreateOnly,
    /// By server-side apply.
    ServerSideApply,
    /// Never written, only looked at.
    ReadOnly,
}

/// Settings of server-side apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerSideApplyConfig {
    /// Take fields over from other managers.
    #[serde(default)]
    pub force: bool,

    /// Name of the field manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^work-agent"), extend("x-default" = "work-agent"))]
    pub field_manager: Option<String>,

    /// Fields that are left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["condition"]))]
    pub ignore_fields: Vec<IgnoreField>,
}

/// Fields that are left alone under a condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-required" = ["condition"]))]
pub struct IgnoreField {
    /// When the fields are left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "OnSpokePresent"))]
    pub condition: Option<IgnoreFieldsCondition>,

    /// JSON paths of the fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json_paths: Vec<String>,

    /// JSON pointers of the fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json_pointers: Vec<String>,

    /// jq expressions that name the fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jq_path_expressions: Vec<String>,
}

/// When fields are left alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum IgnoreFieldsCondition {
    /// When the object exists on the member cluster.
    #[default]
    OnSpokePresent,
    /// When someone on the member cluster has changed them.
    OnSpokeChange,
}

/// A condition of the work that follows from an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-required" = ["condition"], "x-kubernetes-validations" = [{
    "rule": "self.type != 'CEL' || self.condition != \"\"",
    "message": "a rule of type CEL needs a condition",
}]))]
pub struct ConditionRule {
    /// Type of the condition; empty for every well-known one of the object. A CEL rule needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,

    /// Whether the rule is built in or written below.
    pub r#type: ConditionRuleType,

    /// Expressions that all have to yield true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cel_expressions: Vec<String>,

    /// Message of the condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// Expression that yields the message of the condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_expression: Option<String>,
}

impl ConditionRule {
    /// The one condition that it gives, if it says which.
    pub fn named(&self) -> Option<&str> {
        self.condition
            .as_deref()
            .filter(|condition| !condition.is_empty())
    }

    /// Whether it can give this condition; `usual` says whether that one is built in for the kind of the object.
    pub fn can_give(&self, condition: &str, usual: impl FnOnce() -> bool) -> bool {
        match (self.named(), self.r#type) {
            (Some(named), ConditionRuleType::WellKnownConditions) => named == condition && usual(),
            (Some(named), ConditionRuleType::Cel) => named == condition,
            (None, ConditionRuleType::WellKnownConditions) => usual(),
            (None, ConditionRuleType::Cel) => false,
        }
    }
}

/// Where a condition rule comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConditionRuleType {
    /// Built in for well-known kinds.
    #[default]
    WellKnownConditions,
    /// Written as CEL expressions.
    #[serde(rename = "CEL")]
    Cel,
}
