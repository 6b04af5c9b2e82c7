use super::{Control, fixtures::*, hold};
use crate::{
    CheckId, Cluster, DecisionId, Event, ObjectKey, ObjectKind, Recording, Report,
    consumer::{Act, Deed, check},
    labels,
};

fn act(after: usize, deed: Deed) -> Act {
    act_on(web(), after, deed)
}

fn act_on(decision: DecisionId, after: usize, deed: Deed) -> Act {
    Act {
        after,
        decision,
        deed,
    }
}

fn own(name: &str) -> Cluster {
    Cluster::profile(NAMESPACE, name)
}

fn deploy(after: usize, name: &str) -> Act {
    act(after, Deed::Deployed(own(name)))
}

fn remove(after: usize, name: &str) -> Act {
    act(after, Deed::Removed(own(name)))
}

fn slice_key(name: &str) -> ObjectKey {
    ObjectKey {
        kind: ObjectKind::Slice,
        namespace: NAMESPACE.to_owned(),
        name: name.to_owned(),
    }
}

/// `a` and `b` are decided and nothing happens.
fn still() -> Recording {
    recording([slice(0, ["a", "b"])], vec![])
}

/// `b` moves from the first slice to the second.
fn moving() -> Recording {
    let before = [slice(0, ["a", "b"]), slice(1, ["c"])];
    let events = vec![
        modified(slice(0, ["a"])),
        modified(slice(1, ["b", "c"])),
        Event::Settled,
    ];
    recording(before, events)
}

fn moved(acts: Vec<Act>) -> Report {
    let first = [deploy(0, "a"), deploy(0, "b"), deploy(0, "c")];
    check(&moving(), &[first.to_vec(), acts].concat())
}

/// Revision 1 takes `b` from the second slice and adds `c`; the second slice is written first.
fn revising(acts: Vec<Act>) -> Report {
    let before = [revised(0, 2, 0, ["a"]), revised(0, 2, 1, ["b"])];
    let events = vec![
        modified(revised(1, 2, 1, ["c"])),
        modified(revised(1, 2, 0, ["a"])),
        Event::Settled,
    ];
    let first = vec![deploy(0, "a"), deploy(0, "b")];
    check(&recording(before, events), &[first, acts].concat())
}

/// `b` goes, in the way that the event says.
fn shrinking(event: Event, acts: Vec<Act>) -> Report {
    let before = [slice(0, ["a"]), slice(1, ["b"])];
    let first = vec![deploy(0, "a"), deploy(0, "b")];
    check(
        &recording(before, vec![event, Event::Settled]),
        &[first, acts].concat(),
    )
}

fn emptied(acts: Vec<Act>) -> Report {
    let events = vec![modified(slice(0, [""; 0])), Event::Settled];
    let first = vec![deploy(0, "a")];
    check(&recording([slice(0, ["a"])], events), &[first, acts].concat())
}

/// Three slices out of order, nine before ten.
fn ordered(order: [&str; 3]) -> Report {
    let slices = [slice(10, ["c"]), slice(9, ["b"]), slice(2, ["a"])];
    let mut acts: Vec<Act> = ["a", "b", "c"].map(|name| deploy(0, name)).to_vec();
    acts.push(act(0, Deed::Ordered(order.map(own).to_vec())));
    check(&recording(slices, vec![]), &acts)
}

/// Two decisions of two schedulers.
fn two(second: &str, follow_both: bool) -> Report {
    let other = with(named(slice(0, ["b"]), "other-0"), labels::DECISION_KEY, "other");
    let slices = [by(slice(0, ["a"]), "portolan"), by(other, second)];
    let mut acts = vec![deploy(0, "a")];
    if follow_both {
        let other = DecisionId::kep(NAMESPACE, "other");
        acts.push(act_on(other, 0, Deed::Deployed(own("b"))));
    }
    check(&recording(slices, vec![]), &acts)
}

/// The second slice has the key of the decision and lacks that of the workload.
fn half_labelled(acts: Vec<Act>) -> Report {
    let slices = [
        with(slice(0, ["a"]), labels::PLACEMENT_KEY, "app"),
        slice(1, ["b"]),
    ];
    check(&recording(slices, vec![]), &acts)
}

fn with_inventory(acts: Vec<Act>) -> Report {
    let mut recording = still();
    recording.initial.put(profile("a", None));
    check(&recording, &acts)
}

fn unreadable(acts: Vec<Act>) -> Report {
    let mut odd = slice(0, ["a"]);
    odd.decisions.push(Default::default());
    check(&recording([odd], vec![]), &acts)
}

