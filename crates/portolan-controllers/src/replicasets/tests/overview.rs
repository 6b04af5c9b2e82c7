//! How far a rollout is, as people read it, and that the conditions of the replica set say the same.

use jiff::Timestamp;
use portolan_api::work::ManifestWorkReplicaSet;
use portolan_rollout::Status;
use serde_json::{Value, json};

use crate::reconcile::fake::{object, second};
use crate::replicasets::overview::{Objects, Overview, OverviewState, overview};

const OFF: &str = "cluster.open-cluster-management.io/experimental-scheduling-disable";

fn template() -> Value {
    let job = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a", "namespace": "default"}});
    json!({"workload": {"manifests": [job]}})
}

fn replica_set(conditions: Value) -> ManifestWorkReplicaSet {
    object(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "app", "namespace": "ns", "generation": 1},
        "spec": {"manifestWorkTemplate": template(), "placementRefs": [{"name": "p"}]},
        "status": {"conditions": conditions},
    }))
}

/// The work of a cluster, whose manifest and whole say this of `Applied`.
fn work(cluster: &str, conditions: Value, manifest: Value) -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {
            "name": "ns.app", "namespace": cluster, "generation": 1,
            "labels": {
                "work.open-cluster-management.io/manifestworkreplicaset": "ns.app",
                "work.open-cluster-management.io/placementname": "p",
            },
        },
        "spec": template(),
        "status": {"conditions": conditions, "resourceStatus": {"manifests": [{"conditions": manifest}]}},
    })
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message, "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn look(set: ManifestWorkReplicaSet, works: &[Value], clusters: &[&str], placement: Value) -> Overview {
    look_at(set, works, clusters, placement, second(0))
}

fn look_at(
    set: ManifestWorkReplicaSet,
    works: &[Value],
    clusters: &[&str],
    placement: Value,
    now: Timestamp,
) -> Overview {
    let chosen: Vec<Value> = clusters
        .iter()
        .map(|cluster| json!({"clusterName": cluster, "reason": ""}))
        .collect();
    let decision = object(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": {"name": "p-decision-1", "namespace": "ns", "labels": {
            "cluster.open-cluster-management.io/placement": "p",
            "cluster.open-cluster-management.io/decision-group-index": "0",
        }},
        "status": {"decisions": chosen},
    }));
    let placement = object(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "p", "namespace": "ns", "annotations": {OFF: "true"}}, "spec": {},
        "status": {"numberOfSelectedClusters": 0, "conditions": placement},
    }));
    overview(
        Objects {
            set,
            works: works.iter().cloned().map(object).collect(),
            placements: vec![placement],
            decisions: vec![decision],
            clusters: Vec::new(),
        },
        now,
    )
}

#[test]
fn a_cluster_without_a_namespace_is_failed_in_the_overview_as_in_the_conditions() {
    let refused = condition(
        "WorksRefused",
        "True",
        "NamespaceMissing",
        "the hub has no namespace for: nowhere",
    );
    let answer = look(replica_set(json!([refused])), &[], &["nowhere"], json!([]));
    let placement = &answer.placements[0];
    assert_eq!((placement.groups[0].failed, placement.groups[0].waiting), (1, 0));
    assert!(placement.starting.is_empty(), "{placement:?}");
    let failure = &placement.failures[0];
    assert_eq!(
        (failure.cluster.as_str(), failure.status),
        ("nowhere", Status::Failed)
    );
    assert_eq!(failure.reason.as_deref(), Some("NamespaceMissing"));
    assert_eq!(
        failure.message.as_deref(),
        Some("there is no namespace nowhere on the hub")
    );
}

#[test]
fn a_cluster_in_progress_has_the_reason_that_its_agent_gives() {
    let whole = condition(
        "Applied",
        "False",
        "ApplyFailed",
        "1 of 1 manifest is not applied",
    );
    let manifest = condition(
        "Applied",
        "False",
        "KindNotServed",
        &"the member cluster ".repeat(100),
    );
    let works = [
        work("a", json!([whole]), json!([manifest])),
        work("b", json!([]), json!([])),
    ];
    let answer = look(replica_set(json!([])), &works, &["a", "b"], json!([]));
    let shown: Vec<(&str, &str, usize)> = answer.placements[0]
        .in_progress
        .iter()
        .map(|cluster| {
            let message = cluster.message.as_deref().unwrap();
            (
                cluster.cluster.as_str(),
                cluster.reason.as_deref().unwrap(),
                message.chars().count(),
            )
        })
        .collect();
    assert_eq!(shown[0], ("a", "KindNotServed", 1_001), "the message is cut");
    assert_eq!((shown[1].0, shown[1].1), ("b", "NotReported"));
    assert_eq!(answer.state, OverviewState::Progressing);
}

