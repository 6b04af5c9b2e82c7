//! Spread constraints.

use serde_json::{Value, json};

use super::fixture::*;

fn constraint(when: &str, skew: i64) -> Value {
    json!({"topologyKey": "zone", "topologyKeyType": "Label", "maxSkew": skew, "whenUnsatisfiable": when})
}

fn zones(zones: &[(&str, &str)]) -> Vec<portolan_api::cluster::ManagedCluster> {
    zones
        .iter()
        .map(|(name, zone)| cluster(name, &[&format!("zone={zone}")]))
        .collect()
}

fn spec(number: Option<i64>, constraints: Vec<Value>) -> Value {
    let mut spec = json!({"spreadPolicy": {"spreadConstraints": constraints}});
    if let Some(number) = number {
        spec["numberOfClusters"] = json!(number);
    }
    spec
}

#[test]
fn do_not_schedule_keeps_domains_level_and_says_what_is_left_out() {
    let clusters = zones(&[("a", "x"), ("b", "x"), ("c", "x"), ("d", "y")]);
    let mut world = World::new(&clusters, spec(None, vec![constraint("DoNotSchedule", 1)]));
    assert_eq!(world.selected(), ["a", "b", "d"]);
    let decision = world.decide();
    let condition = decision
        .conditions
        .iter()
        .find(|c| c.type_ == "SpreadConstraintsSatisfied")
        .unwrap();
    assert_eq!(condition.status, "False");
    assert!(
        condition
            .message
            .contains("spreadConstraints[0] kept 1 cluster out"),
        "{}",
        condition.message
    );
}

#[test]
fn a_cluster_without_the_key_is_rejected() {
    let mut clusters = zones(&[("a", "x")]);
    clusters.push(cluster("b", &[]));
    assert_eq!(
        World::new(&clusters, spec(None, vec![constraint("DoNotSchedule", 1)])).selected(),
        ["a"]
    );
    assert_eq!(
        World::new(&clusters, spec(None, vec![constraint("ScheduleAnyway", 1)])).selected(),
        ["a", "b"]
    );
}

#[test]
fn schedule_anyway_only_orders_the_choice() {
    let clusters = zones(&[("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")]);
    assert_eq!(
        World::new(&clusters, spec(Some(2), vec![constraint("ScheduleAnyway", 1)])).selected(),
        ["a", "c"]
    );
    let clusters = zones(&[("a", "x"), ("b", "x"), ("c", "x"), ("d", "y")]);
    assert_eq!(
        World::new(&clusters, spec(Some(3), vec![constraint("ScheduleAnyway", 1)])).selected(),
        ["a", "b", "d"]
    );
    assert_eq!(
        World::new(&clusters, spec(Some(4), vec![constraint("ScheduleAnyway", 1)])).selected(),
        ["a", "b", "c", "d"]
    );
}

#[test]
fn the_wanted_number_counts_what_spread_left_out_as_unscheduled() {
    let clusters = zones(&[("a", "x"), ("b", "x"), ("c", "x"), ("d", "y")]);
    let outcome = World::new(&clusters, spec(Some(4), vec![constraint("DoNotSchedule", 1)])).outcome();
    assert_eq!(outcome.unscheduled, 1);
}
