//! Conditions of workloads.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::text;

/// What a condition is to say.
pub(super) struct Said {
    pub(super) kind: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: &'static str,
}

/// The condition of a kind, if there is one.
pub(super) fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = status["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

/// The condition, with the times it has when it says the same already. `stamp` is the field beside the time of the
/// transition: when it was last updated, or looked at.
pub(super) fn condition(status: &Value, said: &Said, stamp: &str, now: Timestamp) -> Value {
    let before = find(status, said.kind);
    let kept = |field: &str, same: bool| {
        let old = before.filter(|_| same).and_then(|before| before[field].as_str());
        old.map_or_else(|| text(now), str::to_owned)
    };
    let same_status = before.is_some_and(|before| before["status"] == said.status);
    let same = same_status && before.is_some_and(|before| before["reason"] == said.reason);
    json!({
        "type": said.kind, "status": said.status, "reason": said.reason, "message": said.message,
        "lastTransitionTime": kept("lastTransitionTime", same_status), (stamp): kept(stamp, same),
    })
}
