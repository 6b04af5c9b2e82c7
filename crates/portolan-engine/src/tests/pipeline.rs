//! Filter, score, select.

use serde_json::json;

use super::fixture::*;
use crate::status::Code;

fn label(key: &str, operator: &str, values: &[&str]) -> serde_json::Value {
    json!({"requiredClusterSelector": {"labelSelector": {"matchExpressions": [
        {"key": key, "operator": operator, "values": values}
    ]}}})
}

#[test]
fn predicates_are_alternatives_and_selectors_inside_one_add_up() {
    let clusters = [
        with_status(
            cluster("a", &["env=prod"]),
            json!({"clusterClaims": [{"name": "region", "value": "eu"}]}),
        ),
        cluster("b", &["env=prod"]),
        cluster("c", &["env=dev"]),
        cluster("d", &[]),
    ];
    let both = json!({"requiredClusterSelector": {
        "labelSelector": {"matchLabels": {"env": "prod"}},
        "claimSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu", "us"]}]},
    }});
    let mut world = World::new(
        &clusters,
        json!({"predicates": [both, label("env", "In", &["dev"])]}),
    );
    assert_eq!(world.selected(), ["a", "c"]);
    let mut world = World::new(
        &clusters,
        json!({"predicates": [label("env", "NotIn", &["prod"])]}),
    );
    assert_eq!(world.selected(), ["c", "d"]);
    let mut world = World::new(
        &clusters,
        json!({"predicates": [label("env", "DoesNotExist", &[])]}),
    );
    assert_eq!(world.selected(), ["d"]);
    let mut world = World::new(&clusters, json!({"predicates": [label("env", "Exists", &[])]}));
    assert_eq!(world.selected(), ["a", "b", "c"]);
}

#[test]
fn the_highest_total_wins_and_names_break_ties() {
    let cpu = |name: &str, cpu: &str| {
        with_status(
            cluster(name, &[]),
            json!({"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}),
        )
    };
    let clusters = [cpu("d", "8"), cpu("a", "1"), cpu("c", "1500m"), cpu("b", "8")];
    let policy = json!({"mode": "Exact", "configurations": [
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"}, "weight": 2},
    ]});
    let mut world = World::new(
        &clusters,
        json!({"numberOfClusters": 3, "prioritizerPolicy": policy}),
    );
    assert_eq!(world.selected(), ["b", "d", "c"]);
    assert_eq!(world.total("b"), 200);
    assert_eq!(world.total("a"), -200);
    assert_eq!(
        world.total("c"),
        2 * -85,
        "(1.5-1)/7 is 0.0714: trunc(-85.7) = -85"
    );
}

#[test]
fn balance_counts_other_placements_only_and_steady_the_placements_own() {
    let clusters: Vec<_> = ["a", "b", "c"].iter().map(|name| cluster(name, &[])).collect();
    let mut world = World::new(&clusters, json!({})).with_prior(vec![decision(1, (0, ""), &["a"])]);
    let other = crate::placement::PlacementKey::new("apps", "other");
    world.engine.observe_decisions(
        &other,
        &[decision_of("other", 1, (0, ""), &["b", "gone", "gone"])],
    );
    // `gone` is named twice and sets the maximum although it is in no set.
    assert_eq!(
        [world.total("a"), world.total("b"), world.total("c")],
        [200, 0, 100]
    );
}

#[test]
fn prefer_no_select_ranks_before_the_total_and_leaves_it_alone() {
    let avoided = with_taints(
        cluster("a", &[]),
        json!([{"key": "old", "effect": "PreferNoSelect"}]),
    );
    let clusters = [avoided, cluster("b", &[])];
    let mut world = World::new(&clusters, json!({"numberOfClusters": 1}));
    assert_eq!(world.selected(), ["b"]);
    assert_eq!(world.total("a"), world.total("b"));
    let tolerated = json!({"numberOfClusters": 1, "tolerations": [{"key": "old", "operator": "Exists"}]});
    assert_eq!(World::new(&clusters, tolerated).selected(), ["a"]);
    assert_eq!(
        World::new(&clusters, json!({})).selected(),
        ["b", "a"],
        "it is still selected when there is room"
    );
}

#[test]
fn clusters_being_deleted_are_no_candidates() {
    let mut leaving = cluster("a", &[]);
    leaving.metadata.deletion_timestamp = Some(object(json!("2026-01-01T00:00:00Z")));
    let mut world = World::new(&[leaving, cluster("b", &[])], json!({}));
    assert_eq!(world.selected(), ["b"]);
    assert_eq!(world.outcome().candidates.len(), 1);
}

#[test]
fn scores_count_until_they_expire_and_then_warn() {
    let mut world = World::new(
        &[cluster("a", &[]), cluster("b", &[])],
        json!({"prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "gpu", "scoreName": "free"}}, "weight": 3},
        ]}}),
    );
    let score = |cluster: &str, value: i64, until: &str| {
        object(json!({"metadata": {"name": "gpu", "namespace": cluster},
            "status": {"scores": [{"name": "free", "value": value}], "validUntil": until}}))
    };
    world.engine.apply_score(&score("a", 20, "2026-01-01T12:00:00Z"));
    world.engine.apply_score(&score("b", 10, "2026-01-01T11:59:59Z"));
    let outcome = world.outcome();
    assert_eq!((world.total("a"), world.total("b")), (60, 0));
    assert_eq!(outcome.status.code, Code::Warning);
    assert_eq!(outcome.status.plugin, "AddOn/gpu/free");
    assert_eq!(outcome.status.message, "AddOnPlacementScores b/gpu expired");
    assert_eq!(outcome.requeue_at, Some(now()), "a's score ends now");
}

