//! Decision groups.

use serde_json::{Value, json};

use super::fixture::*;

fn grouped(strategy: Value) -> Value {
    json!({"decisionStrategy": {"groupStrategy": strategy}})
}

fn fleet(names: &[&str], canaries: &[&str]) -> Vec<portolan_api::cluster::ManagedCluster> {
    let labels = |name: &&str| {
        if canaries.contains(name) {
            vec!["canary=yes"]
        } else {
            vec![]
        }
    };
    names.iter().map(|name| cluster(name, &labels(name))).collect()
}

fn canary() -> Value {
    json!([{"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"canary": "yes"}}}}])
}

#[test]
fn named_groups_come_first_and_are_cut_like_the_rest() {
    let clusters = fleet(&["a", "b", "c", "d"], &["b", "d"]);
    let spec = grouped(json!({"clustersPerDecisionGroup": "25%", "decisionGroups": canary()}));
    assert_eq!(
        World::new(&clusters, spec).groups(),
        ["canary:b", "canary:d", ":a", ":c"]
    );
    let spec = grouped(json!({"clustersPerDecisionGroup": 3, "decisionGroups": canary()}));
    assert_eq!(World::new(&clusters, spec).groups(), ["canary:b,d", ":a,c"]);
}

#[test]
fn a_named_group_that_matches_nothing_takes_no_index() {
    let spec = grouped(json!({"decisionGroups": canary()}));
    assert_eq!(World::new(&fleet(&["a"], &[]), spec).groups(), [":a"]);
}

#[test]
fn nothing_selected_is_one_empty_group() {
    assert_eq!(World::new(&[], json!({})).groups(), [":"]);
}

#[test]
fn groups_are_sorted_by_score_one_by_one() {
    let scored = |name: &str, labels: &[&str], cpu: &str| {
        with_status(
            cluster(name, labels),
            json!({"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}),
        )
    };
    let clusters = [
        scored("a", &[], "1"),
        scored("b", &["canary=yes"], "2"),
        scored("c", &["canary=yes"], "3"),
        scored("d", &[], "4"),
    ];
    let mut spec = grouped(json!({"clustersPerDecisionGroup": 1, "decisionGroups": canary()}));
    spec["sortBy"] = json!("Score");
    spec["prioritizerPolicy"] = json!({"configurations": [
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"}},
    ]});
    assert_eq!(
        World::new(&clusters, spec).groups(),
        ["canary:c", "canary:b", ":d", ":a"]
    );
}

fn sticky(size: i64) -> Value {
    grouped(json!({"clustersPerDecisionGroup": size, "assignment": "Sticky"}))
}

#[test]
fn sticky_clusters_stay_and_new_ones_fill_the_last_group_then_holes_then_new_groups() {
    let prior = || vec![decision(1, (0, ""), &["c"]), decision(2, (1, ""), &["d"])];
    let names = ["a", "b", "c", "d", "e"];
    let mut world = World::new(&fleet(&names, &[]), sticky(2)).with_prior(prior());
    assert_eq!(world.groups(), [":b,c", ":a,d", ":e"]);
    let mut by_name = World::new(
        &fleet(&names, &[]),
        grouped(json!({"clustersPerDecisionGroup": 2})),
    )
    .with_prior(prior());
    assert_eq!(by_name.groups(), [":a,b", ":c,d", ":e"]);
}

#[test]
fn when_a_sticky_group_shrinks_the_highest_names_leave_to_the_last_group() {
    let prior = vec![
        decision(1, (0, ""), &["a", "b", "c"]),
        decision(2, (1, ""), &["d"]),
    ];
    let mut world = World::new(&fleet(&["a", "b", "c", "d"], &[]), sticky(2)).with_prior(prior);
    assert_eq!(world.groups(), [":a,b", ":c,d"]);
}

#[test]
fn the_overflow_of_a_sticky_group_leaves_highest_name_first() {
    let prior = vec![
        decision(1, (0, ""), &["a", "b", "c", "d"]),
        decision(2, (1, ""), &["e"]),
    ];
    let mut world = World::new(&fleet(&["a", "b", "c", "d", "e"], &[]), sticky(2)).with_prior(prior);
    assert_eq!(world.groups(), [":a,b", ":d,e", ":c"]);
}

#[test]
fn a_cluster_that_leaves_its_named_group_arrives_in_the_rest() {
    let spec =
        grouped(json!({"clustersPerDecisionGroup": 2, "assignment": "Sticky", "decisionGroups": canary()}));
    let prior = vec![
        decision(1, (0, "canary"), &["a", "b"]),
        decision(2, (1, ""), &["c"]),
    ];
    let mut world = World::new(&fleet(&["a", "b", "c"], &["b"]), spec).with_prior(prior);
    assert_eq!(world.groups(), ["canary:b", ":a,c"]);
}

#[test]
fn with_a_prioritizer_policy_sticky_groups_are_cut_anew() {
    let mut spec = sticky(2);
    spec["prioritizerPolicy"] = json!({"mode": "Additive"});
    let prior = vec![decision(1, (0, ""), &["c"]), decision(2, (1, ""), &["a"])];
    assert_eq!(
        World::new(&fleet(&["a", "b", "c"], &[]), spec)
            .with_prior(prior)
            .groups(),
        [":a,b", ":c"]
    );
}
