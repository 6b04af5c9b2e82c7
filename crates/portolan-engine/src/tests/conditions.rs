//! The conditions table, row by row.

use serde_json::json;

use super::fixture::*;
use crate::conditions::Condition;
use crate::engine::Engine;
use crate::fleet::Inventory;

fn find(conditions: &[Condition], type_: &str) -> (String, String, String) {
    let condition = conditions
        .iter()
        .find(|condition| condition.type_ == type_)
        .unwrap();
    (
        condition.status.clone(),
        condition.reason.clone(),
        condition.message.clone(),
    )
}

fn satisfied(world: &mut World) -> (String, String, String) {
    find(&world.decide().conditions, "PlacementSatisfied")
}

fn is(status: &str, reason: &str, message: &str) -> (String, String, String) {
    (status.into(), reason.into(), message.into())
}

#[test]
fn without_a_valid_binding_nothing_can_be_chosen() {
    let mut world = World::new(&[], json!({}));
    world.engine = Engine::new(Inventory::ManagedClusters);
    world.engine.apply_placement(&placement(json!({})));
    world.engine.apply_binding(&object(json!({
        "metadata": {"name": "ghost", "namespace": "apps"}, "spec": {"clusterSet": "ghost"},
    })));
    let message = "No valid ManagedClusterSetBindings found in placement namespace; create a ManagedClusterSetBinding in the \
                   namespace apps, named after a ManagedClusterSet; ManagedClusterSetBinding apps/ghost has no effect: \
                   there is no ManagedClusterSet \"ghost\"";
    assert_eq!(
        satisfied(&mut world),
        is("False", "NoManagedClusterSetBindings", message)
    );
}

#[test]
fn sets_that_are_not_bound_are_named() {
    let mut world = World::new(&[cluster("a", &[])], json!({"clusterSets": ["x", "al"]}));
    let sets = |x: &str| {
        format!(
            "None of ManagedClusterSets [x,al] is bound to placement namespace; spec.clusterSets can name [all], which is \
             bound; spec.clusterSets[0] is \"x\": {x}; spec.clusterSets[1] is \"al\": there is no ManagedClusterSet of \
             this name; did you mean \"all\"?"
        )
    };
    let missing = sets(
        "there is no ManagedClusterSet of this name; correct the name, or create the set and a \
         ManagedClusterSetBinding of this name",
    );
    assert_eq!(satisfied(&mut world), is("False", "NoIntersection", &missing));
    // A set that does not exist is another mistake than one that is not bound.
    world.engine.evaluate_due(now());
    world
        .engine
        .apply_set(&object(json!({"metadata": {"name": "x"}})));
    assert_eq!(world.engine.due().len(), 1, "the placement is looked at again");
    let unbound =
        sets("this set is not bound to the namespace apps; create a ManagedClusterSetBinding of this name");
    assert_eq!(satisfied(&mut world), is("False", "NoIntersection", &unbound));
}

#[test]
fn a_set_that_does_not_exist_is_named_where_nothing_is_bound() {
    let mut world = World::new(&[], json!({}));
    world.engine = Engine::new(Inventory::ManagedClusters);
    world
        .engine
        .apply_set(&object(json!({"metadata": {"name": "there"}})));
    world
        .engine
        .apply_placement(&placement(json!({"clusterSets": ["there", "dev"]})));
    let (_, reason, message) = satisfied(&mut world);
    assert_eq!(reason, "NoManagedClusterSetBindings");
    assert!(
        message.ends_with("; spec.clusterSets[1] is \"dev\": there is no ManagedClusterSet of this name"),
        "{message}"
    );
}

#[test]
fn empty_sets_are_named() {
    let message = "All ManagedClusterSets [all] have no member ManagedCluster";
    assert_eq!(
        satisfied(&mut World::new(&[], json!({}))),
        is("False", "AllManagedClusterSetsEmpty", message)
    );
}

#[test]
fn no_match_some_missing_and_all_there() {
    let clusters = [cluster("a", &[]), cluster("b", &[])];
    let none =
        json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"x": "y"}}}}]});
    let message = "No ManagedCluster matches any of the cluster predicate";
    assert_eq!(
        satisfied(&mut World::new(&clusters, none)),
        is("False", "NoManagedClusterMatched", message)
    );
    let message = "No ManagedCluster is selected, because spec.numberOfClusters is 0";
    assert_eq!(
        satisfied(&mut World::new(&clusters, json!({"numberOfClusters": 0}))),
        is("False", "NoManagedClusterMatched", message)
    );
    assert_eq!(
        satisfied(&mut World::new(&clusters, json!({"numberOfClusters": 5}))),
        is(
            "False",
            "NotAllDecisionsScheduled",
            "3 cluster decisions unscheduled"
        )
    );
    assert_eq!(
        satisfied(&mut World::new(&clusters, json!({}))),
        is("True", "AllDecisionsScheduled", "All cluster decisions scheduled")
    );
}

