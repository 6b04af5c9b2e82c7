//! Why and why not.

use serde_json::{Value, json};

use super::fixture::*;
use crate::explain::{Edit, Flip, Stage, Verdict, explain, explain_cluster};

fn verdict(world: &mut World, cluster: &str) -> Verdict {
    let explanation = explain(&mut world.engine, &key(), now()).unwrap();
    explanation
        .clusters
        .into_iter()
        .find(|verdict| verdict.cluster == cluster)
        .unwrap()
}

fn flip(world: &mut World, cluster: &str) -> Option<Vec<String>> {
    let before = world.selected();
    let flip: Option<Flip> = explain_cluster(&mut world.engine, &key(), cluster, now())
        .unwrap()
        .1;
    assert_eq!(world.selected(), before, "a trial leaves no trace");
    flip.map(|flip| flip.edits.iter().map(Edit::to_string).collect())
}

fn env(value: &str) -> Value {
    json!({"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": value}}}})
}

#[test]
fn a_rejected_cluster_names_the_expression_and_the_observed_value() {
    let tainted = with_taints(
        cluster("b", &["env=prod"]),
        json!([{"key": "gpu", "value": "no", "effect": "NoSelect"}]),
    );
    let mut world = World::new(
        &[cluster("a", &["env=dev"]), tainted],
        json!({"predicates": [env("prod"), env("test")]}),
    );
    let a = verdict(&mut world, "a");
    assert_eq!(a.stage, Stage::Predicate);
    assert_eq!(
        a.checks.len(),
        2,
        "predicates are alternatives: each must say why it failed"
    );
    assert_eq!(
        (a.checks[0].expression.as_str(), a.checks[0].observed.as_str()),
        ("label env = prod", "label env=dev")
    );
    assert!(
        a.reason.contains("label env = test") && a.reason.contains("label env=dev"),
        "{}",
        a.reason
    );
    let b = verdict(&mut world, "b");
    assert_eq!(b.stage, Stage::TaintToleration);
    assert_eq!(
        b.reason,
        "taint gpu=no:NoSelect is not tolerated (spec.tolerations)"
    );
}

