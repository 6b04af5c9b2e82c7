//! Sets one condition of an object.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::conditions::{ConditionDraft, set};

/// What a condition should say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedCondition {
    pub(crate) type_: &'static str,
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// The conditions with one of them set, or nothing when they already say so. Others stay where and what they are, and
/// the time of the last transition moves only with the status.
pub(crate) fn with_condition(
    observed: &[Condition],
    wanted: &WantedCondition,
    now: Timestamp,
) -> Option<Vec<Condition>> {
    let draft = ConditionDraft::new(wanted.type_, wanted.status, wanted.reason, &wanted.message);
    let mut conditions = observed.to_vec();
    set(&mut conditions, draft, None, now).then_some(conditions)
}
