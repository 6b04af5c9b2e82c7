use portolan_api::labels::multicluster as labels;

use super::*;
use crate::assemble;

fn listed(slices: &[Made]) -> Vec<String> {
    let slices: Vec<Slice> = slices.iter().map(Made::read).collect();
    match assemble(&slices) {
        Ok(set) => set.clusters().map(|cluster| cluster.name.clone()).collect(),
        Err(hold) => vec![hold.to_string()],
    }
}

#[test]
fn without_revisions_the_set_is_the_union_and_every_cluster_is_in_it_once() {
    assert_eq!(
        listed(&[slice(1, &["b", "c"]), slice(0, &["a", "b"])]),
        ["a", "b", "c"]
    );
}

#[test]
fn slices_are_ordered_by_number_and_not_by_letter() {
    assert_eq!(
        listed(&[slice(10, &["k"]), slice(9, &["j"]), slice(2, &["c"])]),
        ["c", "j", "k"]
    );
}

#[test]
fn gaps_repeated_and_missing_indexes_lose_nothing_and_fall_back_to_names() {
    let unnumbered =
        |name: &str, cluster: &str| slice(0, &[cluster]).without(labels::DECISION_INDEX).named(name);
    let slices = [
        unnumbered("web-11", "f"),
        unnumbered("web-9", "e"),
        unnumbered("aaa", "g"),
        slice(7, &["d"]),
        slice(3, &["c"]).named("web-b"),
        slice(3, &["b"]).named("web-a"),
        slice(0, &["a"]).label(labels::DECISION_INDEX, "-1").named("zzz"),
    ];
    assert_eq!(listed(&slices), ["b", "c", "d", "e", "f", "g", "a"]);
}

#[test]
fn the_highest_whole_revision_is_taken() {
    let old = [revised(4, 1, 0, &["a"]).named("old-0")];
    let new = [revised(5, 2, 0, &["a"]), revised(5, 2, 1, &["b"])];
    assert_eq!(listed(&[&old[..], &new[..1]].concat()), ["a"]);
    assert_eq!(listed(&[&old[..], &new[..]].concat()), ["a", "b"]);
}

#[test]
fn a_state_between_two_revisions_is_not_acted_on() {
    let mixed = [revised(5, 2, 0, &["a"]), revised(4, 2, 1, &["b"])];
    assert_eq!(listed(&mixed), ["revision 5 is not whole: 1 slice, 2 wanted"]);
    let disagreeing = [revised(5, 2, 0, &["a"]), revised(5, 3, 1, &["b"])];
    assert_eq!(
        listed(&disagreeing),
        ["revision 5 is not whole: 2 slices, which do not agree on how many there are"]
    );
    let twice = [revised(5, 2, 0, &["a"]), revised(5, 2, 0, &["b"]).named("other")];
    assert_eq!(listed(&twice), ["revision 5 is not whole: 2 slices, 2 wanted"]);
    let skipped = [revised(5, 2, 0, &["a"]), revised(5, 2, 2, &["b"])];
    assert_eq!(listed(&skipped), ["revision 5 is not whole: 2 slices, 2 wanted"]);
}

#[test]
fn revisions_are_numbers_and_ten_is_more_than_nine() {
    assert_eq!(
        listed(&[
            revised(10, 1, 0, &["new"]),
            revised(9, 1, 0, &["old"]).named("old")
        ]),
        ["new"]
    );
}

#[test]
fn a_whole_revision_that_contradicts_itself_is_not_acted_on() {
    let twice = [revised(5, 2, 0, &["a"]), revised(5, 2, 1, &["a"])];
    assert_eq!(listed(&twice), ["revision 5 is whole but lists shop/a twice"]);
    let schedulers = [revised(5, 2, 0, &["a"]).by("x"), revised(5, 2, 1, &["b"]).by("y")];
    assert_eq!(
        listed(&schedulers),
        ["revision 5 is whole but its slices name two schedulers, \"x\" and \"y\""]
    );
    let keys = [
        revised(5, 2, 0, &["a"]).label(labels::PLACEMENT_KEY, "k"),
        revised(5, 2, 1, &["b"]),
    ];
    assert_eq!(
        listed(&keys),
        ["revision 5 is whole but its slices have two placement-keys, \"k\" and \"\""]
    );
}

#[test]
fn without_a_count_a_common_revision_is_taken_and_mixed_ones_are_not() {
    let counted = |revision: u64, index: usize, cluster: &str| {
        revised(revision, 2, index, &[cluster]).without(labels::DECISION_SLICE_COUNT)
    };
    assert_eq!(listed(&[counted(1, 0, "a"), counted(1, 1, "b")]), ["a", "b"]);
    assert_eq!(
        listed(&[counted(1, 0, "a"), counted(2, 1, "b")]),
        ["the slices carry different revisions: 1, 2"]
    );
    assert_eq!(
        listed(&[counted(1, 0, "a"), slice(1, &["b"])]),
        ["the slices carry different revisions: none, 1"]
    );
}

#[test]
fn revisions_that_are_no_numbers_are_taken_when_only_one_is_whole() {
    let opaque = |revision: &str, count: usize, index: usize, cluster: &str| {
        revised(0, count, index, &[cluster])
            .label(labels::DECISION_REVISION, revision)
            .named(&format!("{revision}-{index}"))
    };
    let old = opaque("f00d", 1, 0, "old");
    let new = [opaque("beef", 2, 0, "a"), opaque("beef", 2, 1, "b")];
    assert_eq!(listed(&[old.clone(), new[0].clone()]), ["old"]);
    assert_eq!(listed(&new), ["a", "b"]);
    assert_eq!(
        listed(&[old, new[0].clone(), new[1].clone()]),
        ["the slices carry different revisions: \"beef\", \"f00d\""]
    );
}

#[test]
fn a_slice_without_a_revision_does_not_spoil_a_whole_one() {
    assert_eq!(listed(&[revised(1, 1, 0, &["a"]), slice(7, &["stray"])]), ["a"]);
}

#[test]
fn an_empty_decision_is_one_empty_slice() {
    assert!(listed(&[revised(0, 1, 0, &[])]).is_empty());
    assert_eq!(
        listed(&[revised(0, 0, 0, &[])]).len(),
        1,
        "a set of no slices is no set"
    );
}