#[test]
fn no_clusters_is_not_complete_and_the_placement_says_why() {
    let why = condition(
        "PlacementSatisfied",
        "False",
        "NoManagedClusterMatched",
        "no cluster",
    );
    let fine = condition("PlacementMisconfigured", "False", "Succeedconfigured", "fine");
    let answer = look(replica_set(json!([])), &[], &[], json!([why, fine]));
    assert_eq!(answer.state, OverviewState::NoClusters);
    assert!(!answer.is_complete());
    assert_eq!(answer.placements[0].warnings, ["no cluster"]);
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["state"], "NoClusters");
}

#[test]
fn a_placement_that_is_misconfigured_says_its_mistake_once() {
    let mistake = "spec.tolerations[0].operator is \"In\"; use Equal or Exists";
    let unsatisfied =
        format!("No ManagedCluster is selected, because the placement is misconfigured: {mistake}");
    let unsatisfied = condition(
        "PlacementSatisfied",
        "False",
        "NoManagedClusterMatched",
        &unsatisfied,
    );
    let misconfigured = condition("PlacementMisconfigured", "True", "Misconfigured", mistake);
    let answer = look(
        replica_set(json!([])),
        &[],
        &[],
        json!([unsatisfied, misconfigured]),
    );
    assert_eq!(answer.placements[0].warnings, [mistake]);
}

#[test]
fn a_placement_that_is_named_twice_is_told_once_with_the_field_that_has_no_effect() {
    let mut set = replica_set(json!([]));
    let again = set.spec.placement_refs[0].clone();
    set.spec.placement_refs.push(again);
    let unsatisfied = condition("PlacementSatisfied", "False", "AllDecisionsScheduled", "too few");
    let misconfigured = condition("PlacementMisconfigured", "True", "Misconfigured", "too few");
    let answer = look(set, &[], &["a", "b"], json!([unsatisfied, misconfigured]));
    assert_eq!(answer.clusters, 2);
    assert_eq!(answer.placements[0].warnings, ["too few"]);
    assert_eq!(
        answer.placements[1].warnings,
        [
            "spec.placementRefs[1].name = \"p\" has no effect: spec.placementRefs[0] names the same Placement; accepted: each \
             Placement once"
        ]
    );
    assert!(answer.placements[1].groups.is_empty());
}

fn in_steps(template: Value) -> ManifestWorkReplicaSet {
    let strategy = json!({"type": "Progressive", "progressive": {"minSuccessTime": "60s"}});
    object(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "app", "namespace": "ns", "generation": 1},
        "spec": {"manifestWorkTemplate": template, "placementRefs": [{"name": "p", "rolloutStrategy": strategy}]},
    }))
}

#[test]
fn the_times_of_a_cluster_have_whole_seconds_and_a_soak_ends_in_the_next_one() {
    let available = ["Applied", "Available"].map(|type_| condition(type_, "True", "Fine", ""));
    let works = [work("a", json!(available), json!([]))];
    let now = second(100) + std::time::Duration::from_nanos(123_456_789);
    let answer = look_at(in_steps(template()), &works, &["a"], json!([]), now);
    let soaking = &answer.placements[0].soaking[0];
    assert_eq!(soaking.since, Some(second(100)));
    assert_eq!(soaking.until, Some(second(161)));
}

#[test]
fn a_rollout_in_steps_without_a_rule_for_success_says_so_in_one_line() {
    let deployment = |name: &str| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "x"}});
    let manifests = ["a", "b", "c", "d"].map(deployment);
    let template = json!({"workload": {"manifests": manifests}});
    let answer = look(in_steps(template), &[], &["a"], json!([]));
    assert_eq!(
        answer.placements[0].warnings,
        [
            "a cluster is done as soon as Deployment x/a, Deployment x/b, Deployment x/c and 1 more are there, whether they work \
          or not: no condition rule says when they do; `portolan lint` has one to paste"
        ]
    );
    let answer = look(in_steps(template_of(deployment("a"))), &[], &["a"], json!([]));
    assert!(
        answer.placements[0].warnings[0]
            .starts_with("a cluster is done as soon as Deployment x/a is there, whether it works or not"),
        "{answer:?}"
    );
}

fn template_of(manifest: Value) -> Value {
    json!({"workload": {"manifests": [manifest]}})
}
