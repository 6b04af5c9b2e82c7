//! The scenarios of the RollingUpdate proposal, object by object.

use crate::layout::fixture::{World, all, cut, transcript};

/// OCM lines of a transcript.
fn decisions(world: &mut World, groups: &[crate::model::Group]) -> Vec<Vec<String>> {
    let phases = transcript(&world.run(groups)).into_iter();
    let ours = |phase: Vec<String>| {
        phase
            .into_iter()
            .filter(|line| line.starts_with("decision "))
            .collect()
    };
    phases
        .map(ours)
        .filter(|phase: &Vec<String>| !phase.is_empty())
        .collect()
}

#[test]
fn a_cluster_in_front_pushes_one_into_the_next_object() {
    let mut world = World::new();
    world.settle(&all(1..=150));
    let phases = decisions(&mut world, &all(0..=150));
    assert_eq!(
        phases,
        [
            vec![
                "decision web-decision-1 = c000..c100",
                "decision web-decision-2 = c100..c150"
            ],
            // The second object already is what it will be.
            vec!["decision web-decision-1 = c000..c099"],
            vec![
                "decision web-decision-1 group 0",
                "decision web-decision-2 group 0"
            ],
        ]
    );
}

#[test]
fn a_cluster_that_leaves_in_front_pulls_one_back() {
    let mut world = World::new();
    world.settle(&all(0..=150));
    let phases = decisions(&mut world, &all(1..=150));
    assert_eq!(
        phases,
        [
            // The second object already holds the union.
            vec!["decision web-decision-1 = c000..c100"],
            vec![
                "decision web-decision-1 = c001..c100",
                "decision web-decision-2 = c101..c150"
            ],
            vec![
                "decision web-decision-1 group 0",
                "decision web-decision-2 group 0"
            ],
        ]
    );
}

#[test]
fn smaller_groups_redistribute_over_more_objects() {
    let mut world = World::new();
    world.settle(&all(1..=250));
    world.grouped = true;
    let phases = decisions(&mut world, &cut(1..=250, 50));
    assert_eq!(
        phases,
        [
            vec![
                "decision web-decision-2 group 1",
                "decision web-decision-3 group 2",
                "decision web-decision-4 create group 3",
                "decision web-decision-5 create group 4",
            ],
            vec![
                // 150 clusters for a moment, as the proposal wants it. The third is the union of 201..250 and
                // 101..150, which is 100 clusters and not what the proposal's figure shows.
                "decision web-decision-2 = c051..c200",
                "decision web-decision-3 = c101..c150 c201..c250",
                "decision web-decision-4 = c151..c200",
                "decision web-decision-5 = c201..c250",
            ],
            vec![
                "decision web-decision-1 = c001..c050",
                "decision web-decision-2 = c051..c100",
                "decision web-decision-3 = c101..c150",
            ],
            vec!["decision web-decision-1 group 0"],
        ]
    );
}

#[test]
fn larger_groups_write_the_status_before_labels_fall_and_delete_last() {
    let mut world = World::new();
    world.grouped = true;
    world.settle(&cut(1..=250, 50));
    let phases = decisions(&mut world, &cut(1..=250, 250));
    assert_eq!(
        phases,
        [
            vec![
                "decision web-decision-1 = c001..c100",
                "decision web-decision-2 = c051..c200",
                "decision web-decision-3 = c101..c150 c201..c250",
            ],
            vec![
                "decision web-decision-2 = c101..c200",
                "decision web-decision-3 = c201..c250"
            ],
            vec![
                "decision web-decision-1 group 0",
                "decision web-decision-2 group 0",
                "decision web-decision-3 group 0",
            ],
            vec!["decision web-decision-4 delete", "decision web-decision-5 delete"],
        ]
    );
}

#[test]
fn without_a_move_there_is_no_surge() {
    let mut world = World::new();
    world.settle(&all(0..=100));
    let phases = decisions(&mut world, &all(0..=101));
    assert_eq!(
        phases,
        [
            ["decision web-decision-2 = c100..c101"],
            ["decision web-decision-2 group 0"]
        ]
    );
}
