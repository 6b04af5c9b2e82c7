use std::collections::BTreeSet;

use super::{consumers, fixtures::*, ocm, pairs, rollouts, states, streams, values};
use crate::{
    CheckId, MESSAGE_LIMIT, Report, Severity, State, labels,
    registry::{CHECKS, Level, Profile, find, of_profile},
    state::rest,
};

#[test]
fn every_check_has_a_negative_control() {
    let controls = [
        states::kep(),
        ocm::controls(),
        pairs::controls(),
        streams::controls(),
        values::controls(),
        rollouts::controls(),
        consumers::controls(),
    ];
    let controlled: BTreeSet<CheckId> = controls.iter().flatten().map(|control| control.check).collect();
    let listed: BTreeSet<CheckId> = CHECKS.iter().map(|check| check.id).collect();
    assert_eq!(controlled, listed);
}

#[test]
fn a_number_belongs_to_one_check_except_d6_which_has_two_halves() {
    let numbers: Vec<&str> = CHECKS
        .iter()
        .flat_map(|check| check.also.iter().copied().chain([check.id.as_str()]))
        .collect();
    let mut twice: Vec<&str> = numbers.clone();
    twice.retain(|number| numbers.iter().filter(|other| *other == number).count() > 1);
    twice.dedup();
    assert_eq!(twice, ["D6", "D6"][..1]);
}

#[test]
fn the_numbers_of_the_documents_find_their_check() {
    for (number, id) in [
        ("C35", "rule-1"),
        ("C36", "C13"),
        ("D7", "C13"),
        ("C39", "rule-3"),
        ("rule-4", "rule-4"),
    ] {
        assert_eq!(find(number).unwrap().id.as_str(), id);
    }
    assert!(find("C99").is_none());
    for check in CHECKS {
        assert_eq!(check.id.check(), check);
    }
}

#[test]
fn profiles_hold_what_the_suite_puts_into_them() {
    let numbers = |profile| -> BTreeSet<&str> {
        of_profile(profile)
            .flat_map(|check| check.also.iter().copied().chain([check.id.as_str()]))
            .collect()
    };
    assert!(numbers(Profile::Core).is_superset(&BTreeSet::from([
        "C3", "C5", "C9", "C13", "C15", "C26", "C38", "C41"
    ])));
    assert!(numbers(Profile::Ordered).is_superset(&BTreeSet::from(["C18", "C19", "C32"])));
    assert!(numbers(Profile::Stable).is_superset(&BTreeSet::from(["C33", "C34", "C35", "C36", "C39"])));
    let draft = ["C37", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D12"];
    assert!(numbers(Profile::Revisioned).is_superset(&BTreeSet::from(draft)));
    assert!(numbers(Profile::Inventory).is_superset(&BTreeSet::from(["C12", "C40"])));
    assert!(numbers(Profile::R1).is_superset(&BTreeSet::from(["C8", "C10", "C16"])));
    // C58 only allows something.
    let consuming = (49..=61)
        .filter(|number| *number != 58)
        .map(|number| format!("C{number}"));
    for number in consuming.chain(["D9".to_owned(), "D10".to_owned()]) {
        assert!(numbers(Profile::Consumer).contains(number.as_str()), "{number}");
    }
}

#[test]
fn a_required_check_is_an_error_and_an_optional_one_a_warning() {
    let report = rest(&State::of([with(
        slice(0, names(0, 101)),
        labels::DECISION_INDEX,
        "x",
    )]));
    for finding in &report.findings {
        let expected = if finding.check.check().level == Level::Required {
            Severity::Error
        } else {
            Severity::Warning
        };
        assert_eq!(finding.severity, expected);
    }
    assert_eq!(report.failed(), [CheckId::Rule4, CheckId::C9]);
    assert!(report.has_errors());
}

#[test]
fn a_report_reads_well_and_survives_json() {
    let report = rest(&State::of([slice(0, names(0, 101))]));
    assert_eq!(
        report.to_string(),
        "error[rule-4] PlacementDecision.multicluster.x-k8s.io shop/web-decision-0: 101 entries, at most 100 are allowed\n\
         1 errors, 0 warnings\n"
    );
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains(r#""check":"rule-4","severity":"error""#), "{json}");
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
}

#[test]
fn a_message_is_bounded_however_many_clusters_it_is_about() {
    let long = |i: usize| format!("{}{i}", "ü".repeat(120));
    let twice = (0..60).flat_map(|i| [long(i), long(i)]).take(100);
    let report = rest(&State::of([slice(0, twice)]));
    let finding = &report.findings[0];
    assert!(
        finding.message.len() <= MESSAGE_LIMIT && finding.message.ends_with('…'),
        "{finding}"
    );
    let report = rest(&State::of([slice(
        0,
        names(0, 50).into_iter().chain(names(0, 50)),
    )]));
    assert!(report.findings[0].message.ends_with("and 45 more"), "{report}");
}
