use std::collections::BTreeSet;

use portolan_api::{cluster::SortBy, multicluster};

use super::{Control, fixtures::*, hold};
use crate::{
    CheckId, Cluster, Object, State, labels, revision,
    state::{deleted, first_revision, instant, order_reads_back, profiles_exist, published, rest},
};

fn two() -> State {
    State::of([slice(0, names(0, 100)), slice(1, ["x"])])
}

fn r1(index: usize, cluster: &str) -> Slice {
    let slice = without(slice(index, [cluster]), labels::DECISION_INDEX);
    with(
        with(slice, labels::R1_PLACEMENT, "web"),
        labels::R1_SCHEDULER,
        "s",
    )
}

pub(super) fn kep() -> Vec<Control> {
    vec![
        Control {
            check: CheckId::Rule4,
            name: "a slice of 101",
            sound: || rest(&State::of([slice(0, names(0, 100))])),
            broken: || rest(&State::of([slice(0, names(0, 101))])),
        },
        Control {
            check: CheckId::C5,
            name: "an entry with both forms",
            sound: || rest(&State::of([r1_entry("a", None)])),
            broken: || rest(&State::of([r1_entry("a", Some("a"))])),
        },
        Control {
            check: CheckId::C8,
            name: "a profile of another namespace",
            sound: || first_revision(&State::of([r1(0, "a")])),
            broken: || {
                let mut slice = r1(0, "a");
                slice.decisions[0].cluster_profile_ref.as_mut().unwrap().namespace = Some("fleet".to_owned());
                first_revision(&State::of([slice]))
            },
        },
        Control {
            check: CheckId::C9,
            name: "an index that is no number",
            sound: || instant(&two()),
            broken: || {
                rest(&State::of([with(
                    slice(0, ["a"]),
                    labels::DECISION_INDEX,
                    "first",
                )]))
            },
        },
        Control {
            check: CheckId::C12,
            name: "a reference to nothing",
            sound: || {
                rest(&State::of([
                    Object::from(slice(0, ["a"])),
                    profile("a", None).into(),
                ]))
            },
            broken: || {
                rest(&State::of([
                    Object::from(slice(0, ["a"])),
                    profile("b", None).into(),
                ]))
            },
        },
        Control {
            check: CheckId::C13,
            name: "one cluster in two slices",
            sound: || rest(&two()),
            broken: || rest(&State::of([slice(0, names(0, 100)), slice(1, ["c00007", "x"])])),
        },
        Control {
            check: CheckId::C13Member,
            name: "two profiles of one member",
            sound: || rest(&members("m1", "m2")),
            broken: || rest(&members("m1", "m1")),
        },
        Control {
            check: CheckId::C15,
            name: "a dropped key",
            sound: || rest(&two()),
            broken: || {
                let keyless = without(slice(1, ["x"]), labels::DECISION_KEY);
                rest(&State::of([slice(0, names(0, 100)), keyless]))
            },
        },
        Control {
            check: CheckId::C16,
            name: "a slice without the placement label",
            sound: || first_revision(&State::of([r1(0, "a"), r1(1, "b")])),
            broken: || {
                first_revision(&State::of([
                    r1(0, "a"),
                    without(r1(1, "b"), labels::R1_PLACEMENT),
                ]))
            },
        },
        Control {
            check: CheckId::C17,
            name: "neither key nor numbered name",
            sound: || rest(&State::of([without(slice(0, ["a"]), labels::DECISION_KEY)])),
            broken: || {
                rest(&State::of([named(
                    without(slice(0, ["a"]), labels::DECISION_KEY),
                    "web",
                )]))
            },
        },
        Control {
            check: CheckId::C18,
            name: "a reused index",
            sound: || rest(&two()),
            broken: || {
                let reused = with(slice(1, ["x"]), labels::DECISION_INDEX, "0");
                rest(&State::of([slice(0, names(0, 100)), reused]))
            },
        },
        Control {
            check: CheckId::C21,
            name: "a placement-key on one slice only",
            sound: || rest(&each(|slice| with(slice, labels::PLACEMENT_KEY, "app"))),
            broken: || {
                let marked = with(slice(1, ["x"]), labels::PLACEMENT_KEY, "app");
                rest(&State::of([slice(0, names(0, 100)), marked]))
            },
        },
        Control {
            check: CheckId::C24,
            name: "two schedulers under one key",
            sound: || rest(&each(|slice| by(slice, "one"))),
            broken: || {
                rest(&State::of([
                    by(slice(0, names(0, 100)), "one"),
                    by(slice(1, ["x"]), "two"),
                ]))
            },
        },
        Control {
            check: CheckId::C25,
            name: "a key of 64 characters",
            sound: || {
                rest(&State::of([with(
                    slice(0, ["a"]),
                    labels::DECISION_KEY,
                    &"k".repeat(63),
                )]))
            },
            broken: || {
                rest(&State::of([with(
                    slice(0, ["a"]),
                    labels::DECISION_KEY,
                    &"k".repeat(64),
                )]))
            },
        },
        Control {
            check: CheckId::C26,
            name: "a slice more than needed",
            sound: || rest(&two()),
            broken: || rest(&State::of([slice(0, names(0, 99)), slice(1, ["x"])])),
        },
        Control {
            check: CheckId::C27,
            name: "two empty slices",
            sound: || published(&State::of([slice(0, [""; 0])]), &web()),
            broken: || rest(&State::of([slice(0, [""; 0]), slice(1, [""; 0])])),
        },
        Control {
            check: CheckId::C27,
            name: "silence instead of an empty slice",
            sound: || rest(&State::of([slice(0, [""; 0])])),
            broken: || published(&State::default(), &web()),
        },
        Control {
            check: CheckId::C28,
            name: "two placements under one key",
            sound: || rest(&each(|slice| owned(slice, "u1"))),
            broken: || {
                rest(&State::of([
                    owned(slice(0, names(0, 100)), "u1"),
                    owned(slice(1, ["x"]), "u2"),
                ]))
            },
        },
        Control {
            check: CheckId::C32,
            name: "two clusters swapped",
            sound: || order_reads_back(&State::of([slice(0, ["b", "a"])]), &web(), &profiles(["b", "a"])),
            broken: || order_reads_back(&State::of([slice(0, ["a", "b"])]), &web(), &profiles(["b", "a"])),
        },
        Control {
            check: CheckId::C38,
            name: "an orphaned slice",
            sound: || deleted(&State::default(), &web()),
            broken: || deleted(&State::of([slice(1, ["a"])]), &web()),
        },
        Control {
            check: CheckId::C37,
            name: "two revisions at rest",
            sound: || {
                rest(&State::of([
                    revised(3, 2, 0, names(0, 100)),
                    revised(3, 2, 1, ["x"]),
                ]))
            },
            broken: || {
                rest(&State::of([
                    revised(3, 2, 0, names(0, 100)),
                    revised(2, 2, 1, ["x"]),
                ]))
            },
        },
        Control {
            check: CheckId::D1,
            name: "a count with a leading zero",
            sound: || rest(&State::of([revised(0, 1, 0, ["a"])])),
            broken: || {
                rest(&State::of([with(
                    revised(0, 1, 0, ["a"]),
                    labels::DECISION_SLICE_COUNT,
                    "01",
                )]))
            },
        },
        Control {
            check: CheckId::D2,
            name: "more than 1,000 slices",
            sound: || instant(&State::of([revised(0, 1000, 0, ["a"])])),
            broken: || rest(&State::of([revised(0, 1001, 0, ["a"])])),
        },
        Control {
            check: CheckId::D12,
            name: "a hole in the groups",
            sound: || rest(&grouped("0", "1")),
            broken: || rest(&grouped("0", "2")),
        },
        Control {
            check: CheckId::KepComplete,
            name: "a slice that the count promises is missing",
            sound: || rest(&State::of([revised(0, 1, 0, ["a"])])),
            broken: || rest(&State::of([revised(0, 2, 0, ["a"])])),
        },
        Control {
            check: CheckId::KepName,
            name: "a name with another index",
            sound: || rest(&State::of([by(slice(0, ["a"]), "portolan")])),
            broken: || {
                rest(&State::of([named(
                    by(slice(0, ["a"]), "portolan"),
                    "web-decision-1",
                )]))
            },
        },
    ]
}

