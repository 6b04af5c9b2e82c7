//! Whether the answers given to people say enough: rules 5, 6 and 7 over plain values.

use std::collections::BTreeSet;

use crate::{CheckId, Report};

/// What was decided about one cluster, reduced to what rule 5 is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The cluster.
    pub cluster: String,
    /// The expression that rejected it (a selector requirement, a CEL expression, a taint); `None` if it was not
    /// rejected.
    pub rejected_by: Option<String>,
    /// What was observed instead of what was asked for, such as a label's value or its absence.
    pub observed: Option<String>,
    /// The sentence shown to people.
    pub reason: String,
}

/// An error about an input, reduced to what rule 6 is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputError {
    /// Path of the field.
    pub field: String,
    /// The value that was given.
    pub value: String,
    /// What would be accepted.
    pub accepted: String,
    /// The sentence shown to people.
    pub message: String,
}

/// One rollout step on one cluster, reduced to what rule 7 is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The cluster.
    pub cluster: String,
    /// The generation that was applied.
    pub applied: i64,
    /// The generation that the observation is about, if there is one.
    pub observed: Option<i64>,
    /// Whether the step was counted as a success.
    pub counted: bool,
}

/// Rule 5: every rejected cluster has a reason that names the expression and the observed value.
pub fn rejections(verdicts: &[Verdict]) -> Report {
    let mut report = Report::new();
    for verdict in verdicts {
        let Some(expression) = &verdict.rejected_by else {
            continue;
        };
        let observed = verdict.observed.as_deref().unwrap_or_default();
        let problem = if verdict.reason.trim().is_empty() {
            "rejected without a reason".to_owned()
        } else if expression.trim().is_empty() {
            format!("rejected by no expression: {:?}", verdict.reason)
        } else if !verdict.reason.contains(expression.as_str()) {
            format!("the reason does not name {expression:?}: {:?}", verdict.reason)
        } else if observed.trim().is_empty() {
            format!("no observed value is known: {:?}", verdict.reason)
        } else if !verdict.reason.contains(observed) {
            format!(
                "the reason does not name the observed {observed:?}: {:?}",
                verdict.reason
            )
        } else {
            continue;
        };
        report.add(
            CheckId::Rule5,
            format_args!("cluster {}", verdict.cluster),
            problem,
        );
    }
    report
}

/// Rule 5, its first half: of all clusters looked at, each has a verdict.
pub fn everyone_has_a_verdict<'a>(
    looked_at: impl IntoIterator<Item = &'a str>,
    verdicts: &[Verdict],
) -> Report {
    let mut report = Report::new();
    let judged: BTreeSet<&str> = verdicts.iter().map(|verdict| verdict.cluster.as_str()).collect();
    for cluster in looked_at.into_iter().filter(|cluster| !judged.contains(cluster)) {
        report.add(
            CheckId::Rule5,
            format_args!("cluster {cluster}"),
            "looked at, but without a verdict",
        );
    }
    report
}

/// Rule 6: an input error names the field, the value and what would be accepted.
pub fn input_errors(errors: &[InputError]) -> Report {
    let mut report = Report::new();
    for error in errors {
        for (what, text) in [
            ("field", &error.field),
            ("value", &error.value),
            ("accepted form", &error.accepted),
        ] {
            // An empty value is a value; a message shows it as quotes or as the word.
            let named = if text.is_empty() && what == "value" {
                error.message.contains("\"\"") || error.message.contains("empty")
            } else {
                !text.is_empty() && error.message.contains(text.as_str())
            };
            if !named {
                let message = format!(
                    "the message does not name the {what} {text:?}: {:?}",
                    error.message
                );
                report.add(CheckId::Rule6, format_args!("field {}", error.field), message);
            }
        }
    }
    report
}

/// Rule 7: a success counts only for the exact generation that was applied.
pub fn observed_not_assumed(steps: &[Step]) -> Report {
    let mut report = Report::new();
    for step in steps
        .iter()
        .filter(|step| step.counted && step.observed != Some(step.applied))
    {
        let observed = step
            .observed
            .map_or("none".to_owned(), |generation| generation.to_string());
        let message = format!("counted for generation {}, observed {observed}", step.applied);
        report.add(CheckId::Rule7, format_args!("cluster {}", step.cluster), message);
    }
    report
}