#[test]
fn a_cluster_that_the_hub_has_not_accepted_is_said_to_be_so() {
    let taints = || json!([{"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}]);
    let mut waiting = with_taints(cluster("a", &[]), taints());
    waiting.spec.hub_accepts_client = false;
    let mut world = World::new(&[waiting, with_taints(cluster("b", &[]), taints())], json!({}));
    let accepted =
        "taint cluster.open-cluster-management.io/unreachable:NoSelect is not tolerated (spec.tolerations)";
    let words = "The hub has not accepted the cluster: its spec.hubAcceptsClient is not true";
    assert_eq!(verdict(&mut world, "a").reason, format!("{accepted}. {words}"));
    assert_eq!(verdict(&mut world, "b").reason, accepted);
}

#[test]
fn a_ranked_cluster_shows_each_prioritizer_s_score_and_its_distance_to_the_cut_off() {
    let cpu = |name: &str, cpu: &str| {
        with_status(
            cluster(name, &[]),
            json!({"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}),
        )
    };
    let spec = json!({"numberOfClusters": 1, "prioritizerPolicy": {"mode": "Exact", "configurations": [
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"}, "weight": 2},
    ]}});
    let mut world = World::new(&[cpu("a", "1"), cpu("b", "2"), cpu("c", "3")], spec);
    let b = verdict(&mut world, "b");
    assert_eq!(
        (b.rank, b.total, b.distance_to_cut_off),
        (Some(2), Some(0), Some(-200))
    );
    assert_eq!(
        (
            b.prioritizers[0].score,
            b.prioritizers[0].weight,
            b.prioritizers[0].contribution
        ),
        (0, 2, 0)
    );
    assert!(
        b.reason
            .contains("spec.numberOfClusters is 1 and the rank is 2 of 3"),
        "{}",
        b.reason
    );
    assert_eq!(verdict(&mut world, "c").distance_to_cut_off, Some(200));
}

#[test]
fn the_smallest_change_that_selects_a_cluster_is_found_and_holds() {
    let tainted = with_taints(
        cluster("b", &["env=dev"]),
        json!([{"key": "gpu", "effect": "NoSelect"}]),
    );
    let both = json!({"requiredClusterSelector": {"labelSelector": {
        "matchLabels": {"env": "test", "tier": "one"},
    }}});
    let mut world = World::new(
        &[cluster("a", &["env=dev"]), tainted, cluster("c", &["env=prod"])],
        json!({
            "numberOfClusters": 1, "predicates": [both, env("prod")],
        }),
    );
    assert_eq!(
        flip(&mut world, "a").unwrap(),
        ["set label env=prod on the cluster"]
    );
    assert_eq!(
        flip(&mut world, "b").unwrap(),
        [
            "set label env=prod on the cluster",
            "remove taint gpu:NoSelect from the cluster, or tolerate it"
        ]
    );
}

#[test]
fn a_cluster_behind_the_limit_needs_a_higher_one_and_one_edit_drops_a_selected_one() {
    let mut world = World::new(
        &[cluster("a", &["env=prod"]), cluster("b", &["env=prod"])],
        json!({
            "numberOfClusters": 1, "predicates": [env("prod")],
        }),
    );
    assert_eq!(flip(&mut world, "b").unwrap(), ["set spec.numberOfClusters to 2"]);
    assert_eq!(
        flip(&mut world, "a").unwrap(),
        ["remove label env from the cluster"]
    );
    let mut world = World::new(&[cluster("a", &[])], json!({}));
    assert_eq!(
        flip(&mut world, "a").unwrap(),
        ["add taint portolan.dev/drain:NoSelect to the cluster"]
    );
}

#[test]
fn a_cluster_outside_of_the_sets_is_told_which_label_would_bring_it_in() {
    let mut world = World::new(&[], json!({}));
    world
        .engine
        .apply_set(&object(json!({"metadata": {"name": "all"}, "spec": {}})));
    world.engine.apply_cluster(&cluster("a", &[]));
    let a = verdict(&mut world, "a");
    assert_eq!(a.stage, Stage::Candidate);
    assert!(
        a.reason
            .contains("no label cluster.open-cluster-management.io/clusterset"),
        "{}",
        a.reason
    );
    assert_eq!(
        flip(&mut world, "a").unwrap(),
        ["set label cluster.open-cluster-management.io/clusterset=all on the cluster"]
    );
}

#[test]
fn where_no_change_of_the_cluster_helps_none_is_proposed() {
    let spec =
        json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": ["1 == 2"]}}}]});
    let mut world = World::new(&[cluster("a", &[])], spec);
    assert_eq!(flip(&mut world, "a"), None);
}

#[test]
fn a_cluster_that_a_spread_constraint_keeps_out_is_told_where_it_would_fit() {
    let spec = json!({"spreadPolicy": {"spreadConstraints": [
        {"topologyKey": "zone", "topologyKeyType": "Label", "whenUnsatisfiable": "DoNotSchedule"},
    ]}});
    let clusters = [
        cluster("a", &["zone=x"]),
        cluster("b", &["zone=x"]),
        cluster("c", &["zone=x"]),
        cluster("d", &["zone=y"]),
    ];
    let mut world = World::new(&clusters, spec.clone());
    assert_eq!(verdict(&mut world, "c").stage, Stage::SpreadPolicy);
    assert_eq!(
        flip(&mut world, "c").unwrap(),
        ["set label zone=y on the cluster"]
    );
    let mut world = World::new(&[cluster("a", &["zone=x"]), cluster("b", &[])], spec);
    assert_eq!(
        flip(&mut world, "b").unwrap(),
        ["set label zone=x on the cluster"]
    );
}

#[test]
fn a_spread_key_that_no_cluster_has_is_said_to_be_on_none() {
    let spec = json!({"spreadPolicy": {"spreadConstraints": [
        {"topologyKey": "zone", "topologyKeyType": "Label", "whenUnsatisfiable": "DoNotSchedule"},
    ]}});
    let mut world = World::new(
        &[cluster("a", &["zon=x"]), cluster("b", &["zon=y"])],
        spec.clone(),
    );
    assert_eq!(
        verdict(&mut world, "a").reason,
        "spec.spreadPolicy.spreadConstraints[0] asks for maxSkew 1 over label zone (DoNotSchedule), and the cluster has no label \
         zone; no cluster has one, so that the topologyKey may be misspelt"
    );
    // One that others have is missing on this one alone.
    let mut world = World::new(&[cluster("a", &["zone=x"]), cluster("b", &[])], spec);
    let reason = verdict(&mut world, "b").reason;
    assert!(reason.ends_with("the cluster has no label zone"), "{reason}");
}

#[test]
fn what_a_cluster_that_is_being_deleted_lacks_is_what_is_wanted_of_it() {
    let mut leaving = cluster("a", &[]);
    leaving.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
        "2026-01-01T00:00:00Z".parse().unwrap(),
    ));
    let mut world = World::new(&[leaving], json!({}));
    let verdict = verdict(&mut world, "a");
    assert_eq!(verdict.checks[0].expression, "not being deleted");
    assert_eq!(verdict.checks[0].observed, "a deletionTimestamp");
}

#[test]
fn a_taint_is_proposed_as_the_hub_would_stamp_it() {
    let spec = json!({"tolerations": [{"operator": "Exists", "tolerationSeconds": 600}]});
    let mut world = World::new(&[cluster("a", &[])], spec);
    assert_eq!(flip(&mut world, "a").unwrap(), ["set spec.numberOfClusters to 0"]);
}

#[test]
fn a_set_that_is_not_bound_is_named_beside_those_that_are() {
    let mut world = World::new(&[cluster("a", &[])], json!({"clusterSets": ["dev"]}));
    assert_eq!(
        verdict(&mut world, "a").reason,
        "spec.clusterSets asks for [dev], but only [all] is bound to this namespace; there is no ManagedClusterSet \"dev\""
    );
    world
        .engine
        .apply_set(&object(json!({"metadata": {"name": "dev"}})));
    assert_eq!(
        verdict(&mut world, "a").reason,
        "spec.clusterSets asks for [dev], but only [all] is bound to this namespace"
    );
}

#[test]
fn a_taint_that_the_hub_puts_back_is_no_advice_to_remove_it() {
    for (taint, agent) in [
        ("unreachable", "its agent must renew its Lease"),
        ("unavailable", "its agent reports that it is not"),
    ] {
        let key = format!("cluster.open-cluster-management.io/{taint}");
        let tainted = with_taints(cluster("a", &[]), json!([{"key": key, "effect": "NoSelect"}]));
        let advice = flip(&mut World::new(&[tainted], json!({})), "a").unwrap();
        assert!(
            advice[0].starts_with("make the cluster available") && advice[0].contains(agent),
            "{advice:?}"
        );
    }
}

#[test]
fn what_makes_a_placement_misconfigured_is_said_once_and_not_for_each_cluster() {
    let spec =
        json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": ["a =="]}}}]});
    let mut world = World::new(&[cluster("a", &[]), cluster("b", &[])], spec);
    let explanation = explain(&mut world.engine, &key(), now()).unwrap();
    assert!(
        explanation.message.starts_with("compilation failed: "),
        "{}",
        explanation.message
    );
    for verdict in &explanation.clusters {
        assert_eq!(verdict.reason, "the placement is misconfigured");
    }
}
