//! Builds the conditions of works and of their manifests.

use std::collections::HashMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use portolan_api::labels::conditions;

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    pub(crate) fn of(holds: bool) -> Truth {
        if holds { Truth::True } else { Truth::False }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Truth::True => "True",
            Truth::False => "False",
            Truth::Unknown => "Unknown",
        }
    }

    fn read(word: &str) -> Truth {
        match word {
            "True" => Truth::True,
            "False" => Truth::False,
            _ => Truth::Unknown,
        }
    }
}

/// A condition without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) r#type: String,
    pub(crate) truth: Truth,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl Said {
    pub(crate) fn new(r#type: &str, truth: Truth, reason: &str, message: impl Into<String>) -> Said {
        Said {
            r#type: r#type.to_owned(),
            truth,
            reason: reason.to_owned(),
            message: message.into(),
        }
    }
}

/// The longest message the API has room for.
pub(super) const LONGEST_MESSAGE: usize = 32 * 1024;

/// The conditions with their times: one whose truth is what it was keeps the time of its last change.
pub(super) fn dated(
    said: Vec<Said>,
    before: &[Condition],
    generation: i64,
    now: Timestamp,
) -> Vec<Condition> {
    // The API has whole seconds.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let before: HashMap<(&str, &str), &Time> = before
        .iter()
        .rev()
        .map(|condition| {
            let key = (condition.type_.as_str(), condition.status.as_str());
            (key, &condition.last_transition_time)
        })
        .collect();
    said.into_iter()
        .map(|said| {
            let kept = before.get(&(said.r#type.as_str(), said.truth.word()));
            Condition {
                last_transition_time: kept.map_or(Time(now), |time| (*time).clone()),
                type_: said.r#type,
                status: said.truth.word().to_owned(),
                reason: said.reason,
                message: shortened_to(said.message, LONGEST_MESSAGE),
                observed_generation: Some(generation),
            }
        })
        .collect()
}

/// The message, cut at this number of bytes.
pub(super) fn shortened_to(mut message: String, longest: usize) -> String {
    if message.len() > longest {
        let end = (0..=longest).rev().find(|end| message.is_char_boundary(*end));
        message.truncate(end.unwrap_or_default());
    }
    message
}

/// What a condition of a work is when its manifests say this. Progressing and Degraded hold as soon as they hold for one
/// manifest; any other holds only if it fails for none.
pub(super) fn aggregate(r#type: &str, truths: &[Truth]) -> Truth {
    let any = |truth| truths.contains(&truth);
    match r#type {
        conditions::PROGRESSING | conditions::DEGRADED => {
            if any(Truth::True) {
                Truth::True
            } else if any(Truth::Unknown) {
                Truth::Unknown
            } else {
                Truth::False
            }
        }
        _ => {
            if any(Truth::False) {
                Truth::False
            } else if any(Truth::Unknown) || !any(Truth::True) {
                Truth::Unknown
            } else {
                Truth::True
            }
        }
    }
}

/// The truth of a stored condition.
pub(super) fn truth(condition: &Condition) -> Truth {
    Truth::read(&condition.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_time_changes_with_the_truth_alone() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let said = |truth, reason: &str| vec![Said::new("Applied", truth, reason, "")];
        let first = dated(said(Truth::True, "A"), &[], 1, at(10));
        let second = dated(said(Truth::True, "B"), &first, 2, at(20));
        assert_eq!(second[0].last_transition_time.0, at(10));
        assert_eq!(
            (second[0].reason.as_str(), second[0].observed_generation),
            ("B", Some(2))
        );
        let third = dated(said(Truth::False, "B"), &second, 2, at(30));
        assert_eq!(third[0].last_transition_time.0, at(30));
    }

    #[test]
    fn one_manifest_is_enough_to_progress_or_to_be_degraded_and_to_spoil_the_rest() {
        use Truth::{False, True, Unknown};
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