#[test]
fn clusters_that_match_and_are_tainted_are_not_said_to_match_nothing() {
    let tainted = with_taints(cluster("a", &[]), json!([{"key": "t", "effect": "NoSelect"}]));
    let message = "No ManagedCluster is selected: every cluster that matches the predicates has a taint that \
                   spec.tolerations does not tolerate";
    assert_eq!(
        satisfied(&mut World::new(&[tainted], json!({}))),
        is("False", "NoManagedClusterMatched", message)
    );
}

#[test]
fn without_a_namespace_in_the_manifest_the_condition_asks_for_one() {
    let mut engine = Engine::new(Inventory::ManagedClusters);
    let placement: portolan_api::cluster::Placement =
        object(json!({"metadata": {"name": "web", "namespace": "default"}, "spec": {}}));
    engine.apply_placement(&placement);
    let key = crate::placement::PlacementKey::of(&placement);
    let stored = crate::decide::Stored::default();
    let never = crate::layout::PublishScores::Never;
    let decision = crate::decide::decide(&mut engine, &key, &stored, never, now()).unwrap();
    let (_, reason, message) = find(&decision.conditions, "PlacementSatisfied");
    assert_eq!(reason, "NoManagedClusterSetBindings");
    assert!(
        message.contains("in the namespace default") && message.contains("add metadata.namespace"),
        "{message}"
    );
}

#[test]
fn an_empty_set_that_goes_by_label_says_which() {
    let mut world = World::new(&[], json!({"clusterSets": ["blue"]}));
    world
        .engine
        .apply_set(&object(json!({"metadata": {"name": "blue"}, "spec": {}})));
    world.engine.apply_binding(&object(json!({
        "metadata": {"name": "blue", "namespace": "apps"}, "spec": {"clusterSet": "blue"},
    })));
    let message = "All ManagedClusterSets [blue] have no member ManagedCluster; the label \
                   cluster.open-cluster-management.io/clusterset=blue puts a ManagedCluster into the set blue";
    assert_eq!(
        satisfied(&mut world),
        is("False", "AllManagedClusterSetsEmpty", message)
    );
}

#[test]
fn a_set_that_cannot_be_evaluated_is_an_error_and_keeps_what_is_there() {
    let mut world =
        World::new(&[cluster("a", &[])], json!({})).with_prior(vec![decision(1, (0, ""), &["a", "b"])]);
    world.engine.apply_set(&object(json!({
        "metadata": {"name": "all"}, "spec": {"clusterSelector": {"selectorType": "Telepathy"}},
    })));
    let decision = world.decide();
    let (status, reason, message) = find(&decision.conditions, "PlacementSatisfied");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "NotAllDecisionsScheduled")
    );
    assert!(
        message.contains("selectorType \"Telepathy\" is unknown; accepted: ExclusiveClusterSetLabel"),
        "{message}"
    );
    assert_eq!(find(&decision.conditions, "PlacementMisconfigured").0, "False");
    assert_eq!(
        find(&decision.conditions, "DecisionKept").2,
        "The last decision of 2 clusters is kept until the placement can be evaluated again"
    );
    assert_eq!(decision.layout.decisions, world.stored.decisions);
}

#[test]
fn a_misconfigured_placement_says_so_with_plugin_and_message() {
    let mut world = World::new(
        &[cluster("a", &[])],
        json!({"tolerations": [{"operator": "Equal"}]}),
    );
    let decision = world.decide();
    assert_eq!(
        find(&decision.conditions, "PlacementMisconfigured"),
        is(
            "True",
            "Misconfigured",
            "TaintToleration: spec.tolerations[0].operator is \"Equal\": the key is empty; use Exists, or set the key"
        )
    );
    assert_eq!(
        find(&decision.conditions, "PlacementSatisfied"),
        is(
            "False",
            "NoManagedClusterMatched",
            "No ManagedCluster is selected, because the placement is misconfigured: spec.tolerations[0].operator is \
             \"Equal\": the key is empty; use Exists, or set the key"
        )
    );
    let mut world = World::new(
        &[cluster("a", &[])],
        json!({"prioritizerPolicy": {"mode": "Magic"}}),
    );
    assert_eq!(
        find(&world.decide().conditions, "PlacementMisconfigured").2,
        "spec.prioritizerPolicy.mode is \"Magic\"; use Additive or Exact"
    );
}

