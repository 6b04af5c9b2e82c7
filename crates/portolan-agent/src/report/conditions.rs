//! Builds the conditions of works and of their manifests.

use std::collections::HashMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::conditions::ConditionDraft;
use portolan_api::labels::conditions;

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConditionStatus {
    True,
    False,
    Unknown,
}

impl ConditionStatus {
    pub(crate) fn of(holds: bool) -> ConditionStatus {
        if holds {
            ConditionStatus::True
        } else {
            ConditionStatus::False
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        }
    }

    fn read(word: &str) -> ConditionStatus {
        match word {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        }
    }
}

/// A condition without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewCondition {
    pub(crate) r#type: String,
    pub(crate) truth: ConditionStatus,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl NewCondition {
    pub(crate) fn new(
        r#type: &str,
        truth: ConditionStatus,
        reason: &str,
        message: impl Into<String>,
    ) -> NewCondition {
        NewCondition {
            r#type: r#type.to_owned(),
            truth,
            reason: reason.to_owned(),
            message: message.into(),
        }
    }
}

/// The conditions with their times: one whose truth is what it was keeps the time of its last change.
pub(super) fn dated(
    said: Vec<NewCondition>,
    before: &[Condition],
    generation: i64,
    now: Timestamp,
) -> Vec<Condition> {
    let before: HashMap<(&str, &str), &Condition> = before
        .iter()
        .rev()
        .map(|condition| ((condition.type_.as_str(), condition.status.as_str()), condition))
        .collect();
    said.into_iter()
        .map(|said| {
            let kept = before.get(&(said.r#type.as_str(), said.truth.word())).copied();
            let draft = ConditionDraft {
                status: said.truth.word().to_owned(),
                type_: said.r#type,
                reason: said.reason,
                message: said.message,
            };
            draft.at(kept, Some(generation), now)
        })
        .collect()
}

/// What a condition of a work is when its manifests say this. Progressing and Degraded hold as soon as they hold for one
/// manifest; any other holds only if it fails for none.
pub(super) fn aggregate(r#type: &str, truths: &[ConditionStatus]) -> ConditionStatus {
    let any = |truth| truths.contains(&truth);
    match r#type {
        conditions::PROGRESSING | conditions::DEGRADED => {
            if any(ConditionStatus::True) {
                ConditionStatus::True
            } else if any(ConditionStatus::Unknown) {
                ConditionStatus::Unknown
            } else {
                ConditionStatus::False
            }
        }
        _ => {
            if any(ConditionStatus::False) {
                ConditionStatus::False
            } else if any(ConditionStatus::Unknown) || !any(ConditionStatus::True) {
                ConditionStatus::Unknown
            } else {
                ConditionStatus::True
            }
        }
    }
}

/// The truth of a stored condition.
pub(super) fn truth(condition: &Condition) -> ConditionStatus {
    ConditionStatus::read(&condition.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_time_changes_with_the_truth_alone() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let said = |truth, reason: &str| vec![NewCondition::new("Applied", truth, reason, "")];
        let first = dated(said(ConditionStatus::True, "A"), &[], 1, at(10));
        let second = dated(said(ConditionStatus::True, "B"), &first, 2, at(20));
        assert_eq!(second[0].last_transition_time.0, at(10));
        assert_eq!(
            (second[0].reason.as_str(), second[0].observed_generation),
            ("B", Some(2))
        );
        let third = dated(said(ConditionStatus::False, "B"), &second, 2, at(30));
        assert_eq!(third[0].last_transition_time.0, at(30));
    }

    #[test]
    fn one_manifest_is_enough_to_progress_or_to_be_degraded_and_to_spoil_the_rest() {
        use ConditionStatus::{False, True, Unknown};
        for (r#type, truths, expected) in [
            ("Progressing", &[True, False][..], True),
            ("Progressing", &[Unknown, False], Unknown),
            ("Progressing", &[False, False], False),
            ("Degraded", &[True, False], True),
            ("Available", &[True, False], False),
            ("Available", &[True, Unknown], Unknown),
            ("Available", &[True, True], True),
            ("Complete", &[], Unknown),
        ] {
            assert_eq!(aggregate(r#type, truths), expected, "{type} {truths:?}");
        }
    }
}
