//! What is read is made up here; what is judged is real.

mod advice;
mod works;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use portolan_engine::placement::PlacementKey;
use serde_json::{Value, json};

use super::judge::judge;
use super::read::{NoAnswer, Observed, Unread};
use super::{Check, Verdict};
use crate::input;
use crate::world::Inventory;

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// A hub where everything is as it should be.
fn healthy() -> Vec<Value> {
    let condition = |kind: &str| {
        json!({ "type": kind, "status": "True", "reason": "R", "message": "", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T11:00:00Z" })
    };
    vec![
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": { "name": "east" }, "spec": { "hubAcceptsClient": true },
            "status": { "conditions": [condition("ManagedClusterConditionAvailable")] } }),
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
            "metadata": { "name": "global" },
            "spec": { "clusterSelector": { "selectorType": "LabelSelector", "labelSelector": {} } } }),
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
            "metadata": { "name": "global", "namespace": "shop" }, "spec": { "clusterSet": "global" } }),
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": { "name": "web", "namespace": "shop", "generation": 1,
                          "creationTimestamp": "2026-01-01T11:00:00Z" },
            "spec": {},
            "status": { "numberOfSelectedClusters": 1, "decisionGroups": [{ "decisionGroupIndex": 0,
                "decisionGroupName": "", "decisions": ["web-decision-1"], "clusterCount": 1 }], "conditions": [condition("PlacementSatisfied")] } }),
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
            "metadata": { "name": "web-decision-1", "namespace": "shop", "labels": {
                "cluster.open-cluster-management.io/placement": "web",
                "cluster.open-cluster-management.io/decision-group-index": "0" } },
            "status": { "decisions": [{ "clusterName": "east", "reason": "" }] } }),
    ]
}

fn observed(objects: &[Value]) -> Observed {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    let manifests = input::read_bytes("hub.json", list.to_string().into_bytes()).unwrap();
    Observed {
        version: Ok("v1.33.0".to_owned()),
        user: Some("admin".to_owned()),
        credentials: "a token, from --kubeconfig hub.yaml".to_owned(),
        unread: Vec::new(),
        missing_rights: Some(Vec::new()),
        missing_definitions: Some(Vec::new()),
        missing_fields: Vec::new(),
        inventory: Inventory::Auto,
        stale: BTreeMap::new(),
        manifests: Some(manifests),
        heartbeats: Some(BTreeMap::from([("east".to_owned(), now())])),
        namespaces: Some(BTreeSet::from(["east".to_owned(), "shop".to_owned()])),
        replica_sets: Some(Vec::new()),
        works: Some(Vec::new()),
        plain_works: Some(Vec::new()),
    }
}

/// A replica set for the placement, and its work on `east`.
fn with_rollout(mut observed: Observed, status: &Value) -> Observed {
    let template = json!({ "workload": { "manifests": [
        { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "app", "namespace": "default" } }] } });
    let set = json!({
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": { "manifestWorkTemplate": template, "placementRefs": [{ "name": "web" }] },
    });
    let work = json!({
        "metadata": { "name": "shop.web", "namespace": "east", "labels": {
            "work.open-cluster-management.io/manifestworkreplicaset": "shop.web",
            "work.open-cluster-management.io/placementname": "web" } },
        "spec": template, "status": status,
    });
    observed.replica_sets = Some(vec![serde_json::from_value(set).unwrap()]);
    observed.works = Some(vec![serde_json::from_value(work).unwrap()]);
    observed
}

fn problems(observed: &Observed) -> Vec<Check> {
    let mut checks = judge(observed, None, now());
    checks.retain(|check| check.result == Verdict::Problem);
    checks
}

/// The one problem of a hub: the name of its check, and what was found.
fn problem(observed: &Observed) -> (&'static str, String) {
    let mut found = problems(observed);
    assert_eq!(found.len(), 1, "{found:#?}");
    let check = found.remove(0);
    assert!(check.advice.is_some(), "{check:?}");
    (check.name, check.found)
}

/// The healthy hub with one field changed.
fn changed(position: usize, pointer: &str, value: Value) -> Observed {
    let mut objects = healthy();
    *objects[position].pointer_mut(pointer).unwrap() = value;
    observed(&objects)
}

