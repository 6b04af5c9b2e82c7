//! Which slice a cluster is in.

use crate::layout::fixture::{World, all, group, label, names};

#[test]
fn holes_fill_lowest_index_first_in_name_order() {
    let mut world = World::new();
    world.settle(&all(10..=309));
    // One hole in the first slice, two in the second.
    let left = |number: &usize| ![20, 150, 160].contains(number);
    world.settle(&all((10..=309).filter(left)));
    world.settle(&all((1..=2).chain(10..=309).filter(left)));
    let slices = world.slices();
    assert!(slices[0].contains(&"c001".to_owned()));
    assert!(slices[1].contains(&"c002".to_owned()));
    assert!(slices.iter().all(|slice| slice.is_sorted()));
}

#[test]
fn a_slice_follows_its_clusters_when_groups_move() {
    let mut world = World {
        grouped: true,
        ..World::new()
    };
    world.settle(&[group("blue", 10..=19), group("red", 20..=29)]);
    world.settle(&[
        group("canary", 1..=3),
        group("blue", 10..=19),
        group("red", 20..=29),
    ]);
    assert_eq!(world.slices(), [names(10..=19), names(20..=29), names(1..=3)]);
    let group = |index| {
        label(
            &world.slice(index).metadata,
            "cluster.open-cluster-management.io/decision-group-index",
        )
    };
    assert_eq!([0, 1, 2].map(group), ["1", "2", "0"]);
}

#[test]
fn between_equal_claims_the_group_of_the_same_name_continues_the_slice() {
    let mut world = World {
        grouped: true,
        ..World::new()
    };
    world.settle(&[group("blue", 1..=4), group("red", 5..=9)]);
    world.settle(&[group("red", 1..=2), group("blue", 3..=4)]);
    assert_eq!(world.slices()[0], names(3..=4));
}

#[test]
fn a_cluster_found_twice_stays_in_the_lower_slice() {
    let mut world = World::new();
    world.settle(&all(1..=150));
    let twice = world.slice(1).decisions[0].clone();
    world.slice_mut(0).decisions[99] = twice;
    world.settle(&all((1..=99).chain(101..=150)));
    assert_eq!(world.slices(), [names((1..=99).chain([101])), names(102..=150)]);
}

#[test]
fn order_follows_rank_group_by_group() {
    let mut world = World {
        ordered: true,
        grouped: true,
        ..World::new()
    };
    world.settle(&[group("a", (0..=100).rev()), group("b", [7, 300, 5])]);
    let slices = world.slices();
    assert_eq!(slices, [names((1..=100).rev()), names([0]), names([7, 300, 5])]);
}
