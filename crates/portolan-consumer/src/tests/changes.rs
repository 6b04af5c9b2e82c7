use portolan_api::labels::portolan;
use serde_json::json;

use super::*;

fn nothing() -> Vec<String> {
    Vec::new()
}

#[test]
fn clusters_that_come_and_go_are_told_once() {
    let mut consumer = Consumer::new(Discovery::All);
    assert_eq!(consumer.list(&[slice(0, &["a", "b"])]), ["+a", "+b"]);
    assert_eq!(consumer.apply(slice(0, &["b", "c"])), ["-a", "+c"]);
    assert_eq!(consumer.apply(slice(0, &["b", "c"])), nothing());
}

#[test]
fn an_empty_decision_differs_from_none() {
    let mut consumer = Consumer::new(Discovery::All);
    assert_eq!(consumer.list(&[]), nothing());
    assert_eq!(consumer.apply(slice(0, &[])), ["empty"]);
    assert!(consumer.decisions.told(&web()).unwrap().is_empty());
    assert_eq!(consumer.apply(slice(0, &["a"])), ["+a"]);
    assert_eq!(consumer.apply(slice(0, &[])), ["-a", "empty"]);
    assert_eq!(consumer.delete("web-0"), ["gone"]);
    assert!(consumer.decisions.told(&web()).is_none());
}

#[test]
fn a_deleted_decision_removes_its_clusters_and_is_gone() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[slice(0, &["a", "b"])]);
    assert_eq!(consumer.delete("web-0"), ["-a", "-b", "gone"]);
}

#[test]
fn a_deleted_slice_removes_only_what_no_other_slice_lists() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[slice(0, &["a", "b"]), slice(1, &["b", "c"])]);
    assert_eq!(consumer.delete("web-1"), nothing());
    assert_eq!(consumer.settle(), ["-c"]);
}

#[test]
fn a_move_between_slices_is_nothing_in_either_order() {
    let (before, after) = (
        [slice(0, &["a", "b"]), slice(1, &["c"])],
        [slice(0, &["a"]), slice(1, &["c", "b"])],
    );
    for order in [[0, 1], [1, 0]] {
        let mut consumer = Consumer::new(Discovery::All);
        consumer.list(&before);
        for place in order {
            assert_eq!(consumer.apply(after[place].clone()), nothing(), "{order:?}");
        }
        assert_eq!(consumer.settle(), nothing(), "{order:?}");
        assert_eq!(consumer.decisions.next_due(), None);
    }
}

#[test]
fn a_move_with_revisions_is_nothing_in_either_order_and_needs_no_time() {
    let before = [revised(0, 2, 0, &["a", "b"]), revised(0, 2, 1, &["c"])];
    let after = [revised(1, 2, 0, &["a"]), revised(1, 2, 1, &["c", "b", "d"])];
    for order in [[0, 1], [1, 0]] {
        let mut consumer = Consumer::new(Discovery::All);
        consumer.list(&before);
        assert_eq!(consumer.apply(after[order[0]].clone()), ["hold"]);
        assert_eq!(consumer.apply(after[order[1]].clone()), ["+d"]);
        assert_eq!(consumer.decisions.next_due(), None);
    }
}

#[test]
fn a_cluster_that_left_one_of_several_slices_is_removed_if_not_back_in_time() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[slice(0, &["a", "b"]), slice(1, &["c"])]);
    assert_eq!(consumer.apply(slice(0, &["a"])), nothing());
    assert_eq!(consumer.decisions.next_due(), Some(SETTLE));
    assert_eq!(consumer.wait(SETTLE - Duration::from_millis(1)), nothing());
    assert_eq!(consumer.told(), ["a", "b", "c"]);
    assert_eq!(consumer.wait(Duration::from_millis(1)), ["-b"]);
    assert_eq!(consumer.told(), ["a", "c"]);
    assert_eq!(consumer.decisions.next_due(), None);
}

#[test]
fn each_cluster_has_its_own_time_to_come_back() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[slice(0, &["a", "b"]), slice(1, &["c"])]);
    consumer.apply(slice(0, &["a"]));
    consumer.wait(SETTLE / 2);
    consumer.apply(slice(0, &[]));
    assert_eq!(consumer.wait(SETTLE / 2), ["-b"]);
    assert_eq!(consumer.wait(SETTLE / 2), ["-a"]);
}

#[test]
fn one_object_changes_in_one_piece_so_nothing_waits() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[slice(0, &["a", "b"])]);
    assert_eq!(consumer.apply(slice(0, &["a"])), ["-b"]);
    // The first slice of two may have given its cluster to the second.
    assert_eq!(consumer.apply(slice(1, &["c"])), ["+c"]);
    assert_eq!(consumer.apply(slice(0, &[])), nothing());
}