#[test]
fn a_healthy_hub_has_no_problem_and_every_check_says_what_it_found() {
    let checks = judge(&observed(&healthy()), None, now());
    assert!(
        checks.iter().all(|check| check.result == Verdict::Ok),
        "{checks:#?}"
    );
    let names: Vec<&str> = checks.iter().map(|check| check.name).collect();
    assert_eq!(
        names,
        [
            "hub",
            "rights",
            "definitions",
            "controller",
            "accepted",
            "available",
            "heartbeats",
            "sets",
            "bindings",
            "placements",
            "decisions"
        ]
    );
}

#[test]
fn a_hub_that_does_not_answer_is_the_only_check() {
    let mut silent = observed(&[]);
    silent.version = Err(NoAnswer::Unreachable(
        "https://hub refuses connections".to_owned(),
    ));
    let checks = judge(&silent, None, now());
    assert_eq!(checks.len(), 1);
    assert_eq!((checks[0].name, checks[0].result), ("hub", Verdict::Problem));
}

#[test]
fn refused_credentials_are_said_to_be_refused_with_where_they_come_from() {
    let mut hub = observed(&[]);
    hub.version = Err(NoAnswer::Refused {
        why: "https://hub answers 401 Unauthorized".to_owned(),
        credentials: "a token, from --kubeconfig hub.yaml".to_owned(),
    });
    let checks = judge(&hub, None, now());
    assert_eq!(checks.len(), 1);
    assert_eq!(checks[0].name, "credentials");
    assert!(
        checks[0].found.contains("401") && checks[0].found.contains("hub.yaml"),
        "{checks:?}"
    );
    let advice = checks[0].advice.as_deref().unwrap();
    assert!(!advice.contains("whether the hub runs"), "{advice}");
}

#[test]
fn a_replica_set_is_judged_with_the_placements_that_it_refers_to() {
    let mut objects = healthy();
    *objects[3].pointer_mut("/status/conditions/0/status").unwrap() = json!("False");
    let mut hub = with_rollout(observed(&objects), &json!({}));
    // Of another name than its Placement.
    hub.replica_sets.as_mut().unwrap()[0].metadata.name = Some("rollout".to_owned());
    let checks = judge(&hub, Some(&PlacementKey::new("shop", "rollout")), now());
    let found = checks.iter().find(|check| check.name == "placements");
    assert!(
        found.is_some_and(|check| check.result == Verdict::Problem && check.found.starts_with("shop/web: ")),
        "{checks:#?}"
    );
    assert!(
        checks.iter().any(|check| check.name == "decisions"),
        "{checks:#?}"
    );
}

#[test]
fn missing_rights_definitions_and_fields_are_named() {
    let mut hub = observed(&healthy());
    hub.missing_rights = Some(vec!["list placements".to_owned()]);
    assert_eq!(
        problem(&hub),
        ("rights", "user admin may not list placements".to_owned())
    );
    let mut hub = observed(&healthy());
    hub.missing_definitions = Some(vec!["placements.x".to_owned()]);
    assert_eq!(
        problem(&hub),
        ("definitions", "not installed: placements.x".to_owned())
    );
    let mut hub = observed(&healthy());
    hub.missing_fields = vec!["placements.x has no field spec.sortBy".to_owned()];
    assert_eq!(problem(&hub).0, "definitions");
}

#[test]
fn what_the_hub_does_not_let_be_read_is_a_problem_and_names_the_credentials() {
    let mut hub = observed(&[]);
    hub.manifests = None;
    hub.missing_rights = None;
    hub.unread = ["list placements", "list leases.coordination.k8s.io"]
        .map(|what| Unread {
            what: what.to_owned(),
            why: "https://hub answered 403 Forbidden".to_owned(),
        })
        .into();
    let (name, found) = problem(&hub);
    assert_eq!(name, "reading");
    assert_eq!(
        found,
        "cannot list placements, list leases.coordination.k8s.io: https://hub answered 403 Forbidden; the credentials are a \
         token, from --kubeconfig hub.yaml"
    );
}

