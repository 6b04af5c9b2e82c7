//! Rules that hold whatever a placement wants next and wherever the writer crashes.

use std::collections::BTreeSet;

use portolan_api::cluster::UpdateStrategyType::{self, All, RollingUpdate};
use portolan_check::{Cluster, DecisionKind, Event, Recording, Report, state, stream};
use proptest::prelude::*;

use super::history::{Change, History, Step, any_change, kep, ocm, one_cluster, steps};
use crate::layout::fixture::names;

/// Carries out every step, crashing as it says and going on with the same target.
pub(super) fn run(ordered: bool, update: UpdateStrategyType, steps: &[Step]) -> History {
    let mut history = History::new(ordered, update);
    for step in steps {
        history.change(step.change);
        for (attempt, crash) in step.crashes.iter().enumerate() {
            let _ = history.attempt(usize::from(*crash) % 24, step.shuffle ^ attempt as u64);
        }
        let _ = history.settle(step.shuffle);
    }
    history
}

fn clean(report: &Report) -> Result<(), TestCaseError> {
    prop_assert!(report.is_clean(), "{report}");
    Ok(())
}

proptest! {
    // A history is worth many cases of other tests; PROPTEST_CASES still scales their number.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn a_writer_that_crashes_breaks_no_rule(ordered: bool, rolls: bool, steps in steps(any_change())) {
        let history = run(ordered, if rolls { RollingUpdate } else { All }, &steps);
        clean(&stream::check(&history.recording))?;
        clean(&state::rest(&history.state()))?;
    }

    #[test]
    fn what_is_at_rest_is_what_was_wanted(ordered: bool, steps in steps(any_change())) {
        let history = run(ordered, RollingUpdate, &steps);
        let state = history.state();
        let [profiles, managed] = history.answer();
        prop_assert_eq!(state.decision(&kep()).unwrap().clusters(), profiles);
        prop_assert_eq!(state.decision(&ocm()).unwrap().clusters(), managed);
        clean(&state::published(&state, &kep()))?;
        if history.world.ordered {
            let groups = history.groups();
            let order = groups.iter().flat_map(|group| &group.clusters);
            let order: Vec<_> = order.map(|one| Cluster::profile("apps", &*one.name)).collect();
            clean(&state::order_reads_back(&state, &kep(), &order))?;
        }
    }

    #[test]
    fn what_was_settled_is_not_written_again(ordered: bool, steps in steps(any_change())) {
        let mut history = run(ordered, RollingUpdate, &steps);
        let plan = history.settle(0);
        prop_assert!(plan.is_empty(), "{plan:?}");
    }

    #[test]
    fn a_wish_that_changes_in_mid_flight_loses_nothing(ordered: bool, steps in steps(any_change())) {
        let mut history = History::new(ordered, RollingUpdate);
        history.change(Change::Select(150, 7));
        let _ = history.settle(0);
        history.recording = Recording::starting_at(history.state());
        let mut answers = vec![history.answer()];
        for step in &steps {
            history.change(step.change);
            answers.push(history.answer());
            for (attempt, crash) in step.crashes.iter().enumerate() {
                let _ = history.attempt(usize::from(*crash) % 24, step.shuffle ^ attempt as u64);
            }
        }
        let _ = history.settle(1);
        let of_kind = |kind: usize| answers.iter().map(|answer| answer[kind].clone()).collect::<Vec<_>>();
        let recording = &history.recording;
        clean(&stream::stays_present(recording, &kep(), &in_all(&of_kind(0))))?;
        clean(&stream::stays_present(recording, &ocm(), &in_all(&of_kind(1))))?;
        clean(&stream::revisions_sound(recording, &kep(), &of_kind(0), stream::Soundness::Between))?;
        for state in recording.states() {
            clean(&state::instant(&state))?;
        }
        clean(&state::rest(&history.state()))?;
    }

    #[test]
    fn where_a_plan_leads_does_not_depend_on_crashes(steps in steps(any_change())) {
        let crashed = run(true, RollingUpdate, &steps);
        let calm: Vec<_> = steps.into_iter().map(|step| Step { crashes: Vec::new(), ..step }).collect();
        let calm = run(true, RollingUpdate, &calm);
        prop_assert_eq!(crashed.state().decisions, calm.state().decisions);
        // Ordered slices have one layout; sticky ones keep what a crash left where it is.
        if calm.world.ordered {
            prop_assert_eq!(crashed.world.slices(), calm.world.slices());
        }
        prop_assert_eq!(crashed.world.slices().len(), calm.world.slices().len());
    }

    #[test]
    fn one_cluster_more_or_less_changes_one_slice_while_their_number_stays(
        size in 1usize..250, seed: u64, changes in proptest::collection::vec(one_cluster(), 1..8),
    ) {
        let mut history = History::new(false, All);
        history.change(Change::Select(size, seed));
        let _ = history.settle(0);
        for change in changes {
            let before = history.world.slices();
            history.change(change);
            let plan = history.settle(seed);
            let after = history.world.slices();
            let written = plan.writes().filter(|write| matches!(write, crate::plan::Write::ReplaceSlice(_))).count();
            if before.len() == after.len() {
                prop_assert_eq!(written, usize::from(before != after));
            } else {
                let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
                prop_assert!(changed <= 2, "{changed} slices hold other clusters");
            }
        }
        clean(&stream::check(&history.recording))?;
    }

    #[test]
    fn insertions_and_removals_have_no_gap_under_all(
        size in 1usize..250, seed: u64, joins: bool, few in 1usize..6,
    ) {
        let mut history = History::new(false, All);
        history.change(Change::Select(size, seed));
        let _ = history.settle(0);
        let (leave, join) = if joins { (0, few) } else { (few, 0) };
        history.change(Change::Few { leave, join, seed });
        let _ = history.settle(seed);
        let gaps = stream::gaps(&history.recording);
        prop_assert!(gaps.iter().all(|gap| gap.decision.kind != DecisionKind::Ocm), "{gaps:?}");
        clean(&stream::check(&history.recording))?;
    }
}

#[test]
fn the_numbers_around_a_full_slice() {
    let mut history = History::new(false, RollingUpdate);
    for (size, slices) in [(100, 1), (101, 2), (100, 1), (201, 3), (0, 1), (99, 1)] {
        history.change(Change::Select(0, 0));
        history.change(Change::Few {
            leave: 0,
            join: size,
            seed: 3,
        });
        let _ = history.settle(0);
        assert_eq!(history.world.slices().len(), slices, "{size} clusters");
    }
    let report = stream::check(&history.recording);
    assert!(report.is_clean(), "{report}");
    assert_eq!(
        history
            .recording
            .events
            .iter()
            .filter(|event| **event == Event::Settled)
            .count(),
        6
    );
}

/// Clusters that every answer has.
fn in_all(answers: &[BTreeSet<Cluster>]) -> BTreeSet<Cluster> {
    let (first, rest) = answers.split_first().unwrap();
    first
        .iter()
        .filter(|cluster| rest.iter().all(|answer| answer.contains(*cluster)))
        .cloned()
        .collect()
}

#[test]
fn names_sort_like_numbers() {
    assert!(names(0..1000).is_sorted());
}