#[test]
fn who_wants_every_gap_told_is_told_at_once() {
    let mut consumer = Consumer::with(Options {
        settle: Duration::ZERO,
        ..Options::new(Discovery::All)
    });
    consumer.list(&[slice(0, &["a"]), slice(1, &["b"])]);
    assert_eq!(consumer.apply(slice(1, &[])), ["-b"]);
}

#[test]
fn order_is_told_to_those_who_follow_it_and_a_move_alone_is_not_told_to_others() {
    let mut consumer = Consumer::ordered();
    consumer.list(&[slice(0, &["a", "b"]), slice(1, &["c"])]);
    assert_eq!(consumer.apply(slice(0, &["b", "a"])), ["order b a c"]);
    assert_eq!(
        consumer.apply(slice(0, &["b", "a", "x"])),
        ["+x"],
        "who stays keeps its place"
    );
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[slice(0, &["a", "b"])]);
    assert_eq!(consumer.apply(slice(0, &["b", "a"])), nothing());
    assert_eq!(consumer.told(), ["b", "a"], "who asks sees the order in any case");
}

#[test]
fn waiting_for_a_cluster_changes_no_order() {
    let mut consumer = Consumer::ordered();
    consumer.list(&[slice(0, &["a", "b", "c"]), slice(1, &["d"])]);
    assert_eq!(consumer.apply(slice(0, &["a", "c"])), nothing());
    assert_eq!(consumer.told(), ["a", "b", "c", "d"]);
    assert_eq!(consumer.apply(slice(0, &["a", "b", "c"])), nothing());
}

#[test]
fn changed_indexes_are_a_changed_order() {
    let mut consumer = Consumer::ordered();
    let at = |index: usize, name: &str, cluster: &str| slice(index, &[cluster]).named(name);
    consumer.list(&[at(0, "x", "a"), at(1, "y", "b")]);
    consumer.decisions.apply(at(1, "x", "a").read());
    assert_eq!(consumer.apply(at(0, "y", "b")), ["order b a"]);
}

#[test]
fn nothing_is_told_before_the_first_list_is_complete() {
    let mut consumer = Consumer::new(Discovery::All);
    assert_eq!(consumer.apply(slice(0, &["a"])), nothing());
    consumer.decisions.list_began();
    assert_eq!(consumer.apply(slice(0, &["a"])), nothing());
    consumer.decisions.list_ended();
    assert_eq!(consumer.said(), ["+a"]);
}

#[test]
fn a_list_that_breaks_off_removes_nothing_and_the_next_brings_the_difference() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[slice(0, &["a", "b"]), bare("alone", &["x"])]);
    consumer.decisions.list_began();
    assert_eq!(consumer.settle(), nothing());
    // It failed here; another one starts.
    assert_eq!(
        consumer.list(&[slice(0, &["b", "c"])]),
        ["-a", "+c", "-x", "gone"]
    );
    assert_eq!(consumer.list(&[slice(0, &["b", "c"])]), nothing());
}

#[test]
fn a_source_in_doubt_removes_nothing_until_it_is_trusted_again() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[slice(0, &["a"])]);
    consumer.decisions.doubt();
    assert_eq!(consumer.delete("web-0"), nothing());
    assert_eq!(consumer.apply(slice(0, &["a"])), nothing());
    consumer.decisions.trust();
    assert_eq!(consumer.said(), nothing());
}

#[test]
fn half_an_update_keeps_what_was_told_and_says_why_once() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[revised(0, 1, 0, &["a"])]);
    consumer.decisions.apply(revised(1, 2, 0, &["b"]).read());
    let updates = consumer.updates();
    assert_eq!(
        updates[0].hold.as_ref().unwrap().to_string(),
        "revision 1 is not whole: 1 slice, 2 wanted"
    );
    assert_eq!(names(updates[0].set.clusters()), ["a"]);
    assert_eq!(consumer.said(), nothing());
    assert_eq!(consumer.apply(revised(1, 2, 1, &["a"])), ["+b"]);
}

#[test]
fn a_consumer_that_starts_in_the_middle_of_an_update_waits() {
    let mut consumer = Consumer::new(Discovery::All);
    assert_eq!(
        consumer.list(&[revised(1, 2, 0, &["b"]), revised(0, 2, 1, &["a"])]),
        ["hold"]
    );
    assert!(
        consumer.decisions.told(&web()).is_none(),
        "nothing was decided yet, which is not nothing decided"
    );
    assert_eq!(consumer.apply(revised(1, 2, 1, &[])), ["+b"]);
}

