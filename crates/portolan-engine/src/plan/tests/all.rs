//! The update strategy `All`: each object once, in an order without gaps where there is one.

use portolan_api::cluster::UpdateStrategyType;

use super::super::order::batches;
use crate::layout::fixture::{World, all, transcript};

fn statuses(world: &mut World, groups: &[crate::model::Group]) -> Vec<Vec<String>> {
    let phases = transcript(&world.run(groups)).into_iter();
    let ours = |phase: Vec<String>| {
        phase
            .into_iter()
            .filter(|line| line.contains("decision-") && line.contains(" = "))
    };
    let ours = phases.map(|phase| ours(phase).filter(|line| line.starts_with("decision ")).collect());
    ours.filter(|phase: &Vec<String>| !phase.is_empty()).collect()
}

fn world() -> World {
    World {
        update: UpdateStrategyType::All,
        ..World::new()
    }
}

#[test]
fn an_insertion_is_written_from_the_back() {
    let mut world = world();
    world.settle(&all(1..=250));
    assert_eq!(
        statuses(&mut world, &all(0..=250)),
        [
            ["decision web-decision-3 = c200..c250"],
            ["decision web-decision-2 = c100..c199"],
            ["decision web-decision-1 = c000..c099"],
        ]
    );
}

#[test]
fn a_removal_is_written_from_the_front() {
    let mut world = world();
    world.settle(&all(0..=250));
    assert_eq!(
        statuses(&mut world, &all(1..=250)),
        [
            ["decision web-decision-1 = c001..c100"],
            ["decision web-decision-2 = c101..c200"],
            ["decision web-decision-3 = c201..c250"],
        ]
    );
}

#[test]
fn a_circle_is_broken_where_least_is_lost() {
    // 0 and 1 exchange clusters, two one way and one the other; 2 waits for both.
    let clusters = [
        (0, vec![1]),
        (0, vec![1]),
        (1, vec![0]),
        (1, vec![2]),
        (0, vec![2]),
    ];
    let order: Vec<Vec<usize>> = batches(0..3, &clusters)
        .into_iter()
        .map(|batch| batch.into_iter().collect())
        .collect();
    assert_eq!(order, [[0], [1], [2]]);
}
