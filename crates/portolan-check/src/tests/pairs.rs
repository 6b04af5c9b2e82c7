use super::{Control, fixtures::*, hold};
use crate::{
    CheckId, Object, State, labels,
    pair::{
        content_follows, few_slices, first_revision_labels_fixed, foreign_untouched, immutable, kept,
        key_stable, not_adopted, one_revision, profiles_deleted, revisions_rise, untouched,
    },
};

fn one(clusters: &[&str]) -> State {
    State::of([slice(0, clusters)])
}

fn packed(first: usize, slices: usize) -> State {
    State::of((0..slices).map(|index| slice(index, names(first + index * 100, 100))))
}

fn fleet(profiles: &[&str]) -> State {
    let mut state = one(&["a"]);
    for name in profiles {
        state.put(profile(name, None));
    }
    state
}

pub(super) fn controls() -> Vec<Control> {
    vec![
        Control {
            check: CheckId::Rule2,
            name: "a misconfigured placement loses its decision",
            sound: || kept(&one(&["a", "b"]), &one(&["b", "a"]), &web()),
            broken: || kept(&one(&["a", "b"]), &one(&[]), &web()),
        },
        Control {
            check: CheckId::Rule2,
            name: "a misconfigured placement loses its objects",
            sound: || kept(&State::default(), &State::default(), &web()),
            broken: || kept(&one(&["a"]), &State::default(), &web()),
        },
        Control {
            check: CheckId::Rule3,
            name: "a rewrite on resync",
            sound: || untouched(&one(&["a"]), &one(&["a"])),
            broken: || {
                let version = |version| State::of([at_version(slice(0, ["a"]), version)]);
                untouched(&version("7"), &version("8"))
            },
        },
        Control {
            check: CheckId::C10,
            name: "a label of the first revision changes",
            sound: || first_revision_labels_fixed(&one(&["a"]), &one(&["b"])),
            broken: || {
                let by = |placement| State::of([with(slice(0, ["a"]), labels::R1_PLACEMENT, placement)]);
                first_revision_labels_fixed(&by("web"), &by("shop"))
            },
        },
        Control {
            check: CheckId::C31,
            name: "rescheduling changes the key",
            sound: || key_stable(&one(&["a"]), &one(&["b"])),
            broken: || {
                let after = State::of([with(slice(0, ["b"]), labels::DECISION_KEY, "web-2")]);
                key_stable(&one(&["a"]), &after)
            },
        },
        Control {
            check: CheckId::C34,
            name: "one new cluster shifts every slice",
            sound: || {
                let mut after = packed(0, 5);
                after.put(slice(5, ["x"]));
                few_slices(&packed(0, 5), &after, &web())
            },
            broken: || few_slices(&packed(0, 5), &packed(1, 5), &web()),
        },
        Control {
            check: CheckId::C37,
            name: "two slices change under one revision",
            sound: || {
                let before = State::of([revised(0, 2, 0, ["a"]), revised(0, 2, 1, ["b"])]);
                let after = State::of([revised(1, 2, 0, ["b"]), revised(1, 2, 1, ["a"])]);
                one_revision(&before, &after, &web())
            },
            broken: || {
                let before = State::of([revised(0, 2, 0, ["a"]), revised(0, 2, 1, ["b"])]);
                let after = State::of([revised(0, 2, 0, ["b"]), revised(0, 2, 1, ["a"])]);
                one_revision(&before, &after, &web())
            },
        },
        Control {
            check: CheckId::C40,
            name: "a deleted profile stays listed",
            sound: || profiles_deleted(&fleet(&["a", "b"]), &fleet(&["a"])),
            broken: || profiles_deleted(&fleet(&["a", "b"]), &fleet(&["b"])),
        },
        Control {
            check: CheckId::C41,
            name: "a write to another scheduler's slice",
            sound: || foreign_untouched(&one(&["a"]), &one(&["a"]), "portolan"),
            broken: || foreign_untouched(&one(&["a"]), &one(&["b"]), "portolan"),
        },
        Control {
            check: CheckId::C42,
            name: "an edit spreads to the other slice",
            sound: || not_adopted(&two("a", "b"), &two("evil", "b"), &two("a", "b")),
            broken: || not_adopted(&two("a", "b"), &two("evil", "b"), &two("evil", "a")),
        },
        Control {
            check: CheckId::D3,
            name: "a slice updated in place",
            sound: || immutable(&one(&["a"]), &one(&["a"])),
            broken: || immutable(&one(&["a"]), &one(&["b"])),
        },
        Control {
            check: CheckId::D4,
            name: "the revision falls",
            sound: || {
                revisions_rise(
                    &State::of([revised(4, 1, 0, ["a"])]),
                    &State::of([revised(5, 1, 0, ["b"])]),
                )
            },
            broken: || {
                revisions_rise(
                    &State::of([revised(4, 1, 0, ["a"])]),
                    &State::of([revised(3, 1, 0, ["b"])]),
                )
            },
        },
        Control {
            check: CheckId::D4,
            name: "the first revision is 1",
            sound: || revisions_rise(&State::default(), &State::of([revised(0, 1, 0, ["a"])])),
            broken: || revisions_rise(&State::default(), &State::of([revised(1, 1, 0, ["a"])])),
        },
        Control {
            check: CheckId::OcmContent,
            name: "the hash stays when the clusters change",
            sound: || content_follows(&ocm("a", "h1"), &ocm("b", "h2"), &ocm_web()),
            broken: || content_follows(&ocm("a", "h1"), &ocm("b", "h1"), &ocm_web()),
        },
    ]
}

#[test]
fn a_broken_change_fails_its_own_check_and_no_other() {
    hold(&controls());
}

#[test]
fn an_edit_may_stay_where_it_is_but_not_be_taken_up() {
    let (before, edited) = (two("a", "b"), two("evil", "b"));
    assert!(not_adopted(&before, &edited, &edited).is_clean());
    assert_eq!(
        not_adopted(&before, &edited, &two("a", "evil")).failed(),
        [CheckId::C42]
    );
}

#[test]
fn a_foreign_slice_may_not_be_taken_over_by_name() {
    let before = one(&["a"]);
    let after = State::of([by(slice(0, ["a"]), "portolan")]);
    assert_eq!(
        foreign_untouched(&before, &after, "portolan").failed(),
        [CheckId::C41]
    );
    assert!(foreign_untouched(&State::default(), &after, "portolan").is_clean());
}

#[test]
fn untouched_names_created_deleted_and_changed_objects() {
    let after = State::of([Object::from(slice(1, ["b"])), object(1, 0, ["a"]).into()]);
    let report = untouched(
        &State::of([Object::from(slice(0, ["a"])), object(1, 0, ["b"]).into()]),
        &after,
    );
    let text = report.to_string();
    for word in ["was created", "was deleted", "was changed"] {
        assert!(text.contains(word), "{text}");
    }
}

fn two(a: &str, b: &str) -> State {
    State::of([slice(0, [a]), slice(1, [b])])
}

fn ocm(cluster: &str, hash: &str) -> State {
    State::of([hashed(object(1, 0, [cluster]), hash)])
}