#[test]
fn a_placement_without_a_condition_for_its_generation_means_that_no_controller_runs() {
    let (name, found) = problem(&changed(3, "/metadata/generation", json!(2)));
    assert_eq!(name, "controller");
    assert!(found.contains("shop/web"), "{found}");
    let young = |created: &str| {
        let mut objects = healthy();
        objects[3]["metadata"]["creationTimestamp"] = created.into();
        objects[3]["status"] = json!({});
        objects[4]["status"]["decisions"] = json!([]);
        let checks = problems(&observed(&objects));
        checks.iter().any(|check| check.name == "controller")
    };
    assert!(young("2026-01-01T11:00:00Z"));
    assert!(
        !young("2026-01-01T11:59:59Z"),
        "it may still be waiting for its turn"
    );
}

#[test]
fn a_decision_that_does_not_fit_the_clusters_means_that_no_controller_runs() {
    let judged = |objects: &[Value]| {
        let mut hub = observed(objects);
        let manifests = hub.manifests.as_ref().unwrap();
        hub.stale = super::stale::placements(manifests, Inventory::Auto, now());
        hub
    };
    assert!(problems(&judged(&healthy())).is_empty());
    // The clusters have changed since a controller wrote; the Placement has not.
    let tainted = json!([{ "key": "a", "effect": "NoSelect", "timeAdded": "2026-01-01T11:00:00Z" }]);
    let mut objects = healthy();
    objects[0]["spec"]["taints"] = tainted;
    let (name, found) = problem(&judged(&objects));
    assert_eq!(name, "controller");
    assert!(
        found.contains("shop/web up to date: its decision lists east, which no longer passes"),
        "{found}"
    );
    let mut objects = healthy();
    let mut west = objects[0].clone();
    west["metadata"]["name"] = "west".into();
    objects.push(west);
    let (name, found) = problem(&judged(&objects));
    assert_eq!(name, "controller");
    assert!(found.contains("lists 1 cluster, and 2 would"), "{found}");
}

#[test]
fn a_placement_that_nothing_is_decided_for_is_named() {
    let mut objects = healthy();
    let mut other = objects[3].clone();
    other["metadata"]["name"] = "other".into();
    other["metadata"]["annotations"] = json!({ "portolan.dev/scheduler": "somebody" });
    other["status"] = json!({});
    objects.push(other);
    let checks = judge(&observed(&objects), None, now());
    let found = checks.iter().find(|check| check.name == "placements").unwrap();
    assert_eq!(found.result, Verdict::Note);
    assert_eq!(
        found.found,
        "1 of 2 Placements satisfied; nothing is decided for shop/other"
    );
}

#[test]
fn a_removal_that_was_interrupted_is_a_problem_that_says_what_it_waits_for() {
    let leaving = |since: &str| {
        let mut objects = healthy();
        let mut west = objects[0].clone();
        west["metadata"] = json!({ "name": "west", "deletionTimestamp": since,
            "finalizers": ["portolan.dev/leave"] });
        objects.push(west);
        observed(&objects)
    };
    let long = leaving("2026-01-01T11:00:00Z");
    let (name, found) = problem(&long);
    assert_eq!(name, "leaving");
    assert_eq!(
        found,
        "being removed: west for 60m, waiting for `portolan leave west` to finish"
    );
    let mut with_works = with_rollout(long, &json!({ "conditions": [] }));
    with_works.replica_sets = Some(Vec::new());
    with_works.works.as_mut().unwrap()[0].metadata.namespace = Some("west".to_owned());
    let (_, found) = problem(&with_works);
    assert!(
        found.ends_with("waiting for its agent to remove 1 ManifestWork"),
        "{found}"
    );
    // One that has just begun is on its way.
    let checks = judge(&leaving("2026-01-01T11:59:00Z"), None, now());
    let check = checks.iter().find(|check| check.name == "leaving").unwrap();
    assert_eq!(check.result, Verdict::Note);
}

#[test]
fn the_last_line_counts_problems_and_checks_that_could_not_be_made() {
    let last = |results: &[Verdict]| {
        let checks = results.iter().map(|result| Check {
            result: *result,
            ..Check::ok("a", "b")
        });
        let problems = results.iter().filter(|result| **result == Verdict::Problem);
        let report = super::Report {
            hub: "https://hub".to_owned(),
            subject: None,
            problems: problems.count(),
            checks: checks.collect(),
        };
        report.text(false).lines().last().unwrap().to_owned()
    };
    use Verdict::{Ok, Problem, Unknown};
    assert_eq!(last(&[Ok, Ok]), "no problem found");
    assert_eq!(
        last(&[Ok, Unknown]),
        "no problem found; 1 check could not be made (UNKNOWN)"
    );
    assert_eq!(last(&[Problem]), "1 problem found");
    assert_eq!(
        last(&[Problem, Problem]),
        "2 problems found; begin with the first: others may follow from it"
    );
}

