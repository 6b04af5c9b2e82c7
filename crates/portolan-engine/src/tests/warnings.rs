//! Warnings: each names field, value and what to use; they stay the same while the fleet changes, and go with the mistake.

use serde_json::{Value, json};

use super::fixture::*;
use crate::conditions::Condition;

/// Reason and message of the warning, if there is one.
fn warning(world: &mut World) -> Option<(String, String)> {
    let conditions = world.decide().conditions;
    let is_meant = |condition: &Condition| condition.type_ == "PlacementWarning";
    let found = conditions.into_iter().find(is_meant)?;
    assert_eq!(found.status, "True");
    Some((found.reason, found.message))
}

fn said(world: &mut World) -> (String, String) {
    warning(world).expect("there is a warning")
}

fn clusters() -> Vec<portolan_api::cluster::ManagedCluster> {
    let claims = |value: &str| json!({"clusterClaims": [{"name": "rank", "value": value}]});
    vec![
        with_status(cluster("a", &["env=prod"]), claims("7")),
        with_status(cluster("b", &["env=prod"]), claims("high")),
    ]
}

fn scored_by(coordinate: Value) -> Value {
    json!({"prioritizerPolicy": {"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate, "weight": 1}]}})
}

fn selected_by(expressions: Value) -> Value {
    json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": expressions}}}]})
}

fn score(cluster: &str, resource: &str, name: &str) -> portolan_api::cluster::AddOnPlacementScore {
    object(json!({
        "metadata": {"name": resource, "namespace": cluster},
        "status": {"scores": [{"name": name, "value": 5}]},
    }))
}

#[test]
fn a_placement_without_a_mistake_has_no_warning() {
    assert_eq!(warning(&mut World::new(&clusters(), json!({}))), None);
}

#[test]
fn a_score_that_no_cluster_publishes_is_a_warning_until_one_does() {
    let spec = scored_by(json!({"type": "AddOn", "addOn": {"resourceName": "nosuch", "scoreName": "nope"}}));
    let mut world = World::new(&clusters(), spec);
    world.engine.evaluate_due(now());
    let (reason, message) = said(&mut world);
    assert_eq!(reason, "ScoreNotPublished");
    assert_eq!(
        message,
        "spec.prioritizerPolicy.configurations[0].scoreCoordinate.addOn is \"nosuch/nope\": no cluster that passes the \
         filters has an AddOnPlacementScore of this resourceName with this scoreName, so that every cluster gets 0; use \
         the names of a score that is published (kubectl get addonplacementscores -A)"
    );
    world.engine.apply_score(&score("b", "nosuch", "other"));
    assert_eq!(said(&mut world), (reason, message));
    world.engine.apply_score(&score("b", "nosuch", "nope"));
    assert_eq!(world.engine.due().len(), 1, "the placement is looked at again");
    assert_eq!(warning(&mut world), None);
}

#[test]
fn a_property_without_numbers_is_a_warning() {
    let spec = |name: &str| scored_by(json!({"type": "Property", "property": name}));
    assert_eq!(warning(&mut World::new(&clusters(), spec("rank"))), None);
    let (reason, message) = said(&mut World::new(&clusters(), spec("rnk")));
    assert_eq!(reason, "ScoreNotPublished");
    assert!(
        message.contains("scoreCoordinate.property is \"rnk\""),
        "{message}"
    );
    let words = with_status(
        cluster("a", &[]),
        json!({"clusterClaims": [{"name": "rank", "value": "high"}]}),
    );
    assert!(warning(&mut World::new(&[words], spec("rank"))).is_some());
}

#[test]
fn cel_that_fails_for_every_cluster_is_a_warning_with_field_and_error() {
    let boolean = "use an expression that gives true or false";
    for (expression, error, remedy) in [
        (
            "managedCluster.metadata.name + 1 == 2",
            "no such overload",
            boolean,
        ),
        ("managedCluster.metadata.name", "not boolean", boolean),
        (
            "managedCluster.metadata.labels['no-such'] == 'x'",
            "no such key",
            "such as \"no-such\" in managedCluster.metadata.labels && …",
        ),
        (
            "managedCluster.status.nothing.more['x'] == 'y'",
            "no such key",
            "such as has(managedCluster.status.nothing) && …",
        ),
    ] {
        let mut world = World::new(&clusters(), selected_by(json!(["true", expression])));
        let (reason, message) = said(&mut world);
        assert_eq!(reason, "ExpressionFails");
        let path = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[1]";
        assert!(message.starts_with(path) && message.contains(error), "{message}");
        assert!(
            message.contains(expression) && message.contains(remedy),
            "{message}"
        );
    }
}

#[test]
fn cel_that_answers_for_one_cluster_is_no_warning() {
    let expression = "managedCluster.metadata.labels['tier'] == 'gold'";
    let mut world = World::new(&clusters(), selected_by(json!([expression])));
    world.engine.evaluate_due(now());
    assert!(warning(&mut world).is_some());
    // It is false, and no error: nothing is selected, and the expression is as good as any.
    world.engine.apply_cluster(&cluster("b", &["tier=silver"]));
    assert_eq!(world.engine.due().len(), 1, "the placement is looked at again");
    assert_eq!(warning(&mut world), None);
    world.engine.evaluate_due(now());
    world.engine.apply_cluster(&cluster("b", &[]));
    assert_eq!(world.engine.due().len(), 1, "the placement is looked at again");
    assert!(warning(&mut world).is_some());
}

#[test]
fn a_warning_stays_the_same_when_unrelated_clusters_come_change_and_go() {
    let coordinate = json!({"type": "AddOn", "addOn": {"resourceName": "nosuch", "scoreName": "nope"}});
    let expression = json!(["managedCluster.metadata.labels['tier'] == 'gold'"]);
    let mut spec = json!({"predicates": [
        {"requiredClusterSelector": {"celSelector": {"celExpressions": expression}}}, {"requiredClusterSelector": {}},
    ]});
    spec["prioritizerPolicy"] = scored_by(coordinate)["prioritizerPolicy"].clone();
    spec["clusterSets"] = json!(["all", "dev"]);
    let groups = json!([
        {"groupName": "canary", "groupClusterSelector": {}}, {"groupName": "canary", "groupClusterSelector": {}},
    ]);
    spec["decisionStrategy"] =
        json!({"groupStrategy": {"decisionGroups": groups, "clustersPerDecisionGroup": 0}});
    let mut world = World::new(&clusters(), spec);
    let first = said(&mut world);
    for field in [
        "spec.predicates[0]",
        "configurations[0].scoreCoordinate.addOn",
        "spec.clusterSets[1] is \"dev\": there is no ManagedClusterSet of this name; use a bound set [all]",
        "decisionGroups[1].groupName is \"canary\": decisionGroups[0] has this name, too",
        "clustersPerDecisionGroup is 0: every cluster is in one group; use a whole number",
    ] {
        assert!(first.1.contains(field), "{field} is missing in {}", first.1);
    }
    for change in 0..6 {
        match change {
            0 => world
                .engine
                .apply_cluster(&cluster("0-first-by-name", &["env=dev"])),
            1 => world.engine.apply_cluster(&cluster("zz", &["env=prod"])),
            2 => world.engine.apply_cluster(&with_taints(
                cluster("zz", &[]),
                json!([{"key": "t", "effect": "NoSelect"}]),
            )),
            3 => world.engine.remove_cluster("zz"),
            4 => world.engine.apply_score(&score("a", "other", "nope")),
            _ => world.engine.remove_cluster("a"),
        }
        assert_eq!(said(&mut world), first, "after change {change}");
    }
}

#[test]
fn a_binding_without_a_set_is_a_warning_for_placements_that_could_use_it() {
    let bind = |world: &mut World| {
        world.engine.apply_binding(&object(json!({
            "metadata": {"name": "ghost", "namespace": "apps"}, "spec": {"clusterSet": "ghost"},
        })));
    };
    let mut world = World::new(&clusters(), json!({}));
    bind(&mut world);
    assert_eq!(
        said(&mut world),
        (
            "ClusterSetNotFound".to_owned(),
            "ManagedClusterSetBinding apps/ghost has no effect: there is no ManagedClusterSet \"ghost\""
                .to_owned()
        )
    );
    let mut world = World::new(&clusters(), json!({"clusterSets": ["all"]}));
    bind(&mut world);
    assert_eq!(warning(&mut world), None);
}

#[test]
fn a_binding_of_another_name_than_its_set_is_said_to_be_misnamed_while_it_is() {
    let mut world = World::new(&clusters(), json!({}));
    let mut message_with = |cluster_set: &str| {
        world.engine.apply_binding(&object(json!({
            "metadata": {"name": "mine", "namespace": "apps"}, "spec": {"clusterSet": cluster_set},
        })));
        said(&mut world).1
    };
    let missing = "ManagedClusterSetBinding apps/mine has no effect: there is no ManagedClusterSet \"mine\"";
    for cluster_set in ["all", "other"] {
        assert_eq!(
            message_with(cluster_set),
            format!(
                "{missing}, and a binding binds the set of its own name, not that of spec.clusterSet ({cluster_set:?})"
            )
        );
    }
    assert_eq!(message_with("mine"), missing);
    assert_eq!(message_with(""), missing, "it names no other set");
}

#[test]
fn a_warning_about_thousands_of_sets_fits_a_condition() {
    let mut sets: Vec<String> = (0..10_000).map(|number| format!("set-{number}")).collect();
    sets.push("all".to_owned());
    let (_, message) = said(&mut World::new(&clusters(), json!({"clusterSets": sets})));
    assert!(
        message.len() < 32_768 && message.ends_with(" more"),
        "{}",
        message.len()
    );
}

#[test]
fn a_toleration_that_ends_before_its_taint_is_added_is_a_warning() {
    let tolerated = |seconds: i64| {
        json!({"tolerations": [
            {"key": "a", "operator": "Exists"},
            {"key": "b", "operator": "Exists", "tolerationSeconds": seconds},
        ]})
    };
    assert_eq!(warning(&mut World::new(&clusters(), tolerated(0))), None);
    assert_eq!(
        said(&mut World::new(&clusters(), tolerated(-5))),
        (
            "TolerationSecondsNegative".to_owned(),
            "spec.tolerations[1].tolerationSeconds is -5: the toleration ends before the taint is added, so that it \
             tolerates nothing; use a whole number from 0, or leave it out to tolerate the taint for good"
                .to_owned()
        )
    );
}

#[test]
fn a_prioritizer_that_is_named_twice_is_a_warning() {
    let named = |one: Value, other: Value| {
        json!({"prioritizerPolicy": {"configurations": [
            {"scoreCoordinate": one, "weight": 1}, {"scoreCoordinate": other, "weight": 2},
        ]}})
    };
    let steady = json!({"builtIn": "Steady"});
    let spec = named(steady.clone(), json!({"builtIn": "Balance"}));
    assert_eq!(warning(&mut World::new(&clusters(), spec)), None);
    let spec = named(steady.clone(), json!({"type": "BuiltIn", "builtIn": "Steady"}));
    assert_eq!(
        said(&mut World::new(&clusters(), spec)),
        (
            "PrioritizerRepeated".to_owned(),
            "spec.prioritizerPolicy.configurations[1].scoreCoordinate is \"Steady\": configurations[0] names this \
             prioritizer, too, and only the last weight counts; use each prioritizer once"
                .to_owned()
        )
    );
    let add_on = json!({"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}});
    let mut world = World::new(&clusters(), named(add_on.clone(), add_on));
    world.engine.apply_score(&score("a", "r", "s"));
    world.engine.evaluate_due(now());
    let (_, message) = said(&mut world);
    assert!(
        message.contains("the score counts with both weights"),
        "{message}"
    );
}

#[test]
fn a_set_that_does_not_exist_is_another_mistake_than_one_that_is_not_bound() {
    let mut world = World::new(&clusters(), json!({"clusterSets": ["all", "al", "dev"]}));
    let (reason, message) = said(&mut world);
    assert_eq!(reason, "ClusterSetNotFound");
    assert!(
        message.starts_with(
            "spec.clusterSets[1] is \"al\": there is no ManagedClusterSet of this name; use a bound set [all]; did you mean \
             \"all\"?; spec.clusterSets[2]"
        ),
        "{message}"
    );
    world.engine.evaluate_due(now());
    world
        .engine
        .apply_set(&object(json!({"metadata": {"name": "dev"}})));
    assert_eq!(world.engine.due().len(), 1, "the placement is looked at again");
    let (_, message) = said(&mut world);
    assert!(
        message.ends_with(
            "spec.clusterSets[2] is \"dev\": this set is not bound to the namespace apps; use a bound set [all], or create a \
             ManagedClusterSetBinding of this name"
        ),
        "{message}"
    );
}

#[test]
fn a_topology_key_that_no_cluster_has_is_a_warning_until_one_has_it() {
    let spec = |kind: &str, when: &str| {
        json!({"spreadPolicy": {"spreadConstraints": [
            {"topologyKey": "env", "topologyKeyType": "Label"},
            {"topologyKey": "zone", "topologyKeyType": kind, "whenUnsatisfiable": when},
        ]}})
    };
    let mut world = World::new(&clusters(), spec("Label", "DoNotSchedule"));
    world.engine.evaluate_due(now());
    assert_eq!(
        said(&mut world),
        (
            "TopologyKeyNotFound".to_owned(),
            "spec.spreadPolicy.spreadConstraints[1].topologyKey is \"zone\": no cluster that passes the filters has this \
             label, so that no cluster can be selected; use the key of a label that clusters have, or topologyKeyType: Claim"
                .to_owned()
        )
    );
    world.engine.apply_cluster(&cluster("b", &["env=prod", "zone=1"]));
    assert_eq!(world.engine.due().len(), 1, "the placement is looked at again");
    assert_eq!(warning(&mut world), None);
    let (_, message) = said(&mut World::new(&clusters(), spec("Claim", "ScheduleAnyway")));
    assert!(
        message.contains("has this claim, so that the constraint spreads nothing"),
        "{message}"
    );
    assert_eq!(
        warning(&mut World::new(&[], spec("Label", "DoNotSchedule"))),
        None
    );
}
