//! Sets one condition of an object.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// What a condition should say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) type_: &'static str,
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// The conditions with one of them set, or nothing when they already say so. Others stay where and what they are, and
/// the time of the last transition moves only with the status.
pub(crate) fn with_condition(
    observed: &[Condition],
    wanted: &Wanted,
    now: Timestamp,
) -> Option<Vec<Condition>> {
    let position = observed
        .iter()
        .position(|condition| condition.type_ == wanted.type_);
    let old = position.map(|position| &observed[position]);
    if old.is_some_and(|old| {
        old.status == wanted.status && old.reason == wanted.reason && old.message == wanted.message
    }) {
        return None;
    }
    let condition = Condition {
        type_: wanted.type_.to_owned(),
        status: wanted.status.to_owned(),
        reason: wanted.reason.to_owned(),
        message: wanted.message.clone(),
        last_transition_time: match old {
            Some(old) if old.status == wanted.status => old.last_transition_time.clone(),
            _ => Time(now),
        },
        observed_generation: None,
    };
    let mut conditions = observed.to_vec();
    match position {
        Some(position) => conditions[position] = condition,
        None => conditions.push(condition),
    }
    Some(conditions)
}
