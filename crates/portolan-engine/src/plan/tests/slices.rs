//! Plans for KEP slices.

use portolan_api::cluster::UpdateStrategyType;

use crate::layout::fixture::{World, all, chosen, cut, group, transcript};
use crate::model::Group;
use crate::plan::plan;

/// KEP lines of a transcript.
fn slices(world: &mut World, groups: &[Group]) -> Vec<Vec<String>> {
    let phases = transcript(&world.run(groups)).into_iter();
    let ours = |phase: Vec<String>| {
        phase
            .into_iter()
            .filter(|line| line.starts_with("slice "))
            .collect()
    };
    phases
        .map(ours)
        .filter(|phase: &Vec<String>| !phase.is_empty())
        .collect()
}

#[test]
fn the_first_decision_is_revision_0() {
    let mut world = World::new();
    let phases = slices(&mut world, &all(1..=101));
    let first = [
        "slice web-decision-0 create r0 = c001..c100",
        "slice web-decision-1 create r0 = c101",
    ];
    assert_eq!(phases, [first]);
}

#[test]
fn a_cluster_that_joins_is_one_write_under_the_same_revision() {
    let mut world = World::new();
    world.settle(&all(1..=150));
    assert_eq!(
        slices(&mut world, &all(0..=150)),
        [["slice web-decision-1 r0 = c000 c101..c150"]]
    );
}

#[test]
fn a_cluster_that_finds_no_room_raises_the_revision_of_all() {
    let mut world = World::new();
    world.settle(&all(1..=200));
    assert_eq!(
        slices(&mut world, &all(0..=200)),
        [[
            "slice web-decision-0 r1 = c001..c100",
            "slice web-decision-1 r1 = c101..c200",
            "slice web-decision-2 create r1 = c000",
        ]]
    );
}

#[test]
fn the_last_slice_drains_and_is_deleted_when_everything_else_is_there() {
    let mut world = World::new();
    world.settle(&all(1..=201));
    let left = all((1..=201).filter(|number| *number != 7));
    assert_eq!(
        slices(&mut world, &left),
        [
            vec![
                "slice web-decision-0 r1 = c001..c006 c008..c100 c201",
                "slice web-decision-1 r1 = c101..c200"
            ],
            vec!["slice web-decision-2 delete"],
        ]
    );
}

#[test]
fn an_ordered_decision_that_shifts_spills_into_an_extra_slice() {
    let mut world = World {
        ordered: true,
        ..World::new()
    };
    world.settle(&all(1..=200));
    assert_eq!(
        slices(&mut world, &all([200].into_iter().chain(1..=199))),
        [
            vec![
                "slice web-decision-0 r1 = c001..c100",
                "slice web-decision-1 r1 = c101..c200",
                "slice web-decision-2 create r1 = c200 c100",
            ],
            vec![
                "slice web-decision-0 r2 = c200 c001..c099",
                "slice web-decision-1 r2 = c100..c199"
            ],
            vec!["slice web-decision-2 delete"],
        ]
    );
}

#[test]
fn a_freed_index_takes_over_the_highest_slice() {
    let mut world = World {
        grouped: true,
        ..World::new()
    };
    world.settle(&[
        group("blue", 1..=10),
        group("green", 11..=20),
        group("red", 21..=30),
    ]);
    assert_eq!(
        slices(&mut world, &[group("blue", 1..=10), group("red", 21..=30)]),
        [
            vec![
                "slice web-decision-0 r1 = c001..c010",
                "slice web-decision-1 r1 = c021..c030"
            ],
            vec!["slice web-decision-2 delete"],
        ]
    );
}

#[test]
fn a_cluster_that_changes_groups_is_in_both_slices_first() {
    let mut world = World {
        grouped: true,
        ..World::new()
    };
    world.settle(&cut(1..=20, 10));
    assert_eq!(
        slices(&mut world, &[group("", 1..=9), group("", 10..=20)]),
        [
            vec![
                "slice web-decision-0 r1 = c001..c010",
                "slice web-decision-1 r1 = c010..c020"
            ],
            vec![
                "slice web-decision-0 r2 = c001..c009",
                "slice web-decision-1 r2 = c010..c020"
            ],
        ]
    );
}

#[test]
fn scores_are_written_without_a_new_revision() {
    let mut world = World::new();
    world.settle(&all(1..=150));
    let mut groups = all(1..=150);
    groups[0].clusters = (1..=150).map(|number| chosen(number, 2)).collect();
    let written = [[
        "slice web-decision-0 r0 = c001..c100",
        "slice web-decision-1 r0 = c101..c150",
    ]];
    assert_eq!(slices(&mut world, &groups), written);
}

#[test]
fn leftovers_of_a_finished_update_are_deleted_and_nothing_is_written() {
    let mut world = World {
        ordered: true,
        ..World::new()
    };
    world.settle(&all(1..=200));
    let shifted = all([200].into_iter().chain(1..=199));
    let plan = world.plan(&shifted);
    let (_, done) = plan.phases.split_last().unwrap();
    done.iter()
        .flat_map(|phase| &phase.writes)
        .for_each(|write| write.apply(&mut world.observed));
    assert_eq!(slices(&mut world, &shifted), [["slice web-decision-2 delete"]]);
    assert_eq!(world.revisions(), ["2", "2"]);
}

#[test]
fn torn_labels_rewrite_the_whole_set_above_every_revision_seen() {
    let mut world = World::new();
    world.settle(&all(1..=150));
    let labels = world.slice_mut(0).metadata.labels.as_mut().unwrap();
    labels.insert(
        "multicluster.x-k8s.io/decision-revision".to_owned(),
        "7".to_owned(),
    );
    let whole = [[
        "slice web-decision-0 r8 = c001..c100",
        "slice web-decision-1 r8 = c101..c150",
    ]];
    assert_eq!(slices(&mut world, &all(1..=150)), whole);
}

#[test]
fn a_decision_that_is_kept_as_it_is_torn_or_not_is_not_written() {
    let mut world = World::new();
    world.settle(&all(1..=1150));
    let mut layout = world.layout(&all(1..=1150));
    let slices = layout.slices.as_mut().unwrap();
    slices.sort_by(|left, right| left.metadata.name.cmp(&right.metadata.name));
    assert!(
        plan(&world.observed, &layout, UpdateStrategyType::All, None).is_empty(),
        "in the order of names"
    );
    let torn = layout.slices.as_mut().unwrap();
    torn.remove(3);
    world.observed.slices.clone_from(torn);
    assert!(
        plan(&world.observed, &layout, UpdateStrategyType::All, None).is_empty(),
        "with a hole"
    );
}

#[test]
fn uids_that_only_objects_know_stop_nothing() {
    let mut world = World::new();
    world.settle(&all(1..=201));
    for (index, uid) in [(0, "old"), (1, "older"), (2, "oldest")] {
        let owners = world.slice_mut(index).metadata.owner_references.as_mut().unwrap();
        owners[0].uid = uid.to_owned();
    }
    world.settle(&all(1..=100));
    assert_eq!(world.slices().len(), 1);
}
