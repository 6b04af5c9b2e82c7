//! What a work's status amounts to.

use jiff::Timestamp;
use portolan_api::work::ManifestWork;
use portolan_check::explain::{Step, observed_not_assumed};
use portolan_check::{CheckId, Report};
use portolan_rollout::Status;
use serde_json::{Value, json};

use crate::reconcile::fake::object;
use crate::replicasets::works::Work;
use crate::sabotage::{Rule, with_sabotaged};

/// `type status generation time` of each condition; the work has generation 3. The status, and the time of the
/// condition that it follows from.
fn judged(conditions: &[(&str, &str, i64, &str)]) -> (Status, String) {
    let condition = |(type_, status, generation, time): &(&str, &str, i64, &str)| {
        json!({
            "type": type_, "status": status, "reason": "R", "message": "", "observedGeneration": generation,
            "lastTransitionTime": format!("2026-01-01T{time}:00Z"),
        })
    };
    let conditions: Vec<Value> = conditions.iter().map(condition).collect();
    let work: ManifestWork = object(json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {
            "name": "w", "namespace": "c", "generation": 3,
            "annotations": {"portolan.dev/rollout-since": "2026-01-01T10:00:00Z"},
        },
        "spec": {}, "status": {"conditions": conditions},
    }));
    let report = Work::of(&work, false).report;
    (report.status, time(report.changed))
}

fn time(changed: Option<Timestamp>) -> String {
    changed.map_or_else(|| "-".to_owned(), |changed| changed.strftime("%H:%M").to_string())
}

#[test]
fn the_message_of_a_refusal_is_kept_as_far_as_a_person_reads() {
    let refused = |message: &str| {
        let work: ManifestWork = object(json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": {"name": "w", "namespace": "c", "generation": 3},
            "spec": {}, "status": {"conditions": [{
                "type": "Applied", "status": "False", "reason": "R", "message": message, "observedGeneration": 3,
                "lastTransitionTime": "2026-01-01T10:00:00Z",
            }]},
        }));
        let why = Work::of(&work, false).report.why;
        why.map(|why| why.message)
    };
    let sentences = "spec.template.spec.containers[0].image: Required value. ".repeat(10);
    assert_eq!(refused(&sentences), Some(sentences));
    let kept = refused(&"x".repeat(32_768)).map_or(0, |message| message.chars().count());
    assert_eq!(
        kept, 1_001,
        "a thousand characters and a sign that there are more"
    );
}

#[test]
fn progressing_decides_where_something_produces_it() {
    let applied = ("Applied", "True", 3, "10:01");
    for (conditions, expected) in [
        (
            vec![applied, ("Progressing", "True", 3, "10:02")],
            (Status::Progressing, "10:02"),
        ),
        (
            vec![applied, ("Progressing", "Unknown", 3, "10:02")],
            (Status::Progressing, "10:02"),
        ),
        (
            vec![applied, ("Progressing", "False", 3, "10:03")],
            (Status::Succeeded, "10:03"),
        ),
        (
            vec![
                applied,
                ("Progressing", "True", 3, "10:02"),
                ("Degraded", "True", 3, "10:04"),
            ],
            (Status::Failed, "10:04"),
        ),
        (
            vec![
                applied,
                ("Progressing", "False", 3, "10:02"),
                ("Degraded", "True", 3, "10:04"),
            ],
            (Status::Succeeded, "10:02"),
        ),
    ] {
        assert_eq!(
            judged(&conditions),
            (expected.0, expected.1.to_owned()),
            "{conditions:?}"
        );
    }
}

#[test]
fn available_has_to_do_where_nothing_produces_progressing() {
    let applied = ("Applied", "True", 3, "10:01");
    for (conditions, expected) in [
        (
            vec![applied, ("Available", "True", 3, "10:02")],
            (Status::Succeeded, "10:02"),
        ),
        (
            vec![applied, ("Available", "False", 3, "10:02")],
            (Status::Progressing, "10:02"),
        ),
        (vec![applied], (Status::Progressing, "10:01")),
        (
            vec![applied, ("Available", "True", 2, "09:00")],
            (Status::Progressing, "10:01"),
        ),
        (
            vec![
                applied,
                ("Available", "True", 3, "10:02"),
                ("Degraded", "True", 3, "10:05"),
            ],
            (Status::Failed, "10:05"),
        ),
    ] {
        assert_eq!(
            judged(&conditions),
            (expected.0, expected.1.to_owned()),
            "{conditions:?}"
        );
    }
}

#[test]
fn what_was_said_of_another_generation_does_not_count() {
    let given = (Status::ToApply, "-".to_owned());
    for conditions in [
        vec![],
        vec![("Applied", "False", 3, "10:01")],
        vec![("Applied", "True", 2, "09:00"), ("Available", "True", 2, "09:00")],
        vec![
            ("Applied", "True", 3, "10:01"),
            ("Progressing", "False", 2, "09:00"),
        ],
        vec![
            ("Applied", "True", 3, "10:01"),
            ("Progressing", "False", 3, "10:02"),
            ("Degraded", "True", 2, "09:00"),
        ],
        vec![("Applied", "True", 4, "10:01"), ("Available", "True", 4, "10:01")],
    ] {
        assert_eq!(judged(&conditions), given, "{conditions:?}");
    }
}

/// Works at generation 3 whose reports are about any generation, as the rule's check sees them.
fn counted() -> Report {
    let steps: Vec<Step> = (1..=4)
        .map(|generation| Step {
            cluster: format!("c{generation}"),
            applied: 3,
            observed: Some(generation),
            counted: judged(&[
                ("Applied", "True", generation, "10:01"),
                ("Available", "True", generation, "10:02"),
            ])
            .0 == Status::Succeeded,
        })
        .collect();
    observed_not_assumed(&steps)
}

#[test]
fn a_success_that_is_assumed_is_noticed() {
    let report = counted();
    assert!(report.is_clean(), "{report}");
    let report = with_sabotaged(Rule::ObservedNotAssumed, counted);
    assert_eq!(report.failed(), [CheckId::Rule7]);
}