#[test]
fn a_broken_kep_state_fails_its_own_check_and_no_other() {
    hold(&kep());
}

#[test]
fn the_group_index_as_decision_index_of_ocm_1552_fails_c18() {
    // 250 clusters in one group: the mirror gives every slice the index of the group.
    let mirrored = |k: usize, n: usize| with(slice(k, names(k * 100, n)), labels::DECISION_INDEX, "0");
    let report = rest(&State::of([mirrored(1, 100), mirrored(2, 100), mirrored(3, 50)]));
    assert_eq!(report.failed(), [CheckId::C18], "{report}");
}

#[test]
fn an_ordered_decision_needs_indexes_where_an_unordered_one_does_not() {
    let bare = |index, clusters: Vec<String>| without(slice(index, clusters), labels::DECISION_INDEX);
    let mut placement = bare_placement();
    let mut objects: Vec<Object> = vec![bare(0, names(0, 100)).into(), bare(1, names(100, 1)).into()];
    objects.push(placement.clone().into());
    assert!(rest(&State::of(objects.clone())).is_clean());
    placement.spec.sort_by = Some(SortBy::Score);
    objects.push(placement.into());
    assert_eq!(rest(&State::of(objects)).failed(), [CheckId::C18]);
}

#[test]
fn an_update_under_way_is_fine_at_every_moment_though_not_at_rest() {
    let growing = State::of([revised(1, 2, 0, names(0, 100)), revised(0, 1, 1, ["c00000"])]);
    assert!(!rest(&growing).is_clean());
    let growing = State::of([revised(1, 2, 0, names(0, 100)), revised(1, 2, 1, ["c00000"])]);
    assert!(instant(&growing).is_clean());
}