#[test]
fn every_mistake_of_a_placement_is_found_and_the_first_one_is_its_status() {
    let selector = |key: &str, operator: &str| json!({"matchExpressions": [{"key": key, "operator": operator, "values": ["x"]}]});
    let mut world = World::new(
        &[cluster("a", &[])],
        json!({
            "predicates": [
                {"requiredClusterSelector": {"labelSelector": selector("a b", "Equals"),
                    "celSelector": {"celExpressions": ["foo(", "true"]}}},
                {"requiredClusterSelector": {"claimSelector": selector("c", "In")}},
            ],
            "tolerations": [{"key": "k"}, {"key": "k", "operator": "Is"}, {}],
            "prioritizerPolicy": {"mode": "Magic", "configurations": [{"scoreCoordinate": {"builtIn": "Spread"}}, {}]},
            "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "many", "decisionGroups": [
                {"groupName": "g", "groupClusterSelector": {"labelSelector": selector("d", "Exists")}}]}},
            "numberOfClusters": -1,
        }),
    );
    let mistakes = world.engine.mistakes(&key());
    let fields: Vec<&str> = mistakes.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(
        fields,
        [
            "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]",
            "spec.predicates[0].requiredClusterSelector.labelSelector.matchExpressions[0].key",
            "spec.predicates[0].requiredClusterSelector.labelSelector.matchExpressions[0].operator",
            "spec.tolerations[1].operator",
            "spec.tolerations[2].operator",
            "spec.prioritizerPolicy.mode",
            "spec.prioritizerPolicy.configurations[0].scoreCoordinate.builtIn",
            "spec.prioritizerPolicy.configurations[1].scoreCoordinate",
            "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup",
            "spec.decisionStrategy.groupStrategy.decisionGroups[0].groupClusterSelector.labelSelector.matchExpressions[0]\
             .values",
            "spec.numberOfClusters",
        ]
    );
    let misconfigured = find(&world.decide().conditions, "PlacementMisconfigured").2;
    assert!(misconfigured.contains("celExpressions[0]"), "{misconfigured}");
    assert_eq!(
        mistakes[2].accepted,
        "In, NotIn, Exists or DoesNotExist; did you mean In?"
    );
}

#[test]
fn the_mistakes_of_a_placement_that_are_stored_have_a_limit() {
    let tolerations: Vec<_> = (0..300).map(|_| json!({})).collect();
    let world = World::new(&[], json!({"tolerations": tolerations, "numberOfClusters": -1}));
    assert_eq!(world.engine.mistakes(&key()).len(), 100);
}

#[test]
fn a_placement_born_misconfigured_gets_one_empty_decision_and_no_slice() {
    let mut world = World::new(
        &[cluster("a", &[])],
        json!({"tolerations": [{"operator": "Equal"}]}),
    );
    let layout = world.decide().layout;
    assert_eq!(layout.decisions.len(), 1);
    assert!(
        layout.decisions[0]
            .status
            .as_ref()
            .is_none_or(|status| status.decisions.is_empty())
    );
    assert!(layout.slices.is_err());
}

#[test]
fn a_misconfigured_placement_keeps_slices_that_have_no_ocm_decision_beside_them() {
    let mut world = World::new(&[cluster("a", &[])], json!({}));
    world.stored.slices = world.decide().layout.slices.unwrap();
    world
        .engine
        .apply_placement(&placement(json!({"tolerations": [{"operator": "Equal"}]})));
    assert_eq!(world.decide().layout.slices.unwrap(), world.stored.slices);
}

#[test]
fn what_the_filters_did_is_shown_though_a_later_stage_is_misconfigured() {
    let mut world = World::new(
        &[cluster("a", &[])],
        json!({"prioritizerPolicy": {"mode": "Magic"}}),
    );
    let outcome = world.outcome();
    assert_eq!(
        (
            outcome.matched.len(),
            outcome.survivors.len(),
            outcome.selected.len()
        ),
        (1, 1, 0)
    );
}

#[test]
fn a_message_does_not_grow_with_the_input() {
    let sets: Vec<String> = (0..100_000).map(|number| format!("set-{number}")).collect();
    let mut world = World::new(&[cluster("a", &[])], json!({"clusterSets": sets}));
    let message = satisfied(&mut world).2;
    assert!(
        message.len() < 32_768 && message.contains("… and 99900 more"),
        "{}",
        message.len()
    );
}

#[test]
fn a_placement_with_more_entries_than_are_accepted_is_misconfigured() {
    let score = |number: usize| json!({"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": format!("s{number}")}}});
    let group = |number: usize| json!({"groupName": format!("g{number}"), "groupClusterSelector": {}});
    for (number, most, spec) in [
        (
            129,
            "prioritizerPolicy.configurations",
            json!({"prioritizerPolicy": {"configurations": (0..129).map(score).collect::<Vec<_>>()}}),
        ),
        (
            4097,
            "predicates",
            json!({"predicates": vec![json!({"requiredClusterSelector": {}}); 4097]}),
        ),
        (
            1025,
            "decisionStrategy.groupStrategy.decisionGroups",
            json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": (0..1025).map(group).collect::<Vec<_>>()}}}),
        ),
    ] {
        let mut world = World::new(&[cluster("a", &[])], spec);
        let message = find(&world.decide().conditions, "PlacementMisconfigured").2;
        let expected = format!(
            "spec.{most} is \"{number} entries\": too many for one placement; use at most {} entries",
            number - 1
        );
        assert!(message.ends_with(&expected), "{message}");
    }
}
