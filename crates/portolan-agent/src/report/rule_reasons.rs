//! Reasons of conditions that come from rules.

/// Every reason of a condition that comes from a rule starts like this, which tells it from conditions of others.
pub(super) const PREFIX: &str = "ConditionRule";
/// The rule was evaluated.
pub(super) const EVALUATED: &str = "ConditionRuleEvaluated";
/// An expression of the rule is none, or has no answer for the object.
pub(super) const EXPRESSION_ERROR: &str = "ConditionRuleExpressionError";
/// The object cannot be read.
pub(super) const FAILED: &str = "ConditionRuleEvaluationFailed";
/// The rule is none.
pub(super) const INVALID: &str = "ConditionRuleInvalid";
