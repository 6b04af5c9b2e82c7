//! What the expressions of one placement may cost over all clusters.

use portolan_cel::{Budget, NoScores, Program};
use portolan_check::{CheckId, DecisionId, State, pair};
use serde_json::{Value, json};

use super::fixture::*;
use crate::explain::{Stage, explain};
use crate::fleet::cel::LEAST_COST;
use crate::sabotage::{Rule, with_sabotaged};
use crate::status::Code;

/// Costs some hundred units, the same for each number.
fn expression(number: usize) -> String {
    let list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    format!("!{list}.exists(i, {list}.exists(j, i + j > 9{number}))")
}

fn costly(number: usize) -> Value {
    json!({"requiredClusterSelector": {"celSelector": {"celExpressions": [expression(number)]}}})
}

/// What one of them costs for one cluster.
fn cost() -> u64 {
    let mut budget = Budget::per_cluster();
    let program = Program::compile(&expression(0)).unwrap();
    let cluster = portolan_cel::Value::from_json(&json!({}));
    assert!(program.evaluate(&cluster, &NoScores, &mut budget).unwrap());
    assert!(budget.spent() > 2 * LEAST_COST);
    budget.spent()
}

fn costly_spec(predicates: usize) -> Value {
    json!({"predicates": (0..predicates).map(costly).collect::<Vec<_>>()})
}

fn world(clusters: &[&str], spec: Value, budget: u64) -> World {
    let clusters: Vec<_> = clusters.iter().map(|name| cluster(name, &[])).collect();
    let mut world = World::new(&clusters, spec);
    world.engine = std::mem::take(&mut world.engine).with_expression_budget(budget);
    world
}

fn named(name: &str, spec: Value) -> portolan_api::cluster::Placement {
    object(json!({"metadata": {"name": name, "namespace": "apps"}, "spec": spec}))
}

fn due(world: &World) -> Vec<String> {
    world
        .engine
        .due()
        .iter()
        .map(|key| key.name.to_string())
        .collect()
}

/// Rule 2: a placement whose expressions become too costly keeps its last decision.
fn too_costly_keeps_the_last_decision() -> portolan_check::Report {
    let prior = vec![decision(1, (0, ""), &["a", "b"])];
    let mut world = world(&["a", "b", "c"], json!({}), 10 * cost()).with_prior(prior.clone());
    world.engine.apply_placement(&placement(costly_spec(9)));
    let after = world.decide().layout.decisions;
    pair::kept(
        &State::of(prior),
        &State::of(after),
        &DecisionId::ocm("apps", "web"),
    )
}

#[test]
fn expressions_that_cost_too_much_keep_the_decision_and_dropping_it_is_noticed() {
    let report = too_costly_keeps_the_last_decision();
    assert!(report.is_clean(), "{report}");
    let broken = with_sabotaged(Rule::NeverDestroyOnDoubt, too_costly_keeps_the_last_decision);
    assert_eq!(broken.failed(), [CheckId::Rule2], "{broken}");
}

#[test]
fn a_placement_that_costs_too_much_says_why_and_stops_nobody_else() {
    let mut world =
        world(&["a", "b"], costly_spec(9), 10 * cost()).with_prior(vec![decision(1, (0, ""), &["a"])]);
    world.engine.apply_placement(&named("zoo", costly_spec(2)));
    let outcomes = world.engine.evaluate_due(now());
    let names: Vec<&str> = outcomes.iter().map(|(key, _)| &*key.name).collect();
    assert_eq!(names, ["web", "zoo"]);
    assert_eq!(outcomes[0].1.status.code, Code::Error);
    assert_eq!(
        outcomes[0].1.status.message,
        format!(
            "spec.predicates: the CEL expressions of all predicates together cost more than {} units over the clusters that \
             they are evaluated for; use fewer or cheaper expressions, or label selectors, claim selectors or \
             spec.clusterSets that leave fewer clusters to evaluate",
            10 * cost()
        )
    );
    assert_eq!(outcomes[1].1.selected.len(), 2);
    let conditions = world.decide().conditions;
    let said = |type_: &str| {
        let found = conditions.iter().find(|condition| condition.type_ == type_);
        found.map(|condition| (condition.status.as_str(), condition.reason.as_str()))
    };
    assert_eq!(
        said("PlacementSatisfied"),
        Some(("False", "NotAllDecisionsScheduled"))
    );
    assert_eq!(
        said("PlacementMisconfigured").map(|(status, _)| status),
        Some("False")
    );
    assert_eq!(said("DecisionKept"), Some(("True", "EvaluationFailed")));
    let explanation = explain(&mut world.engine, &key(), now()).unwrap();
    assert!(
        explanation
            .clusters
            .iter()
            .all(|verdict| verdict.stage == Stage::NotEvaluated)
    );
}