#[test]
fn properties_score_like_resources_and_a_negative_weight_turns_them_round() {
    let priced = |name: &str, price: &str| {
        with_status(
            cluster(name, &[]),
            json!({"clusterClaims": [{"name": "price", "value": price}]}),
        )
    };
    let clusters = [
        priced("a", "0.9"),
        priced("b", "0.3"),
        priced("c", "cheap"),
        cluster("d", &[]),
    ];
    let mut world = World::new(
        &clusters,
        json!({"prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"type": "Property", "property": "price"}, "weight": -1},
        ]}}),
    );
    assert_eq!(world.selected(), ["b", "c", "d", "a"]);
    assert_eq!(
        [world.total("a"), world.total("b"), world.total("c")],
        [-100, 100, 0]
    );
}

#[test]
fn a_timer_is_set_for_the_first_toleration_that_ends() {
    let tainted = |name: &str, added: &str| {
        with_taints(
            cluster(name, &[]),
            json!([{"key": "t", "effect": "NoSelect", "timeAdded": added}]),
        )
    };
    let clusters = [
        tainted("a", "2026-01-01T11:59:30Z"),
        tainted("b", "2026-01-01T11:59:00Z"),
        cluster("c", &[]),
    ];
    let spec = json!({"tolerations": [{"key": "t", "operator": "Exists", "tolerationSeconds": 60}]});
    let mut world = World::new(&clusters, spec);
    assert_eq!(world.selected(), ["a", "c"]);
    assert_eq!(world.outcome().requeue_at, Some(at("2026-01-01T12:00:30Z")));
}

#[test]
fn only_the_placements_a_change_concerns_are_evaluated_again() {
    let clusters = [cluster("a", &["env=prod", "noise=1"]), cluster("b", &["env=dev"])];
    let mut world = World::new(&clusters, json!({"predicates": [label("env", "In", &["prod"])]}));
    let due = |world: &mut World| {
        let due: Vec<_> = world
            .engine
            .evaluate_due(now())
            .into_iter()
            .map(|(key, _)| key)
            .collect();
        due.iter().for_each(|key| world.engine.complete(key));
        due.len()
    };
    assert_eq!(due(&mut world), 1);
    for (change, expected) in [
        (cluster("a", &["env=prod", "noise=2"]), 0),
        (cluster("b", &["env=test"]), 0),
        (cluster("b", &["env=prod"]), 1),
        (cluster("b", &["env=prod"]), 0),
        (
            with_taints(
                cluster("b", &["env=prod"]),
                json!([{"key": "x", "effect": "NoSelect"}]),
            ),
            1,
        ),
        (
            with_taints(
                cluster("c", &["env=dev"]),
                json!([{"key": "x", "effect": "NoSelect"}]),
            ),
            0,
        ),
        (cluster("d", &["env=prod"]), 1),
    ] {
        world.engine.apply_cluster(&change);
        assert_eq!(due(&mut world), expected, "{change:?}");
    }
    world.engine.remove_cluster("c");
    assert_eq!(due(&mut world), 0);
    world.engine.remove_cluster("d");
    assert_eq!(due(&mut world), 1);
}

