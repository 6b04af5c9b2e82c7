//! What is said about works.

use super::*;

#[test]
fn a_work_without_a_report_and_a_cluster_without_a_namespace_are_named() {
    let (name, found) = problem(&with_rollout(observed(&healthy()), &json!({})));
    assert_eq!(name, "works");
    assert!(found.ends_with("of: east"), "{found}");
    let mut hub = with_rollout(observed(&healthy()), &json!({}));
    hub.namespaces = Some(BTreeSet::from(["shop".to_owned()]));
    let checks = problems(&hub);
    assert!(
        checks
            .iter()
            .any(|check| check.found.contains("no namespace on the hub: east")),
        "{checks:#?}"
    );
}

#[test]
fn a_work_that_its_agent_cannot_apply_is_named_with_the_reason() {
    let (name, found) = problem(&with_rollout(observed(&healthy()), &not_applied()));
    assert_eq!(name, "works");
    assert_eq!(found, "east/shop.web: ConfigMap nosuch/b: 404 NotFound");
}

#[test]
fn the_works_of_an_invalid_replica_set_are_not_called_fine_and_its_mistake_is_named() {
    let applied = json!({ "conditions": [{ "type": "Applied", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-01T11:00:00Z" }] });
    let mut hub = with_rollout(observed(&healthy()), &applied);
    let set = &mut hub.replica_sets.as_mut().unwrap()[0];
    let strategy = json!({ "type": "Progressive", "progressive": { "minSuccessTime": "2d" } });
    set.spec.placement_refs[0].rollout_strategy = serde_json::from_value(strategy).unwrap();
    let (name, found) = problem(&hub);
    assert_eq!(name, "rollouts");
    assert!(
        found.contains("minSuccessTime = \"2d\": not a duration; accepted: 48h"),
        "{found}"
    );
    let checks = judge(&hub, None, now());
    let works = checks.iter().find(|check| check.name == "works").unwrap();
    assert_eq!(works.result, Verdict::Note);
    assert!(works.found.ends_with("names: shop/web"), "{}", works.found);
}

/// The condition of a work that could not be applied.
fn not_applied() -> Value {
    json!({ "conditions": [{ "type": "Applied", "status": "False", "reason": "R",
        "message": "ConfigMap nosuch/b: 404 NotFound", "lastTransitionTime": "2026-01-01T11:00:00Z" }] })
}

#[test]
fn a_work_that_is_made_by_hand_is_judged_as_those_of_replica_sets_are() {
    let mut hub = with_rollout(observed(&healthy()), &not_applied());
    hub.replica_sets = Some(Vec::new());
    let work = &mut hub.works.as_mut().unwrap()[0];
    work.metadata.labels = None;
    work.metadata.name = Some("mine".to_owned());
    let found = problems(&hub);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].found, "east/mine: ConfigMap nosuch/b: 404 NotFound");
    let advice = found[0].advice.as_deref().unwrap();
    assert!(
        advice.contains("kubectl get manifestwork mine --namespace east"),
        "{advice}"
    );
    // It is none of what was asked about.
    let checks = judge(&hub, Some(&PlacementKey::new("shop", "web")), now());
    assert!(checks.iter().all(|check| check.name != "works"), "{checks:#?}");
}

#[test]
fn clusters_that_have_not_reported_do_not_hide_one_that_failed() {
    let mut objects = healthy();
    let mut west = objects[0].clone();
    west["metadata"]["name"] = json!("west");
    objects.push(west);
    let mut hub = with_rollout(observed(&objects), &not_applied());
    let works = hub.works.as_mut().unwrap();
    let mut silent = works[0].clone();
    silent.metadata.namespace = Some("west".to_owned());
    silent.status = None;
    works.insert(0, silent);
    let found: Vec<String> = problems(&hub)
        .into_iter()
        .filter(|check| check.name == "works")
        .map(|check| check.found)
        .collect();
    assert_eq!(
        found,
        [
            "east/shop.web: ConfigMap nosuch/b: 404 NotFound",
            "no agent has reported about the ManifestWork of: west"
        ]
    );
}

#[test]
fn a_replica_set_whose_works_are_refused_is_named_with_the_message_of_the_condition() {
    let applied = json!({ "conditions": [{ "type": "Applied", "status": "True", "reason": "R", "message": "",
        "observedGeneration": 0, "lastTransitionTime": "2026-01-01T11:00:00Z" }] });
    let mut hub = with_rollout(observed(&healthy()), &applied);
    let set = &mut hub.replica_sets.as_mut().unwrap()[0];
    let refused = json!({ "conditions": [{ "type": "WorksRefused", "status": "True", "reason": "Refused",
        "message": "west: the hub says no", "lastTransitionTime": "2026-01-01T11:00:00Z" }] });
    set.status = serde_json::from_value(refused).unwrap();
    let (name, found) = problem(&hub);
    assert_eq!(name, "rollouts");
    assert_eq!(
        found,
        "shop/web: WorksRefused True, Refused: west: the hub says no"
    );
}

fn plain_work(namespace: &str, labels: Value, status: Value) -> portolan_api::multicluster::Work {
    let work = json!({ "metadata": { "name": "app", "namespace": namespace, "labels": labels },
        "spec": { "workload": { "manifests": [] } }, "status": status });
    serde_json::from_value(work).unwrap()
}

#[test]
fn a_work_that_is_not_synced_or_nobody_reads_is_named_and_can_be_asked_about() {
    let key = || json!({ "multicluster.x-k8s.io/placement-key": "web" });
    let condition = |type_: &str, status: &str| {
        json!({ "conditions": [{ "type": type_, "status": status, "reason": "NoDecision", "message": "no decision",
            "lastTransitionTime": "2026-01-01T11:00:00Z" }] })
    };
    let judged = |work| {
        let mut hub = observed(&healthy());
        hub.plain_works = Some(vec![work]);
        problems(&hub)
            .into_iter()
            .map(|check| check.found)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        judged(plain_work("shop", key(), condition("Synced", "False"))),
        ["shop/app: Synced False, NoDecision: no decision"]
    );
    assert!(judged(plain_work("shop", key(), condition("Synced", "True"))).is_empty());
    assert!(judged(plain_work("shop", key(), json!({})))[0].contains("no controller has synced"));
    assert!(judged(plain_work("shop", json!({}), json!({})))[0].contains("is the name of no cluster"));
    assert!(judged(plain_work("east", json!({}), json!({})))[0].contains("no agent has reported"));
    assert!(judged(plain_work("east", json!({}), condition("Applied", "True"))).is_empty());
    let mut hub = observed(&healthy());
    hub.plain_works = Some(vec![plain_work("shop", key(), condition("Synced", "False"))]);
    let checks = judge(&hub, Some(&PlacementKey::new("shop", "app")), now());
    assert!(checks.iter().all(|check| check.name != "subject"), "{checks:#?}");
    assert!(checks.iter().any(|check| check.name == "works"), "{checks:#?}");
}

#[test]
fn a_work_in_a_namespace_that_is_no_cluster_is_not_blamed_on_an_agent() {
    for (namespace, may_join) in [("west", true), ("shop", false), ("default", false)] {
        let mut hub = with_rollout(observed(&healthy()), &json!({}));
        hub.replica_sets = Some(Vec::new());
        hub.works.as_mut().unwrap()[0].metadata.namespace = Some(namespace.to_owned());
        let found = problems(&hub);
        assert_eq!(found.len(), 1, "{found:#?}");
        let astray = format!("of no cluster: {namespace}/shop.web");
        assert!(found[0].found.ends_with(&astray), "{found:#?}");
        let advice = found[0].advice.as_deref().unwrap();
        assert!(advice.contains("portolan get clusters"), "{advice}");
        assert_eq!(advice.contains("portolan join"), may_join, "{advice}");
    }
}

#[test]
fn nothing_is_said_of_clusters_where_none_has_the_work_that_was_asked_for() {
    let mut hub = with_rollout(observed(&healthy()), &not_applied());
    hub.replica_sets = Some(Vec::new());
    let work = &mut hub.works.as_mut().unwrap()[0];
    work.metadata.labels = None;
    work.metadata.name = Some("lost".to_owned());
    work.metadata.namespace = Some("bad".to_owned());
    let checks = judge(&hub, Some(&PlacementKey::new("bad", "lost")), now());
    let of = |name: &str| checks.iter().find(|check| check.name == name);
    assert_eq!(
        of("clusters").unwrap().found,
        "none of 1 cluster has something of bad/lost"
    );
    for name in ["accepted", "available", "heartbeats"] {
        assert_eq!(of(name), None, "{checks:#?}");
    }
}
