//! Soak times count from what a controller saw or the hub wrote down, whatever the member's clock shows.

use jiff::Timestamp;
use portolan_api::work::ManifestWork;
use portolan_rollout::Status;
use serde_json::json;

use crate::moment::Moment;
use crate::moment::tests::shifted;
use crate::reconcile::fake::{object, second};
use crate::replicasets::works::Work;
use crate::sabotage::{Rule, with_sabotaged};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// A work that has succeeded. It got its template at second 0, it succeeded when the member's clock showed `changed`, and
/// the hub wrote its status down at `written`.
fn succeeded(changed: i64, written: i64) -> ManifestWork {
    let condition = |type_: &str| {
        json!({
            "type": type_, "status": "True", "reason": "R", "message": "", "observedGeneration": 3,
            "lastTransitionTime": second(changed).to_string(),
        })
    };
    object(json!({
        "metadata": {
            "name": "w", "namespace": "c", "generation": 3, "uid": "u",
            "annotations": {"portolan.dev/rollout-since": second(0).to_string()},
            "managedFields": [
                {"manager": "agent", "operation": "Update", "subresource": "status", "time": second(written).to_string()},
                {"manager": "hub", "operation": "Update", "time": second(written + 50).to_string()},
            ],
        },
        "spec": {}, "status": {"conditions": [condition("Applied"), condition("Available")]},
    }))
}

/// The seconds for which a work has been as it is.
fn age(work: &Work, now: impl Into<Moment>) -> i64 {
    assert_eq!(work.report.status, Status::Succeeded);
    let now = now.into();
    now.wall.duration_since(work.since(now).unwrap()).as_secs()
}

/// A work that is seen at second 100 for the first time and was just then reported, with the member's clock off by `skew`.
fn seen(skew: i64) -> Work {
    let mut work = Work::of(&succeeded(100 + skew, 100), false);
    work.see(second(100).into());
    work
}

#[test]
fn a_member_that_is_behind_does_not_end_a_soak_early_and_one_ahead_does_not_hold_it() {
    let ages = || [0, -HOUR, DAY].map(|skew| age(&seen(skew), second(130)));
    assert_eq!(ages(), [30, 30, 30]);
    // By the member's clock the first would have soaked since the template was given, the second would not have begun.
    assert_eq!(with_sabotaged(Rule::CountFromWhatTheHubSaw, ages), [30, 130, 30]);
    let far = |skew: i64| age(&seen(skew), second(100 + DAY));
    assert_eq!(far(DAY), DAY);
}

#[test]
fn a_controller_that_starts_goes_on_where_the_last_one_was() {
    for skew in [0, -HOUR, DAY] {
        let mut work = Work::of(&succeeded(100 + skew, 100), true);
        work.see(second(160).into());
        assert_eq!(age(&work, second(170)), 70, "{skew}");
    }
}

#[test]
fn a_soak_begins_neither_before_the_template_was_given_nor_in_the_future() {
    let mut before = Work::of(&succeeded(-500, -500), true);
    before.see(second(60).into());
    assert_eq!(age(&before, second(60)), 60);
    let mut ahead = Work::of(&succeeded(100, DAY), true);
    ahead.see(second(100).into());
    assert_eq!(age(&ahead, second(130)), 30);
}

#[test]
fn a_report_that_changes_nothing_goes_on_and_another_success_starts_over() {
    let first = seen(0);
    let mut again = Work::of(&succeeded(100, 120), false);
    again.follow(&first);
    again.see(second(120).into());
    assert_eq!(age(&again, second(130)), 30);
    let mut anew = Work::of(&succeeded(125, 125), false);
    anew.follow(&first);
    anew.see(second(126).into());
    assert_eq!(age(&anew, second(130)), 4);
}

#[test]
fn new_times_alone_do_not_give_a_cluster_that_has_not_succeeded_more_time() {
    let failing = |changed: i64, given: i64| {
        let mut object = succeeded(changed, changed);
        let conditions = &mut object.status.as_mut().unwrap().conditions;
        conditions[1].status = "False".to_owned();
        let annotations = object.metadata.annotations.as_mut().unwrap();
        annotations.insert("portolan.dev/rollout-since".to_owned(), second(given).to_string());
        Work::of(&object, false)
    };
    let mut work = failing(100, 0);
    assert_ne!(work.report.status, Status::Succeeded);
    work.see(second(100).into());
    let began = work.since(second(100).into());
    for (changed, given) in [(110, 0), (120, 115), (130, 125)] {
        let mut next = failing(changed, given);
        next.follow(&work);
        next.see(second(changed).into());
        assert_eq!(next.since(second(changed).into()), began, "{changed} {given}");
        work = next;
    }
}

#[test]
fn a_soak_goes_on_when_the_controllers_own_clock_is_set() {
    let work = seen(0);
    for jump in [-HOUR, DAY] {
        assert_eq!(age(&work, shifted(second(130), jump)), 30, "{jump}");
    }
}

#[test]
fn an_estimate_takes_the_members_time_as_far_as_the_hub_bears_it_out() {
    let took = |changed: i64| Work::of(&succeeded(changed, 100), true).took(second(500).into());
    assert_eq!([took(40), took(-HOUR), took(DAY)], [Some(40), Some(0), Some(100)]);
}

#[test]
fn what_a_cluster_has_not_applied_counts_from_when_it_was_given() {
    let mut object = succeeded(0, 500);
    object.status = None;
    let mut work = Work::of(&object, false);
    work.see(second(40).into());
    let since: Option<Timestamp> = work.since(second(90).into());
    assert_eq!((work.report.status, since), (Status::ToApply, Some(second(0))));
}
