//! Which placements are looked at again, and when.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use portolan_api::cluster::Placement;
use portolan_engine::placement::PlacementKey;
use portolan_runtime::watch::{Delta, Key};
use serde_json::json;

use super::rules::{at_rest, cluster};
use super::server::{NAMESPACE, now, object};
use crate::moment::tests::{instant, wall};
use crate::placements::backoff::Severity;
use crate::placements::input::Input;
use crate::placements::job::{Failure, Report, Step};
use crate::placements::scheduler::Scheduler;
use crate::placements::unreadable::tests::SAID;
use crate::reconcile::fake::cannot_be_read;

fn is_due(scheduler: &Scheduler) -> bool {
    scheduler
        .due()
        .any(|key| *key == PlacementKey::new(NAMESPACE, "p"))
}

#[test]
fn an_object_that_cannot_be_read_concerns_the_placements_of_its_namespace_alone() {
    let unreadable: [fn(&str) -> Input; 4] = [
        |namespace| Input::Decision(Delta::Unreadable(cannot_be_read(namespace, "p-decision-9"))),
        |namespace| Input::Slice(Delta::Unreadable(cannot_be_read(namespace, "p-decision-9"))),
        |namespace| Input::Binding(Delta::Unreadable(cannot_be_read(namespace, "other"))),
        |namespace| Input::Placement(Delta::Unreadable(cannot_be_read(namespace, "other"))),
    ];
    for input in unreadable {
        let (_, mut scheduler) = at_rest(2);
        scheduler.handle(input("another"));
        assert!(!is_due(&scheduler));
        scheduler.handle(input(NAMESPACE));
        assert!(is_due(&scheduler));
    }
}

#[test]
fn a_placement_that_rests_is_passed_over_once_and_is_due_again_when_its_rest_ends() {
    let (mut server, mut scheduler) = at_rest(2);
    cluster(&mut scheduler, "c003");
    let step = scheduler.next(now().into());
    assert!(matches!(step, Some(Step::Publish(_))), "{step:?}");
    let failed = Report {
        key: PlacementKey::new(NAMESPACE, "p"),
        acknowledged: Vec::new(),
        result: Err(Failure {
            severity: Severity::Error,
            operation: "creating".to_owned(),
            message: "no".to_owned(),
        }),
    };
    scheduler.done(failed, instant(now()));
    assert!(scheduler.next(now().into()).is_none());
    assert!(
        !is_due(&scheduler),
        "it is not searched again before its rest ends"
    );
    assert_eq!(scheduler.depth(), 1, "and still waits");
    // What changes meanwhile does not wake it.
    cluster(&mut scheduler, "c004");
    assert!(scheduler.next(now().into()).is_none());
    let then = scheduler.next_timer(now().into()).expect("it wakes up");
    assert_eq!(then - instant(now()), Duration::from_millis(250));
    server.run_at(&mut scheduler, wall(then));
    assert_eq!(scheduler.depth(), 0, "it rests no more");
    assert_eq!(server.decided(), ["c001", "c002", "c003", "c004"]);
}

#[test]
fn bindings_that_cannot_be_read_are_named_once_and_not_for_each_cluster() {
    let (_, mut scheduler) = at_rest(50);
    for number in 0..20 {
        let binding = cannot_be_read(NAMESPACE, &format!("b{number}"));
        scheduler.handle(Input::Binding(Delta::Unreadable(binding)));
    }
    let gone = |name: &str| Key {
        namespace: NAMESPACE.to_owned(),
        name: name.to_owned(),
        uid: String::new(),
    };
    scheduler.handle(Input::Binding(Delta::Deleted(gone("all"))));
    let before = SAID.get();
    let step = scheduler.next(now().into());
    assert!(
        matches!(step, Some(Step::Publish(_))),
        "the decision is kept: {step:?}"
    );
    let said = SAID.get() - before;
    assert!((20..200).contains(&said), "{said}");
}

#[test]
fn a_deleted_placement_that_rests_is_set_aside_until_its_rest_ends() {
    let (_, mut scheduler) = at_rest(1);
    let key = |number: usize| PlacementKey::new(NAMESPACE, &format!("gone{number}"));
    let mut until = instant(now());
    for number in 0..100 {
        scheduler.leavers.insert(key(number));
        until = scheduler
            .backoff
            .failed(&key(number), Severity::Error, instant(now()));
    }
    assert!(scheduler.next(now().into()).is_none());
    assert_eq!(
        scheduler.leavers.len(),
        0,
        "the next search passes over none of them"
    );
    assert_eq!(scheduler.depth(), 100, "and they still wait");
    assert!(
        scheduler.next(wall(until).into()).is_none(),
        "they have left nothing behind"
    );
    assert_eq!(scheduler.depth(), 0);
}

#[test]
fn a_placement_is_searched_once_to_be_told_that_a_kind_cannot_be_read() {
    let (_, mut scheduler) = at_rest(1);
    let placement = |number: usize| {
        let metadata = json!({"name": format!("q{number}"), "namespace": NAMESPACE, "uid": format!("u{number}"),
            "resourceVersion": "5"});
        let placement: Placement = object(json!({"metadata": metadata, "spec": {}}));
        Input::Placement(Delta::Applied(Arc::new(placement)))
    };
    (0..10).for_each(|number| scheduler.handle(placement(number)));
    scheduler.handle(Input::Cluster(Delta::ListStarted));
    assert!(scheduler.next(now().into()).is_none(), "it may be over soon");
    let later = instant(now()) + Duration::from_secs(60);
    let resting = PlacementKey::new(NAMESPACE, "q3");
    let until = scheduler.backoff.failed(&resting, Severity::Error, later);
    let mut told = 0;
    while let Some(step) = scheduler.next(wall(later).into()) {
        assert!(matches!(step, Step::Publish(_)), "{step:?}");
        told += 1;
    }
    assert_eq!(told, 10, "all but the one that rests");
    assert_eq!(scheduler.doubt.untold.as_ref().map(BTreeSet::len), Some(0));
    // A placement that comes or wakes up later is told as well.
    scheduler.handle(placement(10));
    assert!(scheduler.next(wall(later).into()).is_some());
    assert!(scheduler.next(wall(until).into()).is_some());
    assert!(scheduler.next(wall(until).into()).is_none());
}