#[test]
fn clusters_that_are_missing_not_accepted_not_available_or_silent_are_named() {
    let mut nothing = healthy();
    nothing.remove(0);
    let checks = problems(&observed(&nothing));
    assert_eq!(checks[0].found, "there is no ManagedCluster");
    let (name, found) = problem(&changed(0, "/spec/hubAcceptsClient", json!(false)));
    assert_eq!(
        (name, found.as_str()),
        ("accepted", "spec.hubAcceptsClient is not true: east")
    );
    let (name, _) = problem(&changed(0, "/status/conditions/0/status", json!("Unknown")));
    assert_eq!(name, "available");
    let mut hub = observed(&healthy());
    hub.heartbeats = Some(BTreeMap::from([(
        "east".to_owned(),
        "2026-01-01T11:54:59Z".parse().unwrap(),
    )]));
    assert_eq!(problem(&hub).0, "heartbeats");
    // Registration that was started a moment ago has called it available and counts from then.
    let mut lately = changed(
        0,
        "/status/conditions/0/lastTransitionTime",
        json!("2026-01-01T11:59:00Z"),
    );
    lately.heartbeats = hub.heartbeats;
    assert!(problems(&lately).is_empty(), "{:?}", problems(&lately));
    // An agent that lost its rights says nothing more, and what it said last stands.
    let mut unrenewed = changed(0, "/status/conditions/0/reason", json!("ManagedClusterAvailable"));
    unrenewed.heartbeats = Some(BTreeMap::new());
    let (name, found) = problem(&unrenewed);
    assert!(
        name == "heartbeats" && found.contains("its agent renews no Lease"),
        "{found}"
    );
    // One that joined a moment ago renews its first Lease soon.
    unrenewed.manifests = lately.manifests;
    assert!(problems(&unrenewed).is_empty(), "{:?}", problems(&unrenewed));
    let mut by_hand = changed(0, "/status/conditions/0/reason", json!("SetByHand"));
    by_hand.heartbeats = Some(BTreeMap::new());
    assert!(problems(&by_hand).is_empty(), "{:?}", problems(&by_hand));
}

#[test]
fn a_cluster_that_was_denied_on_purpose_is_worth_a_note_and_no_problem() {
    let mut objects = healthy();
    objects[0]["spec"]["hubAcceptsClient"] = json!(false);
    let denied = json!({ "type": "HubAcceptedManagedCluster", "status": "False", "reason": "HubClusterAdminDenied",
        "message": "", "lastTransitionTime": "2026-01-01T11:00:00Z" });
    let conditions = objects[0].pointer_mut("/status/conditions").unwrap();
    conditions.as_array_mut().unwrap().push(denied);
    let checks = judge(&observed(&objects), None, now());
    let accepted = checks.iter().find(|check| check.name == "accepted").unwrap();
    assert_eq!(accepted.result, Verdict::Note);
    assert!(accepted.found.contains("hubAcceptsClient: east"), "{accepted:?}");
    assert!(
        accepted
            .found
            .contains("kubectl delete serviceaccount east --namespace portolan-agents"),
        "{accepted:?}"
    );
}

#[test]
fn a_cluster_that_the_demo_lets_fail_is_worth_a_note_and_no_problem() {
    let mut objects = healthy();
    objects[0]["metadata"]["labels"] = json!({ "portolan.dev/demo": "true" });
    objects[0]["status"]["conditions"][0]["status"] = json!("False");
    let checks = judge(&observed(&objects), None, now());
    let found = checks.iter().find(|check| check.name == "available").unwrap();
    assert_eq!(found.result, Verdict::Note, "{found:?}");
    assert!(
        found.found.ends_with("as the demo simulates it: east"),
        "{found:?}"
    );
    assert!(problems(&observed(&objects)).is_empty());
}