#[test]
fn an_empty_inventory_is_only_held_against_a_decision_when_it_is_said_to_be_whole() {
    let state = State::of([slice(0, ["a"])]);
    assert!(rest(&state).is_clean());
    assert_eq!(profiles_exist(&state).failed(), [CheckId::C12]);
}

#[test]
fn both_forms_of_an_entry_are_the_same_cluster() {
    let mut slice = slice(0, ["a"]);
    slice.decisions.push(multicluster::ClusterDecision {
        cluster_name: Some("b".to_owned()),
        ..Default::default()
    });
    let state = State::of([slice]);
    let union = state.decision(&web()).unwrap().clusters();
    assert_eq!(
        union,
        BTreeSet::from([Cluster::profile("shop", "a"), Cluster::profile("shop", "b")])
    );
}

#[test]
fn a_revision_is_complete_when_its_carriers_agree_and_count_from_zero() {
    let complete = |slices: &[Slice]| {
        let state = State::of(slices.to_vec());
        let found = revision::complete_revisions(&state.decision(&web()).unwrap());
        assert_eq!(found, revision::complete_in(slices));
        found.iter().map(|revision| revision.number).collect::<Vec<_>>()
    };
    assert_eq!(complete(&[revised(4, 2, 0, ["a"]), revised(4, 2, 1, ["b"])]), [4]);
    assert_eq!(
        complete(&[revised(4, 2, 0, ["a"]), revised(5, 2, 1, ["b"])]),
        [0; 0]
    );
    assert_eq!(
        complete(&[revised(4, 2, 0, ["a"]), revised(4, 3, 1, ["b"])]),
        [0; 0]
    );
    assert_eq!(complete(&[revised(5, 1, 0, ["a"]), revised(4, 2, 1, ["b"])]), [5]);
    let two = [
        revised(4, 1, 0, ["a"]),
        named(revised(5, 1, 0, ["b"]), "web-decision-9"),
    ];
    assert_eq!(complete(&two), [4, 5]);
}

#[test]
fn the_placement_behind_a_cut_key_is_found() {
    let name = "p".repeat(70);
    let mut placement = bare_placement();
    placement.metadata.name = Some(name.clone());
    let state = State::of([placement]);
    let id = crate::DecisionId::kep(NAMESPACE, format!("{}-0123456789", &name[..52]));
    assert!(state.placement_of(&id).is_some());
}

fn r1_entry(name: &str, also: Option<&str>) -> Slice {
    let mut slice = slice(0, [name]);
    slice.decisions[0].cluster_name = also.map(str::to_owned);
    slice
}

fn each(edit: impl Fn(Slice) -> Slice) -> State {
    State::of([edit(slice(0, names(0, 100))), edit(slice(1, ["x"]))])
}

fn members(a: &str, b: &str) -> State {
    let slice = Object::from(slice(0, ["a", "b"]));
    State::of([slice, profile("a", Some(a)).into(), profile("b", Some(b)).into()])
}

fn grouped(a: &str, b: &str) -> State {
    let in_group =
        |index, cluster: &str, group| with(slice(index, [cluster]), labels::OCM_GROUP_INDEX, group);
    State::of([in_group(0, "a", a), in_group(1, "b", b)])
}
