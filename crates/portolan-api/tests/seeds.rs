//! The examples of the design documents: the sound ones pass, the others are told how to spell it.

#![allow(clippy::unwrap_used)]

use portolan_api::{cluster, multicluster, semantic, spelling, structural, work};
use serde::de::DeserializeOwned;
use serde_json::Value;

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// Reads a manifest the way every caller should: check, fill in defaults, read.
fn accept<K: DeserializeOwned>(text: &str) -> K {
    let mut object = yaml(text);
    assert_eq!(structural::validate(&object), []);
    assert_eq!(structural::unknown_fields(&object), [""; 0]);
    assert_eq!(semantic::errors(&object), []);
    assert_eq!(spelling::misspellings("", &object), []);
    structural::apply_defaults(&mut object);
    serde_json::from_value(object).unwrap()
}

/// `(path, accepted)` of every misspelling.
fn corrections(text: &str) -> Vec<(String, String)> {
    let right = |accepted: String| accepted.replace(", the right spelling", "");
    let found = spelling::misspellings("", &yaml(text)).into_iter();
    let mut found: Vec<_> = found.map(|error| (error.path, right(error.accepted))).collect();
    found.sort();
    found
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(path, right)| (path.to_string(), right.to_string()))
        .collect()
}

#[test]
fn the_kep_example_is_accepted_with_its_object_references() {
    let decision: multicluster::PlacementDecision = accept(include_str!("data/kep_decision.yaml"));
    let reference = decision.decisions[1].cluster_profile_ref.as_ref().unwrap();
    assert_eq!(
        (reference.name.as_str(), reference.namespace.as_deref()),
        ("cluster2", Some("fleet1"))
    );
    assert_eq!(
        decision.scheduler_name.as_deref(),
        Some("multicluster-placement-controller")
    );
}

#[test]
fn the_kep_example_is_accepted_under_v1alpha2_too() {
    let mut object = yaml(include_str!("data/kep_decision.yaml"));
    object["apiVersion"] = "multicluster.x-k8s.io/v1alpha2".into();
    assert_eq!(structural::validate(&object), []);
    assert_eq!(structural::unknown_fields(&object), [""; 0]);
}

#[test]
fn the_first_revision_of_the_kep_is_accepted() {
    let decision: multicluster::PlacementDecision = accept(include_str!("data/kep_first_revision.yaml"));
    let names: Vec<_> = decision
        .decisions
        .iter()
        .map(|entry| entry.cluster_name.as_deref().unwrap())
        .collect();
    assert_eq!(names, ["cluster1", "cluster2"]);
    assert_eq!(
        decision.decisions[0].profile("argocd"),
        Some(("argocd", "cluster1"))
    );
}

#[test]
fn decision_groups_as_documented_are_told_the_right_spelling() {
    assert_eq!(
        corrections(include_str!("data/groups_as_documented.yaml")),
        pairs(&[
            ("spec.DecisionStrategy", "decisionStrategy"),
            (
                "spec.DecisionStrategy.groupStrategy.DecisionGroups",
                "decisionGroups"
            ),
            (
                "spec.DecisionStrategy.groupStrategy.DecisionGroups[0].clusterSelector",
                "groupClusterSelector.labelSelector"
            ),
            (
                "spec.DecisionStrategy.groupStrategy.DecisionGroups[0].clusterSelector.matchExpressions[0].operator",
                "Exists"
            ),
            (
                "spec.DecisionStrategy.groupStrategy.DecisionGroups[1].clusterSelector",
                "groupClusterSelector.labelSelector"
            ),
            (
                "spec.DecisionStrategy.groupStrategy.DecisionGroups[1].clusterSelector.matchExpressions[0].operator",
                "Exists"
            ),
            ("status.decisionGroups[0].placementDecisions", "decisions"),
        ])
    );
}

#[test]
fn decision_groups_in_the_right_spelling_are_accepted() {
    let placement: cluster::Placement = accept(include_str!("data/groups_corrected.yaml"));
    let strategy = placement.spec.decision_strategy.unwrap().group_strategy.unwrap();
    assert_eq!(strategy.decision_groups.len(), 2);
    assert_eq!(strategy.assignment, Some(cluster::GroupAssignment::ByName));
    assert_eq!(
        placement.status.unwrap().decision_groups[0].decisions,
        ["ztp-placement-decision-0"]
    );
}

#[test]
fn decision_labels_as_documented_are_told_the_right_key() {
    let text = include_str!("data/ocm_decision_as_documented.yaml");
    let group = "cluster.open-cluster-management.io";
    assert_eq!(
        corrections(text),
        pairs(&[
            (
                r#"metadata.labels["cluster.open-cluster-management.io/decisiongroupindex"]"#,
                &format!("{group}/decision-group-index")
            ),
            (
                r#"metadata.labels["cluster.open-cluster-management.io/decisiongroupname"]"#,
                &format!("{group}/decision-group-name")
            ),
        ])
    );
    let errors = structural::validate(&yaml(text));
    assert_eq!(
        errors.len(),
        1,
        "the index is a number, and labels are strings: {errors:?}"
    );
    assert_eq!(errors[0].problem, "not a string");
}

#[test]
fn a_rollout_as_documented_is_told_the_right_spelling() {
    let text = include_str!("data/rollout_as_documented.yaml");
    let strategy = "spec.placementRefs[0].rolloutStrategy";
    assert_eq!(
        corrections(text),
        pairs(&[
            (
                &format!("{strategy}.progressive.mandatoryDecisionGroups[0]"),
                "{groupName: prod-canary-west}"
            ),
            (
                &format!("{strategy}.progressive.mandatoryDecisionGroups[1]"),
                "{groupName: prod-canary-east}"
            ),
            (
                &format!("{strategy}.progressive.timeout"),
                "50m; durations are numbers with a unit of h, m, s, ms, us or ns, such as 90s or 1h30m"
            ),
            (&format!("{strategy}.rolloutType"), "type"),
        ])
    );
    let errors = semantic::errors(&yaml(text));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].path, format!("{strategy}.progressive.timeout"));
}

#[test]
fn a_rollout_in_the_right_spelling_is_accepted_and_its_timeout_is_the_deadline() {
    let set: work::ManifestWorkReplicaSet = accept(include_str!("data/rollout_corrected.yaml"));
    let strategy = set.spec.placement_refs[0].rollout_strategy.as_ref().unwrap();
    let config = strategy.config().unwrap();
    assert_eq!(
        config.progress_deadline.as_deref(),
        Some("None"),
        "filled in by the server"
    );
    assert_eq!(config.effective_progress_deadline(), Some("50m"));
}

#[test]
fn the_rolling_update_example_is_accepted() {
    let placement: cluster::Placement = accept(include_str!("data/rolling_update.yaml"));
    let update = placement.spec.decision_strategy.unwrap().update_strategy.unwrap();
    assert_eq!(update.r#type, Some(cluster::UpdateStrategyType::RollingUpdate));
}

#[test]
fn the_score_examples_are_accepted() {
    let placement: cluster::Placement = accept(include_str!("data/sort_by_score.yaml"));
    assert_eq!(placement.spec.sort_by, Some(cluster::SortBy::Score));
    let decision: cluster::PlacementDecision = accept(include_str!("data/scored_decision.yaml"));
    let scores: Vec<i64> = decision
        .status
        .unwrap()
        .decisions
        .iter()
        .map(|entry| entry.score)
        .collect();
    assert_eq!(scores, [80, 65, 10, 10]);
}
