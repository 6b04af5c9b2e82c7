//! Which placements are looked at again, and when.

use std::time::Duration;

use portolan_engine::placement::PlacementKey;
use portolan_runtime::watch::Delta;

use super::rules::{at_rest, cluster};
use super::server::{NAMESPACE, now};
use crate::moment::tests::{instant, wall};
use crate::placements::backoff::Severity;
use crate::placements::desk::Desk;
use crate::placements::input::Input;
use crate::placements::job::{Failure, Report, Step};
use crate::upkeep::fake::cannot_be_read;

fn is_due(desk: &Desk) -> bool {
    desk.due().any(|key| *key == PlacementKey::new(NAMESPACE, "p"))
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
        let (_, mut desk) = at_rest(2);
        desk.handle(input("another"));
        assert!(!is_due(&desk));
        desk.handle(input(NAMESPACE));
        assert!(is_due(&desk));
    }
}

#[test]
fn a_placement_that_rests_is_passed_over_once_and_is_due_again_when_its_rest_ends() {
    let (mut server, mut desk) = at_rest(2);
    cluster(&mut desk, "c003");
    let step = desk.next(now().into());
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
    desk.done(failed, instant(now()));
    assert!(desk.next(now().into()).is_none());
    assert!(!is_due(&desk), "it is not searched again before its rest ends");
    assert_eq!(desk.depth(), 1, "and still waits");
    // What changes meanwhile does not wake it.
    cluster(&mut desk, "c004");
    assert!(desk.next(now().into()).is_none());
    let then = desk.next_timer(now().into()).expect("it wakes up");
    assert_eq!(then - instant(now()), Duration::from_millis(250));
    server.run_at(&mut desk, wall(then));
    assert_eq!(desk.depth(), 0, "it rests no more");
    assert_eq!(server.decided(), ["c001", "c002", "c003", "c004"]);
}