fn done() -> Vec<Act> {
    vec![deploy(0, "a"), deploy(0, "b")]
}

fn control(check: CheckId, name: &'static str, sound: fn() -> Report, broken: fn() -> Report) -> Control {
    Control {
        check,
        name,
        sound,
        broken,
    }
}

pub(super) fn controls() -> Vec<Control> {
    use CheckId::*;
    vec![
        control(
            C49,
            "writes its mark on the slice",
            || {
                let work = act(
                    0,
                    Deed::Wrote(ObjectKey {
                        kind: ObjectKind::Profile,
                        ..slice_key("x")
                    }),
                );
                check(&still(), &[done(), vec![work]].concat())
            },
            || {
                check(
                    &still(),
                    &[done(), vec![act(0, Deed::Wrote(slice_key("web-decision-0")))]].concat(),
                )
            },
        ),
        control(
            C50,
            "finds nothing",
            || check(&still(), &done()),
            || check(&still(), &[]),
        ),
        control(
            C51,
            "takes a reference without a namespace for one into its own",
            || check(&still(), &done()),
            || {
                let wrong = act(0, Deed::Deployed(Cluster::profile("argocd", "a")));
                check(&still(), &[done(), vec![wrong]].concat())
            },
        ),
        control(
            C52,
            "deploys as soon as a slice lists the cluster",
            || revising(vec![remove(2, "b"), deploy(2, "c")]),
            || revising(vec![deploy(1, "c"), remove(2, "b")]),
        ),
        control(
            C52,
            "removes as soon as a slice lacks the cluster",
            || revising(vec![remove(2, "b"), deploy(2, "c")]),
            || revising(vec![remove(1, "b"), deploy(2, "c")]),
        ),
        control(
            C53,
            "sorts indexes as text",
            || ordered(["a", "b", "c"]),
            || ordered(["c", "a", "b"]),
        ),
        control(
            C54,
            "misses a cluster",
            || check(&still(), &done()),
            || check(&still(), &[deploy(0, "a")]),
        ),
        control(
            C55,
            "never removes",
            || shrinking(modified(slice(1, [""; 0])), vec![remove(2, "b")]),
            || shrinking(modified(slice(1, [""; 0])), vec![]),
        ),
        control(
            C56,
            "overlooks deletions",
            || shrinking(deleted(slice(1, ["b"])), vec![remove(1, "b")]),
            || shrinking(deleted(slice(1, ["b"])), vec![]),
        ),
        control(
            C57,
            "follows each slice by itself",
            || moved(vec![]),
            || moved(vec![remove(1, "b"), deploy(2, "b")]),
        ),
        control(
            C59,
            "keeps an unknown cluster to itself",
            || with_inventory(vec![deploy(0, "a"), act(0, Deed::Unresolved(own("b")))]),
            || with_inventory(vec![deploy(0, "a")]),
        ),
        control(
            C59,
            "keeps an entry that it cannot read to itself",
            || {
                unreadable(vec![
                    deploy(0, "a"),
                    act(0, Deed::Unreadable(slice_key("web-decision-0"))),
                ])
            },
            || unreadable(vec![deploy(0, "a")]),
        ),
        control(
            C60,
            "knows one scheduler",
            || two("karmada", true),
            || two("karmada", false),
        ),
        control(
            C61,
            "takes empty for absent",
            || emptied(vec![remove(1, "a"), act(1, Deed::Emptied)]),
            || emptied(vec![remove(1, "a")]),
        ),
        control(
            C61,
            "takes empty for gone",
            || emptied(vec![remove(1, "a"), act(1, Deed::Emptied)]),
            || emptied(vec![remove(1, "a"), act(1, Deed::Gone), act(1, Deed::Emptied)]),
        ),
        control(
            D10,
            "selects by placement-key alone",
            || half_labelled(done()),
            || half_labelled(vec![deploy(0, "a")]),
        ),
    ]
}

#[test]
fn a_consumer_that_breaks_a_rule_fails_its_check_and_no_other() {
    hold(&controls());
}

#[test]
fn decisions_that_nobody_followed_are_not_blamed_on_the_scheduler() {
    assert_eq!(two("portolan", false).failed(), [CheckId::C50]);
}

#[test]
fn a_consumer_of_a_deleted_decision_has_nothing_left() {
    let events = vec![deleted(slice(0, ["a"])), Event::Settled];
    let recording = recording([slice(0, ["a"])], events);
    let clean = [deploy(0, "a"), remove(1, "a"), act(1, Deed::Gone)];
    assert!(check(&recording, &clean).is_clean());
    assert_eq!(check(&recording, &clean[..1]).failed(), [CheckId::C56]);
}
