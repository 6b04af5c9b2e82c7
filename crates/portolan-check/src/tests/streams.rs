use std::collections::BTreeSet;

use portolan_api::cluster::{DecisionStrategy, Placement, UpdateStrategy, UpdateStrategyType};

use super::{Control, fixtures::*, hold};
use crate::{
    CheckId, Cluster, Event, Object, Recording, State, labels,
    stream::{Soundness, check, gaps, no_gaps, revisions_sound, stays_present},
};

/// Seed 003: a cluster that sorts first pushes the last one of the first slice into the second.
fn shifted(first: [Slice; 2], second: [Slice; 2]) -> Recording {
    let [a, b] = first;
    let [c, d] = second;
    let before = [slice(0, names(1, 100)), slice(1, names(101, 50))];
    recording(
        before,
        vec![modified(a), modified(b), modified(c), modified(d), Event::Settled],
    )
}

fn grow_then_shrink() -> Recording {
    // The KEP kind may not surge over 100, so the newcomer waits until there is room.
    let before = [slice(0, names(1, 100)), slice(1, names(101, 50))];
    let events = vec![
        modified(slice(1, names(100, 51))),
        modified(slice(0, names(0, 100))),
        Event::Settled,
    ];
    recording(before, events)
}

fn shrink_before_grow() -> Recording {
    let before = [slice(0, names(1, 100)), slice(1, names(101, 50))];
    let events = vec![
        modified(slice(0, names(0, 100))),
        modified(slice(1, names(100, 51))),
        Event::Settled,
    ];
    recording(before, events)
}

fn stays() -> BTreeSet<Cluster> {
    profiles(names(1, 150)).into_iter().collect()
}

fn revision_0() -> [Slice; 2] {
    [revised(0, 2, 0, names(0, 100)), revised(0, 2, 1, names(100, 2))]
}

/// Drops one cluster of each slice. `early` deletes the second slice before the first is written.
fn shrinking(early: bool) -> Recording {
    let last = deleted(revised(0, 2, 1, names(100, 2)));
    let first = modified(revised(1, 1, 0, names(0, 99)));
    let events = if early {
        vec![last, first, Event::Settled]
    } else {
        vec![first, last, Event::Settled]
    };
    recording(revision_0(), events)
}

/// Three slices become two; the extra slice of the last revision is written `honest`ly or claims to be a whole set.
fn mixed(honest: bool) -> Recording {
    let count = if honest { 2 } else { 1 };
    let first = modified(revised(1, count, 0, names(0, 100)));
    let second = modified(revised(1, 2, 1, names(100, 1)));
    let mut events = vec![first, second];
    if !honest {
        events.push(modified(revised(1, 2, 0, names(0, 100))));
    }
    events.push(Event::Settled);
    recording(revision_0(), events)
}

fn regrouped(labels_first: bool) -> Recording {
    let before = [object(1, 0, ["a"]), object(2, 0, ["b"])];
    // Object 2 rises to group 1 and takes c, which is decided for group 1.
    let step = if labels_first {
        object(2, 1, ["b"])
    } else {
        object(2, 0, ["c"])
    };
    let events = vec![
        modified(object(1, 0, ["a", "b"])),
        modified(step),
        modified(object(2, 1, ["c"])),
        Event::Settled,
    ];
    recording(before, events)
}

fn status_written(last: bool) -> Recording {
    let told = modified(placement(&[(&["web-decision-1"], 2)]));
    let write = modified(object(1, 0, ["a", "b"]));
    let mut events = if last {
        vec![write, told]
    } else {
        vec![told, write]
    };
    events.push(Event::Settled);
    let before = [
        Object::from(object(1, 0, ["a"])),
        placement(&[(&["web-decision-1"], 1)]).into(),
    ];
    recording(before, events)
}