#[test]
fn a_timer_that_has_come_fires_once() {
    let policy = json!({"configurations": [
        {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "gpu", "scoreName": "free"}}},
    ]});
    let mut world = World::new(&[cluster("a", &[])], json!({"prioritizerPolicy": policy}));
    world
        .engine
        .apply_score(&object(json!({"metadata": {"name": "gpu", "namespace": "a"},
        "status": {"scores": [{"name": "free", "value": 1}], "validUntil": "2026-01-01T12:00:00Z"}})));
    assert_eq!(world.engine.evaluate_due(now()).len(), 1);
    assert_eq!(
        world.engine.evaluate_due(now()).len(),
        0,
        "the score still counts now"
    );
    let later = at("2026-01-01T12:00:00.000000001Z");
    assert_eq!(world.engine.evaluate_due(later)[0].1.status.code, Code::Warning);
    assert_eq!(world.engine.next_timer(), None);
}

#[test]
fn a_status_update_does_not_make_a_placement_due_and_a_label_does() {
    let mut world = World::new(&[cluster("a", &[])], json!({}));
    assert_eq!(world.engine.evaluate_due(now()).len(), 1);
    let mut changed = placement(json!({}));
    changed.status = Some(object(json!({"numberOfSelectedClusters": 1})));
    world.engine.apply_placement(&changed);
    assert_eq!(world.engine.due().len(), 0);
    changed
        .metadata
        .labels
        .get_or_insert_default()
        .insert("multicluster.x-k8s.io/placement-key".into(), "k".into());
    world.engine.apply_placement(&changed);
    assert_eq!(world.engine.due().len(), 1);
}

#[test]
fn a_cluster_without_resources_has_no_score_of_its_own_and_counts_as_zero() {
    let sized = with_status(
        cluster("a", &[]),
        json!({"allocatable": {"cpu": "1"}, "capacity": {"cpu": "1"}}),
    );
    let mut world = World::new(
        &[sized, cluster("b", &[])],
        json!({"prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"}},
        ]}}),
    );
    let outcome = world.outcome();
    assert_eq!(outcome.prioritizers[0].given(&outcome).count(), 1);
    assert_eq!(world.total("b"), 0);
}

#[test]
fn scores_are_held_back_on_decisions_that_another_writer_made() {
    let mut world =
        World::new(&[cluster("a", &[])], json!({})).with_prior(vec![decision(1, (0, ""), &["a"])]);
    let mut limited = placement(json!({"scoreRateLimit": "1h"}));
    limited.status = Some(object(json!({"lastScoreUpdateTime": "2026-01-01T11:59:30Z"})));
    world.engine.apply_placement(&limited);
    let decision = world.decide();
    assert_eq!(decision.requeue_at, Some(at("2026-01-01T12:59:30Z")));
    let entries = &decision.layout.decisions[0].status.as_ref().unwrap().decisions;
    assert_eq!(entries[0].score, 0, "the stored score stays");
    assert!(
        decision.layout.decisions[0].metadata.annotations.is_some(),
        "metadata is mended at once"
    );
}

#[test]
fn ordered_slices_are_by_rank_and_ocm_objects_by_score() {
    let sized = |name: &str, cpu: &str| {
        with_status(
            cluster(name, &[]),
            json!({"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}),
        )
    };
    let avoided = with_taints(
        sized("a", "9"),
        json!([{"key": "old", "effect": "PreferNoSelect"}]),
    );
    let mut world = World::new(
        &[avoided, sized("b", "1")],
        json!({"sortBy": "Score", "prioritizerPolicy": {"configurations": [
            {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"}},
        ]}}),
    );
    let layout = world.decide().layout;
    let slices = layout.slices.unwrap();
    let names: Vec<&str> = slices[0]
        .decisions
        .iter()
        .map(|entry| entry.cluster_profile_ref.as_ref().unwrap().name.as_str())
        .collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(
        layout.decisions[0].status.as_ref().unwrap().decisions[0].cluster_name,
        "a"
    );
}