#[test]
fn the_old_lease_of_a_cluster_that_the_demo_plays_is_no_problem() {
    let old = |objects: &[Value]| {
        let mut observed = observed(objects);
        let long_ago: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        observed.heartbeats = Some(BTreeMap::from([("east".to_owned(), long_ago)]));
        problems(&observed)
    };
    let mut objects = healthy();
    assert_eq!(old(&objects)[0].name, "heartbeats");
    objects[0]["metadata"]["labels"] = json!({ "portolan.dev/demo": "true" });
    assert!(old(&objects).is_empty());
}

#[test]
fn a_placement_that_is_misconfigured_is_not_said_to_be_unsatisfied_as_well() {
    let mut objects = healthy();
    let conditions = objects[3].pointer_mut("/status/conditions").unwrap();
    conditions[0]["status"] = json!("False");
    let misconfigured = json!({ "type": "PlacementMisconfigured", "status": "True", "reason": "Misconfigured",
        "message": "spec.tolerations[0]: no", "lastTransitionTime": "2026-01-01T11:00:00Z" });
    conditions.as_array_mut().unwrap().push(misconfigured);
    let (name, found) = problem(&observed(&objects));
    assert_eq!(name, "placements");
    assert!(
        found.contains("PlacementMisconfigured True: spec.tolerations[0]: no"),
        "{found}"
    );
    assert!(!found.contains("PlacementSatisfied"), "{found}");
}

#[test]
fn a_rollout_that_was_paused_on_purpose_is_worth_a_note_and_no_problem() {
    let condition = |kind: &str| {
        json!({ "type": kind, "status": "True", "reason": "R", "message": "",
                "lastTransitionTime": "2026-01-01T11:00:00Z" })
    };
    let applied = json!({ "conditions": [condition("Applied"), condition("Progressing")] });
    let mut observed = with_rollout(observed(&healthy()), &applied);
    let sets = observed.replica_sets.as_mut().unwrap();
    sets[0].metadata.annotations = Some(
        [(
            portolan_api::labels::portolan::ROLLOUT_PAUSED.to_owned(),
            "true".to_owned(),
        )]
        .into(),
    );
    assert!(problems(&observed).is_empty());
    let checks = judge(&observed, None, now());
    let rollouts = checks.iter().find(|check| check.name == "rollouts").unwrap();
    assert_eq!(rollouts.result, Verdict::Note);
    assert!(
        rollouts.found.contains("paused or aborted: shop/web"),
        "{rollouts:?}"
    );
}

#[test]
fn a_fault_that_the_demo_began_is_ended_by_the_demo() {
    let mut objects = healthy();
    objects[0]["status"]["conditions"][0]["status"] = json!("False");
    let advice = |objects: &[Value]| {
        let checks = problems(&observed(objects));
        let check = checks.into_iter().find(|check| check.name == "available");
        check.unwrap().advice.unwrap()
    };
    assert!(advice(&objects).starts_with("look at the API server of east"));
    objects[0]["status"]["conditions"][0]["status"] = json!("Unknown");
    assert!(advice(&objects).starts_with("start `portolan agent` for them"));
    objects[0]["metadata"]["annotations"] = json!({ "portolan.dev/simulate": "fail" });
    assert_eq!(
        advice(&objects),
        "`portolan demo` made this happen to east; `portolan demo recover east` ends it"
    );
}

#[test]
fn a_placement_of_another_scheduler_is_said_to_be_one() {
    let mut objects = healthy();
    objects[3]["metadata"]["annotations"] = json!({ "portolan.dev/scheduler": "portolam" });
    let wanted = PlacementKey::new("shop", "web");
    let checks = judge(&observed(&objects), Some(&wanted), now());
    let found = checks.iter().find(|check| check.name == "scheduler").unwrap();
    assert!(
        found.found.contains("portolan.dev/scheduler = \"portolam\"") && found.found.contains("accepted"),
        "{found:?}"
    );
}