pub(super) fn controls() -> Vec<Control> {
    vec![
        Control {
            check: CheckId::Rule1,
            name: "shrink before grow",
            sound: || check(&grow_then_shrink()),
            broken: || check(&shrink_before_grow()),
        },
        Control {
            check: CheckId::Rule1,
            name: "shrink before grow, told by the answers",
            sound: || stays_present(&grow_then_shrink(), &web(), &stays()),
            broken: || stays_present(&shrink_before_grow(), &web(), &stays()),
        },
        Control {
            check: CheckId::Rule3,
            name: "a write that changes nothing",
            sound: || {
                check(&recording(
                    [slice(0, ["a"])],
                    vec![modified(slice(0, ["b"])), Event::Settled],
                ))
            },
            broken: || {
                let again = modified(at_version(slice(0, ["a"]), "2"));
                check(&recording(
                    [at_version(slice(0, ["a"]), "1")],
                    vec![again, Event::Settled],
                ))
            },
        },
        Control {
            check: CheckId::Rule4,
            name: "a surge over 100 in the middle",
            sound: || check(&grow_then_shrink()),
            broken: || {
                let surge = [slice(0, names(0, 101)), slice(1, names(100, 51))];
                check(&shifted(
                    surge,
                    [slice(0, names(0, 100)), slice(1, names(100, 50))],
                ))
            },
        },
        Control {
            check: CheckId::D4,
            name: "a write under an older revision",
            sound: || {
                check(&recording(
                    [revised(4, 1, 0, ["a"])],
                    vec![modified(revised(5, 1, 0, ["b"])), Event::Settled],
                ))
            },
            broken: || {
                check(&recording(
                    [revised(4, 1, 0, ["a"])],
                    vec![modified(revised(3, 1, 0, ["b"])), Event::Settled],
                ))
            },
        },
        Control {
            check: CheckId::D5,
            name: "a slice deleted before the newer set is whole",
            sound: || check(&shrinking(false)),
            broken: || check(&shrinking(true)),
        },
        Control {
            check: CheckId::KepSound,
            name: "half a set that claims to be whole",
            sound: || check(&mixed(true)),
            broken: || check(&mixed(false)),
        },
        Control {
            check: CheckId::OcmGroupOrder,
            name: "clusters of a later group under the old label",
            sound: || check(&regrouped(true)),
            broken: || check(&regrouped(false)),
        },
        Control {
            check: CheckId::OcmStatusLast,
            name: "status before the objects",
            sound: || check(&status_written(true)),
            broken: || check(&status_written(false)),
        },
    ]
}

#[test]
fn a_broken_stream_fails_its_own_check_and_no_other() {
    hold(&controls());
}

#[test]
fn a_gap_names_who_left_and_when_it_came_back() {
    let gaps = gaps(&shrink_before_grow());
    assert_eq!(gaps.len(), 1);
    assert_eq!(
        (gaps[0].cluster.name.as_str(), gaps[0].left, gaps[0].returned),
        ("c00100", 1, 2)
    );
    assert_eq!(gaps[0].left_with.name, "web-decision-0");
}

#[test]
fn a_cluster_that_is_gone_at_rest_and_returns_later_is_no_gap() {
    let events = vec![
        modified(slice(0, [""; 0])),
        Event::Settled,
        modified(slice(0, ["a"])),
        Event::Settled,
    ];
    assert!(check(&recording([slice(0, ["a"])], events)).is_clean());
}

#[test]
fn a_stream_cut_by_a_crash_is_judged_by_the_answers() {
    let mut cut = shrink_before_grow();
    cut.events.truncate(1);
    assert!(no_gaps(&cut).is_clean());
    assert_eq!(stays_present(&cut, &web(), &stays()).failed(), [CheckId::Rule1]);
}

#[test]
fn ocm_promises_no_gap_under_rolling_update_only() {
    let rolling = |strategy| {
        let mut placement: Placement = bare_placement();
        let update_strategy = Some(UpdateStrategy {
            r#type: Some(strategy),
        });
        placement.spec.decision_strategy = Some(DecisionStrategy {
            update_strategy,
            ..Default::default()
        });
        let before = [
            Object::from(object(1, 0, ["a"])),
            object(2, 1, ["b"]).into(),
            placement.into(),
        ];
        recording(
            before,
            vec![modified(object(1, 0, ["b"])), modified(object(2, 1, ["a"]))],
        )
    };
    assert!(no_gaps(&rolling(UpdateStrategyType::All)).is_clean());
    assert_eq!(
        no_gaps(&rolling(UpdateStrategyType::RollingUpdate)).failed(),
        [CheckId::Rule1]
    );
}