#[test]
fn fewer_predicates_or_fewer_clusters_mend_a_placement_that_costs_too_much() {
    let mut world = world(&["a", "b"], costly_spec(9), 10 * cost());
    let _ = world.engine.evaluate_due(now());
    world.engine.apply_placement(&placement(costly_spec(2)));
    assert_eq!(world.selected(), ["a", "b"]);

    world.engine.apply_placement(&placement(costly_spec(9)));
    let _ = world.engine.evaluate_due(now());
    assert_eq!(world.outcome().status.code, Code::Error);
    world.engine.remove_cluster("b");
    assert_eq!(due(&world), ["web"]);
    assert_eq!(world.selected(), ["a"]);
}

#[test]
fn a_cluster_that_comes_makes_expressions_cost_too_much_though_it_does_not_match() {
    let spec = json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [
        expression(0), "managedCluster.metadata.name == 'a'",
    ]}}}]});
    let mut world = world(&["a"], spec, cost() + LEAST_COST);
    let _ = world.engine.evaluate_due(now());
    assert_eq!(world.selected(), ["a"]);
    world.engine.apply_cluster(&cluster("b", &[]));
    assert_eq!(due(&world), ["web"]);
    assert_eq!(world.outcome().status.code, Code::Error);
}

/// A verdict counts 100 units at least, so that a million of them are too many whatever they are: none is evaluated.
#[test]
fn the_budget_bounds_the_number_of_evaluations_of_cheap_expressions() {
    let cheap = json!({"requiredClusterSelector": {"celSelector": {"celExpressions": ["true"]}}});
    let spec = |predicates: usize| json!({"predicates": vec![cheap.clone(); predicates]});
    let names: Vec<String> = (0..1000).map(|number| format!("c{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut many = world(&names, spec(1001), Budget::PER_PLACEMENT);
    assert_eq!(many.outcome().status.code, Code::Error);
    let mut few = world(&names[..10], spec(3), 30 * LEAST_COST);
    assert_eq!(few.outcome().status.code, Code::Success);
    few.engine.apply_placement(&placement(spec(4)));
    assert_eq!(few.outcome().status.code, Code::Error);
}

/// A change of one cluster is looked at within the budget; what is left is due without a look.
#[test]
fn a_change_costs_no_more_than_the_budget_over_all_placements() {
    let mut world = world(&["a"], json!({}), 5 * cost() / 2);
    for number in 1..=4 {
        let spec = json!({"predicates": [costly(number)]});
        world.engine.apply_placement(&named(&format!("p{number}"), spec));
    }
    let _ = world.engine.evaluate_due(now());
    let mut changed = cluster("a", &[]);
    changed.metadata.annotations = Some([("note".to_owned(), "1".to_owned())].into());
    world.engine.apply_cluster(&changed);
    assert_eq!(due(&world), ["p4"]);
}

#[test]
fn the_patterns_of_all_predicates_of_a_placement_are_limited_together() {
    let pattern = |number: usize| {
        let expression = format!("'a'.matches('^[a-z]$') || {number} > 9");
        json!({"requiredClusterSelector": {"celSelector": {"celExpressions": [expression]}}})
    };
    let spec = |count: usize| json!({"predicates": (0..count).map(pattern).collect::<Vec<_>>()});
    let mut few = world(&["a"], spec(100), Budget::PER_PLACEMENT);
    assert_eq!(few.outcome().status.code, Code::Success);
    let mut many = world(&["a"], spec(500), Budget::PER_PLACEMENT);
    let status = many.outcome().status;
    assert_eq!(status.code, Code::Misconfigured);
    assert!(
        status.message.contains("too large together"),
        "{}",
        status.message
    );
}
