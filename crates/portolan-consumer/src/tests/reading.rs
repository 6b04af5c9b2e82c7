use portolan_api::labels::{multicluster as labels, portolan};
use serde_json::json;

use super::*;

#[test]
fn both_revisions_of_the_standard_are_read_with_the_object_s_own_namespace() {
    let slice = bare("a", &[]).entries(json!([
        { "clusterProfileRef": { "name": "own" } },
        { "clusterProfileRef": { "name": "other", "namespace": "fleet", "kind": "ClusterProfile", "uid": "1" } },
        { "clusterProfileRef": { "name": "empty", "namespace": "" }, "reason": "GPUs available" },
        { "clusterName": "first" },
    ]));
    let slice = slice.read();
    let read: Vec<String> = slice
        .chosen
        .iter()
        .map(|chosen| chosen.cluster.to_string())
        .collect();
    assert_eq!(read, ["shop/own", "fleet/other", "shop/empty", "shop/first"]);
    assert_eq!(slice.chosen[2].reason.as_deref(), Some("GPUs available"));
    assert!(slice.problems.is_empty());
}

#[test]
fn typed_and_untyped_objects_are_read_alike() {
    let made = revised(3, 2, 1, &["a", "b"])
        .label(labels::PLACEMENT_KEY, "web")
        .label(labels::SCHEDULER, "old")
        .annotation(portolan::SCORES, r#"{"a":7}"#)
        .entries(
            json!([{ "clusterProfileRef": { "name": "a" } }, { "reason": "none" }, { "clusterName": "b" }]),
        );
    assert_eq!(
        Slice::of(&serde_json::from_value(made.0.clone()).unwrap()),
        made.read()
    );
}

#[test]
fn fields_and_labels_that_are_not_known_change_nothing() {
    let made = slice(0, &["a"]);
    let mut odd = made.clone().label("example.com/extra", "1");
    odd.0["spec"] = json!({ "future": true });
    odd.0["decisions"][0]["weight"] = json!(3);
    assert_eq!(odd.read(), made.read());
}

#[test]
fn an_entry_that_names_no_cluster_is_reported_and_the_others_are_read() {
    let slice = bare("a", &[]).entries(json!([
        { "clusterProfileRef": { "name": "a" } },
        { "clusterProfileRef": { "nmae": "b" } },
        "c",
        { "clusterName": "" },
        { "clusterProfileRef": { "name": 7 } },
    ]));
    let slice = slice.read();
    assert_eq!(slice.chosen.len(), 1);
    let fields: Vec<&str> = slice
        .problems
        .iter()
        .map(|problem| problem.field.as_str())
        .collect();
    assert_eq!(
        fields,
        ["decisions[1]", "decisions[2]", "decisions[3]", "decisions[4]"]
    );
    assert_eq!(
        slice.problems[1].to_string(),
        r#"shop/a: decisions[1]: "c" names no cluster; accepted: clusterProfileRef.name, or clusterName of the first revision"#
            .replace("[1]", "[2]")
    );
}

#[test]
fn an_object_without_a_list_of_decisions_is_reported_and_read_as_empty() {
    for decisions in [json!(null), json!({}), json!("none")] {
        let slice = bare("a", &[]).entries(decisions).read();
        assert!(slice.chosen.is_empty());
        assert_eq!(slice.problems[0].field, "decisions");
        assert!(slice.problems[0].hides_a_cluster);
    }
}

#[test]
fn numbers_in_labels_that_are_none_are_reported_and_left_out() {
    let read = slice(0, &["a"]).label(labels::DECISION_INDEX, "first").read();
    assert_eq!(read.index, None);
    assert_eq!(
        read.problems[0].to_string(),
        "shop/web-0: metadata.labels[multicluster.x-k8s.io/decision-index]: \"first\" is no number; accepted: a decimal number from 0"
    );
    let long = "x".repeat(400);
    let read = bare("a", &["c"]).annotation(portolan::SCORES, &long).read();
    assert!(read.problems[0].value.len() < 130, "a report is short");
    assert!(!read.problems[0].hides_a_cluster);
}

#[test]
fn the_scheduler_is_named_by_the_field_or_by_the_first_revisions_label() {
    assert_eq!(
        slice(0, &[])
            .by("new")
            .label(labels::SCHEDULER, "old")
            .read()
            .scheduler
            .as_deref(),
        Some("new")
    );
    assert_eq!(
        slice(0, &[])
            .label(labels::SCHEDULER, "old")
            .read()
            .scheduler
            .as_deref(),
        Some("old")
    );
    assert_eq!(slice(0, &[]).read().scheduler, None);
}

#[test]
fn scores_and_groups_come_with_the_clusters() {
    let chosen = slice(0, &["a", "b"])
        .annotation(portolan::SCORES, r#"{"a":-7}"#)
        .label("cluster.open-cluster-management.io/decision-group-index", "2")
        .label("cluster.open-cluster-management.io/decision-group-name", "canary")
        .read()
        .chosen;
    assert_eq!([chosen[0].score, chosen[1].score], [Some(-7), None]);
    assert_eq!(chosen[0].group.as_ref().unwrap().to_string(), "group 2 (canary)");
}
