use super::{Control, fixtures::*, hold};
use crate::{CheckId, Object, State, state::rest};

fn ocm_two() -> Vec<Object> {
    vec![object(1, 0, ["a"]).into(), object(2, 1, ["b"]).into()]
}

fn and(mut objects: Vec<Object>, other: impl Into<Object>) -> State {
    objects.push(other.into());
    State::of(objects)
}

pub(super) fn controls() -> Vec<Control> {
    const FIRST: (&[&str], i32) = (&["web-decision-1"], 1);
    const SECOND: (&[&str], i32) = (&["web-decision-2"], 1);
    vec![
        Control {
            check: CheckId::OcmNames,
            name: "numbers from 0",
            sound: || rest(&State::of(ocm_two())),
            broken: || rest(&State::of([object(0, 0, ["a"]), object(1, 1, ["b"])])),
        },
        Control {
            check: CheckId::OcmLimit,
            name: "a surge that stayed",
            sound: || rest(&State::of([object(1, 0, names(0, 100))])),
            broken: || rest(&State::of([object(1, 0, names(0, 101))])),
        },
        Control {
            check: CheckId::OcmUnique,
            name: "one cluster in two objects",
            sound: || rest(&State::of(ocm_two())),
            broken: || rest(&State::of([object(1, 0, ["a"]), object(2, 1, ["a", "b"])])),
        },
        Control {
            check: CheckId::OcmGroups,
            name: "a hole in the groups",
            sound: || rest(&State::of(ocm_two())),
            broken: || rest(&State::of([object(1, 0, ["a"]), object(2, 2, ["b"])])),
        },
        Control {
            check: CheckId::OcmStatus,
            name: "a group that the status does not tell",
            sound: || rest(&and(ocm_two(), placement(&[FIRST, SECOND]))),
            broken: || {
                let mut placement = placement(&[FIRST]);
                placement.status.as_mut().unwrap().number_of_selected_clusters = 2;
                rest(&and(ocm_two(), placement))
            },
        },
        Control {
            check: CheckId::OcmCount,
            name: "a number of another selection",
            sound: || rest(&and(ocm_two(), placement(&[FIRST, SECOND]))),
            broken: || {
                let mut placement = placement(&[FIRST, SECOND]);
                placement.status.as_mut().unwrap().number_of_selected_clusters = 3;
                rest(&and(ocm_two(), placement))
            },
        },
        Control {
            check: CheckId::OcmContent,
            name: "a hash on one object only",
            sound: || {
                rest(&State::of([
                    hashed(object(1, 0, ["a"]), "h1"),
                    hashed(object(2, 1, ["b"]), "h2"),
                ]))
            },
            broken: || {
                rest(&State::of([
                    hashed(object(1, 0, ["a"]), "h1"),
                    object(2, 1, ["b"]),
                ]))
            },
        },
        Control {
            check: CheckId::OcmContent,
            name: "one hash for two contents",
            sound: || rest(&State::of(ocm_two())),
            broken: || {
                rest(&State::of([
                    hashed(object(1, 0, ["a"]), "h1"),
                    hashed(object(2, 1, ["b"]), "h1"),
                ]))
            },
        },
    ]
}

#[test]
fn a_broken_ocm_state_fails_its_own_check_and_no_other() {
    hold(&controls());
}