#[test]
fn a_slice_that_takes_a_key_when_the_decision_grows_stays_the_same_decision() {
    let keyless = without(slice(0, ["a"]), labels::DECISION_KEY);
    let events = vec![modified(slice(0, ["b"])), modified(slice(0, ["a", "b"]))];
    assert_eq!(gaps(&recording([keyless], events)).len(), 1);
}

#[test]
fn a_new_decision_is_published_slice_by_slice_from_revision_0() {
    let events = revision_0()
        .map(added)
        .into_iter()
        .chain([Event::Settled])
        .collect();
    assert!(
        check(&Recording {
            initial: State::default(),
            events
        })
        .is_clean()
    );
}

#[test]
fn a_key_that_is_dropped_for_a_moment_is_found() {
    let [a, b] = revision_0();
    let dropped = modified(without(b.clone(), labels::DECISION_KEY));
    let report = check(&recording(
        [a, b.clone()],
        vec![dropped, modified(b), Event::Settled],
    ));
    assert_eq!(report.failed(), [CheckId::C15, CheckId::D1], "{report}");
}

#[test]
fn dropping_a_decision_slice_by_slice_deletes_nothing_too_early() {
    let [a, b] = revision_0();
    let events = vec![deleted(b.clone()), deleted(a.clone()), Event::Settled];
    assert!(check(&recording([a, b], events)).is_clean());
}

#[test]
fn a_complete_revision_between_two_answers_is_sound_but_not_exact() {
    let answer = |clusters: &[&str]| profiles(clusters).into_iter().collect::<BTreeSet<_>>();
    let answers = [answer(&["a", "b"]), answer(&["b", "c"])];
    let both = recording([revised(0, 1, 0, ["a", "b", "c"])], vec![]);
    assert!(revisions_sound(&both, &web(), &answers, Soundness::Between).is_clean());
    assert_eq!(
        revisions_sound(&both, &web(), &answers, Soundness::Exact).failed(),
        [CheckId::KepSound]
    );
    for wrong in [["a", "c"], ["b", "x"]] {
        let lost = recording([revised(0, 1, 0, wrong)], vec![]);
        assert_eq!(
            revisions_sound(&lost, &web(), &answers, Soundness::Between).failed(),
            [CheckId::KepSound]
        );
    }
}

#[test]
fn a_recording_survives_json_lines() {
    let mut recording = grow_then_shrink();
    recording.initial.put(placement(&[(&["web-decision-1"], 1)]));
    recording.initial.put(profile("a", Some("m")));
    recording.initial.put(object(1, 0, ["a"]));
    recording.events.push(deleted(object(1, 0, ["a"])));
    let text = recording.to_json_lines().unwrap();
    assert_eq!(Recording::from_json_lines(&text).unwrap(), recording);
    assert!(text.lines().any(|line| line == r#"{"type":"SETTLED"}"#), "{text}");
    let event = &text.lines().nth(5).unwrap();
    assert!(
        event.starts_with(r#"{"type":"MODIFIED","object":{"apiVersion":"multicluster.x-k8s.io/v1alpha1""#),
        "{event}"
    );
}

#[test]
fn a_line_of_another_kind_is_refused_with_its_number() {
    let text = "\n{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}}\n";
    let error = Recording::from_json_lines(text).unwrap_err();
    assert_eq!(error.line, 2);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("\"Pod\""), "{cause}");
}

#[test]
fn a_replay_shows_every_prefix() {
    let recording = grow_then_shrink();
    let mut seen = Vec::new();
    recording.replay(|prefix| seen.push(prefix.state.clone()));
    assert_eq!(seen.len(), 4);
    assert_eq!(seen, recording.states().collect::<Vec<State>>());
    assert_eq!(seen.last(), Some(&recording.last()));
}