#[test]
fn there_is_no_way_back_to_an_older_revision_while_the_newer_one_is_in_pieces() {
    let old = revised(0, 1, 0, &["a"]).named("old");
    let new = [
        revised(1, 2, 0, &["a"]).named("new-0"),
        revised(1, 2, 1, &["b"]).named("new-1"),
    ];
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[old.clone(), new[0].clone(), new[1].clone()]);
    assert_eq!(consumer.told(), ["a", "b"]);
    assert_eq!(consumer.delete("new-1"), ["hold"]);
    assert_eq!(consumer.told(), ["a", "b"]);
    // With nothing left of it, the scheduler has gone back.
    assert_eq!(consumer.delete("new-0"), ["-b"]);
}

#[test]
fn deleting_the_old_revision_is_nothing() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[revised(0, 1, 0, &["a", "x"]).named("old")]);
    assert_eq!(consumer.apply(revised(1, 1, 0, &["a"]).named("new")), ["-x"]);
    assert_eq!(consumer.delete("old"), nothing());
}

#[test]
fn a_decision_that_was_deleted_and_made_anew_starts_at_any_revision() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[revised(7, 1, 0, &["a"])]);
    assert_eq!(consumer.list(&[revised(0, 1, 0, &["b"])]), ["-a", "+b"]);
}

#[test]
fn while_an_entry_cannot_be_read_no_cluster_counts_as_removed_and_others_are_added() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[revised(0, 1, 0, &["a", "b"])]);
    let odd = json!([{ "clusterProfileRef": { "name": "a" } }, { "oops": "b" }, { "clusterName": "c" }]);
    assert_eq!(consumer.apply(revised(0, 1, 0, &[]).entries(odd)), ["+c"]);
    assert_eq!(consumer.settle(), nothing());
    assert_eq!(consumer.decisions.told(&web()).unwrap().problems.len(), 1);
    assert_eq!(consumer.apply(revised(0, 1, 0, &["a", "c"])), ["-b"]);
}

#[test]
fn changed_scores_are_news_without_a_change_and_a_changed_revision_is_none() {
    let mut consumer = Consumer::new(Discovery::All);
    let scored = |score: &str| slice(0, &["a"]).annotation(portolan::SCORES, score);
    consumer.list(&[scored(r#"{"a":1}"#)]);
    assert_eq!(consumer.apply(scored(r#"{"a":2}"#)), ["news"]);
    assert_eq!(consumer.decisions.told(&web()).unwrap().chosen[0].score, Some(2));
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[revised(0, 1, 0, &["a"])]);
    assert_eq!(consumer.apply(revised(3, 1, 0, &["a"])), nothing());
}

#[test]
fn an_unresolved_reference_keeps_nobody_waiting() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.list(&[slice(0, &["a", "unknown", "b"])]);
    let set = consumer.decisions.told(&web()).unwrap().clone();
    let resolved = set.resolve(|cluster| (cluster.name != "unknown").then_some(()));
    assert_eq!(resolved.found.len(), 2);
    assert_eq!(resolved.missing, [&cluster("unknown")]);
}

#[test]
fn consumers_do_not_disturb_each_other_and_no_scheduler_is_special() {
    let slices = [
        slice(0, &["a"]).by("one"),
        bare("other", &["b"]).by("two"),
        bare("third", &["c"]),
    ];
    let mut consumers = [Consumer::new(Discovery::All), Consumer::new(Discovery::All)];
    for consumer in &mut consumers {
        assert_eq!(consumer.list(&slices), ["+a", "+b", "+c"]);
    }
}

#[test]
fn a_consumer_that_comes_back_is_told_exactly_what_it_missed() {
    let mut consumer = Consumer::new(Discovery::All);
    consumer.decisions.resume(web(), [cluster("a"), cluster("b")]);
    consumer
        .decisions
        .resume(DecisionId::keyed(SHOP, "deleted"), [cluster("x")]);
    assert_eq!(consumer.said(), nothing(), "not before it has seen everything");
    assert_eq!(
        consumer.list(&[revised(4, 1, 0, &["b", "c"])]),
        ["-x", "gone", "-a", "+c"]
    );
}

#[test]
fn a_decision_that_goes_before_it_was_ever_whole_ends_its_hold_and_nothing_else() {
    let mut consumer = Consumer::new(Discovery::All);
    assert_eq!(consumer.list(&[revised(1, 2, 0, &["a"])]), ["hold"]);
    assert_eq!(consumer.decisions.held().count(), 1);
    assert_eq!(consumer.delete("web-0"), ["news"]);
    assert_eq!(consumer.decisions.held().count(), 0);
}