#[test]
fn a_binding_that_is_missing_or_without_effect_is_named() {
    let mut unbound = healthy();
    unbound.remove(2);
    let (name, found) = problem(&observed(&unbound));
    assert_eq!(name, "bindings");
    assert!(found.ends_with("shop"), "{found}");
    let (name, found) = problem(&changed(2, "/metadata/name", json!("typo")));
    let words = "ManagedClusterSetBinding shop/typo has no effect: there is no ManagedClusterSet \"typo\", and a binding binds the \
                 set of its own name, not that of spec.clusterSet (\"global\")";
    assert_eq!(
        (name, found),
        ("bindings", format!("{words}; it concerns 1 Placement"))
    );
    // The name counts, so that this one has an effect.
    let checks = judge(&changed(2, "/spec/clusterSet", json!("typo")), None, now());
    let check = checks.iter().find(|check| check.name == "bindings").unwrap();
    assert_eq!(check.result, Verdict::Note);
    assert!(
        check.found.contains("a binding has the name of its cluster set")
            && check
                .found
                .contains("shop/global, and spec.clusterSet is \"typo\": rename"),
        "{check:?}"
    );
}

#[test]
fn every_binding_and_every_namespace_that_has_to_be_corrected_is_in_the_advice() {
    let advice = |objects: &[Value]| {
        let checks = problems(&observed(objects));
        let check = checks.into_iter().find(|check| check.name == "bindings");
        check.unwrap().advice.unwrap()
    };
    let mut astray = healthy();
    for name in ["a", "b"] {
        let mut binding = astray[2].clone();
        binding["metadata"]["name"] = name.into();
        astray.push(binding);
    }
    assert!(
        advice(&astray).ends_with("correct or delete shop/a, shop/b"),
        "{}",
        advice(&astray)
    );
    let mut unbound = healthy();
    unbound.remove(2);
    for namespace in ["ml", "pay"] {
        let mut placement = unbound[2].clone();
        placement["metadata"]["namespace"] = namespace.into();
        unbound.push(placement);
    }
    let said = advice(&unbound);
    assert!(said.contains("each of the namespaces ml, pay, shop"), "{said}");
}

#[test]
fn a_placement_that_is_not_satisfied_or_whose_decisions_differ_is_named() {
    let (name, found) = problem(&changed(3, "/status/conditions/0/status", json!("False")));
    assert_eq!(name, "placements");
    assert!(found.starts_with("shop/web: PlacementSatisfied False"), "{found}");
    let (name, found) = problem(&changed(3, "/status/numberOfSelectedClusters", json!(3)));
    assert_eq!(name, "decisions");
    assert!(
        found.contains("reports 3 clusters") && found.contains("list 1"),
        "{found}"
    );
}

#[test]
fn a_subject_that_does_not_exist_is_a_problem_and_others_are_left_out() {
    let checks = judge(
        &observed(&healthy()),
        Some(&PlacementKey::new("shop", "nosuch")),
        now(),
    );
    let last = checks.last().unwrap();
    assert_eq!((last.name, last.result), ("subject", Verdict::Problem));
}

#[test]
fn problems_of_others_are_no_answer_to_a_question_about_one_placement() {
    let mut objects = healthy();
    let mut west = objects[0].clone();
    west["metadata"]["name"] = json!("west");
    west["spec"]["hubAcceptsClient"] = json!(false);
    west["status"]["conditions"][0]["status"] = json!("Unknown");
    let mut other = objects[3].clone();
    other["metadata"]["namespace"] = json!("unbound");
    other["status"]["conditions"] = json!([]);
    objects.extend([west, other]);
    let hub = observed(&objects);
    let all: BTreeSet<&str> = problems(&hub).iter().map(|check| check.name).collect();
    assert_eq!(
        all,
        BTreeSet::from(["accepted", "available", "bindings", "controller"])
    );
    let checks = judge(&hub, Some(&PlacementKey::new("shop", "web")), now());
    assert!(
        checks.iter().all(|check| check.result == Verdict::Ok),
        "{checks:#?}"
    );
    let clusters = checks.iter().find(|check| check.name == "clusters").unwrap();
    assert_eq!(
        clusters.found,
        "1 of 2 has something of shop/web; only this one is checked"
    );
    // The cluster that it has something on is part of the question.
    objects[0]["status"]["conditions"][0]["status"] = json!("Unknown");
    let checks = judge(
        &observed(&objects),
        Some(&PlacementKey::new("shop", "web")),
        now(),
    );
    let found = checks.iter().find(|check| check.name == "available").unwrap();
    assert_eq!(found.found, "1 of 1 cluster not available: east");
}
