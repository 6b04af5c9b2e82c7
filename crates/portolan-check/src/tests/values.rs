use std::collections::BTreeMap;

use super::{Control, hold};
use crate::{
    CheckId, Report,
    explain::{
        InputError, Step, Verdict, everyone_has_a_verdict, input_errors, observed_not_assumed, rejections,
    },
    numbers::agree,
};

fn verdict(reason: &str) -> Report {
    rejections(&[Verdict {
        cluster: "a".to_owned(),
        rejected_by: Some("region In [eu]".to_owned()),
        observed: Some("us".to_owned()),
        reason: reason.to_owned(),
    }])
}

fn input(message: &str) -> Report {
    input_errors(&[InputError {
        field: "spec.sortBy".to_owned(),
        value: "Sideways".to_owned(),
        accepted: "ClusterName or Score".to_owned(),
        message: message.to_owned(),
    }])
}

fn step(observed: Option<i64>) -> Report {
    observed_not_assumed(&[Step {
        cluster: "a".to_owned(),
        applied: 3,
        observed,
        counted: true,
    }])
}

fn scores(score: i64) -> BTreeMap<String, i64> {
    BTreeMap::from([("a".to_owned(), score)])
}

pub(super) fn controls() -> Vec<Control> {
    vec![
        Control {
            check: CheckId::Rule5,
            name: "a reason without the observed value",
            sound: || verdict("label region In [eu] does not hold: region is us"),
            broken: || verdict("label region In [eu] does not hold"),
        },
        Control {
            check: CheckId::Rule5,
            name: "no reason at all",
            sound: || verdict("region In [eu], but us"),
            broken: || verdict(" "),
        },
        Control {
            check: CheckId::Rule5,
            name: "a cluster without a verdict",
            sound: || everyone_has_a_verdict([], &[]),
            broken: || everyone_has_a_verdict(["a"], &[]),
        },
        Control {
            check: CheckId::Rule6,
            name: "an error without the value",
            sound: || input("spec.sortBy: \"Sideways\" is not one of ClusterName or Score"),
            broken: || input("spec.sortBy is not one of ClusterName or Score"),
        },
        Control {
            check: CheckId::Rule7,
            name: "a success of an older generation",
            sound: || step(Some(3)),
            broken: || step(Some(2)),
        },
        Control {
            check: CheckId::Rule8,
            name: "a score that is off by one",
            sound: || agree("Balance", &scores(18), &scores(18)),
            broken: || agree("Balance", &scores(20), &scores(18)),
        },
    ]
}

#[test]
fn a_broken_value_fails_its_own_check_and_no_other() {
    hold(&controls());
}

#[test]
fn a_selected_cluster_needs_no_reason() {
    let selected = Verdict {
        cluster: "a".to_owned(),
        ..Verdict::default()
    };
    assert!(rejections(std::slice::from_ref(&selected)).is_clean());
    assert!(everyone_has_a_verdict(["a"], &[selected]).is_clean());
}

#[test]
fn a_success_that_nobody_observed_does_not_count() {
    assert_eq!(step(None).failed(), [CheckId::Rule7]);
}
