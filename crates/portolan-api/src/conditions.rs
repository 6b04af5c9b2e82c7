//! Sets the conditions of an object: every controller and the agent do it here, so that all conditions have whole seconds,
//! times that move only with the status, and messages that the API has room for.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The longest message that a condition may have, in bytes. The API counts characters; a longer message would make the
/// server refuse the whole status.
pub const LONGEST_MESSAGE: usize = 32 * 1024;

/// What a condition is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionDraft {
    /// Type of the condition.
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word for programs.
    pub reason: String,
    /// Why, in words for people. It is cut if it is too long.
    pub message: String,
}

impl ConditionDraft {
    /// A draft of these words.
    pub fn new(type_: &str, status: &str, reason: &str, message: impl Into<String>) -> ConditionDraft {
        ConditionDraft {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    /// The condition. Its time is that of `before`, the condition of this type so far, unless the status is another.
    pub fn at(self, before: Option<&Condition>, generation: Option<i64>, now: Timestamp) -> Condition {
        let unchanged = before.filter(|before| before.status == self.status);
        Condition {
            last_transition_time: match unchanged {
                Some(before) => before.last_transition_time.clone(),
                None => in_seconds(now),
            },
            type_: self.type_,
            status: self.status,
            reason: self.reason,
            message: cut_message(self.message, LONGEST_MESSAGE),
            observed_generation: generation,
        }
    }
}

/// Sets one condition; the others stay where and what they are. Whether anything but the generation is different now.
pub fn set(
    conditions: &mut Vec<Condition>,
    draft: ConditionDraft,
    generation: Option<i64>,
    now: Timestamp,
) -> bool {
    let position = conditions
        .iter()
        .position(|condition| condition.type_ == draft.type_);
    let before = position.map(|position| &conditions[position]);
    let condition = draft.at(before, generation, now);
    let is_news = before.is_none_or(|before| {
        let words = |condition: &Condition| {
            let Condition {
                status,
                reason,
                message,
                ..
            } = condition;
            (status.clone(), reason.clone(), message.clone())
        };
        words(before) != words(&condition)
    });
    match position {
        Some(position) => conditions[position] = condition,
        None => conditions.push(condition),
    }
    is_news
}

/// The time as the API has it, in whole seconds: what is written must be what is read back.
pub fn in_seconds(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

/// The message, cut at this number of bytes.
pub fn cut_message(mut message: String, longest: usize) -> String {
    if message.len() > longest {
        let end = (0..=longest).rev().find(|end| message.is_char_boundary(*end));
        message.truncate(end.unwrap_or_default());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    fn draft(status: &str, message: &str) -> ConditionDraft {
        ConditionDraft::new("Ready", status, "Because", message)
    }

    #[test]
    fn the_time_has_whole_seconds_and_moves_with_the_status_alone() {
        let mut conditions = Vec::new();
        assert!(set(&mut conditions, draft("True", "a"), None, at(1_999)));
        assert_eq!(conditions[0].last_transition_time, Time(at(1_000)));
        assert!(set(&mut conditions, draft("True", "b"), Some(2), at(5_000)));
        assert_eq!(conditions[0].last_transition_time, Time(at(1_000)));
        assert_eq!(conditions[0].observed_generation, Some(2));
        assert!(!set(&mut conditions, draft("True", "b"), Some(3), at(6_000)));
        assert!(set(&mut conditions, draft("False", "b"), Some(3), at(7_000)));
        assert_eq!(conditions[0].last_transition_time, Time(at(7_000)));
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn a_message_that_is_too_long_is_cut_and_does_not_change_each_time() {
        let mut conditions = Vec::new();
        let long = "ü".repeat(LONGEST_MESSAGE);
        assert!(set(&mut conditions, draft("True", &long), None, at(0)));
        assert_eq!(conditions[0].message.len(), LONGEST_MESSAGE);
        assert!(!set(&mut conditions, draft("True", &long), None, at(0)));
    }
}
