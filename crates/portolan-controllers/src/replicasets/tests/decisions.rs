//! Which decisions can be believed.

use std::collections::BTreeMap;

use portolan_api::cluster::{Placement, PlacementDecision, content_hash};
use serde_json::{Value, json};

use crate::reconcile::fake::object;
use crate::replicasets::decisions::{Chosen, Part, Reading, read};

fn part(index: &str, clusters: &[&str], hash: Option<&str>) -> Part {
    let decisions: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    let annotations = hash.map_or(json!({}), |hash| json!({"portolan.dev/content": hash}));
    let decision: PlacementDecision = object(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": {
            "name": "p-decision-1", "annotations": annotations,
            "labels": {
                "cluster.open-cluster-management.io/decision-group-index": index,
                "cluster.open-cluster-management.io/decision-group-name": "g",
            },
        },
        "status": {"decisions": decisions},
    }));
    Part::of(&decision)
}

/// A placement whose status tells of so many clusters in these objects.
fn told(count: usize, objects: &[&str]) -> Chosen {
    let groups = json!([{
        "decisionGroupIndex": 0, "decisionGroupName": "", "decisions": objects, "clusterCount": count,
    }]);
    let placement: Placement = object(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "p"}, "spec": {},
        "status": {"numberOfSelectedClusters": count, "decisionGroups": groups},
    }));
    Chosen::of(&placement)
}

fn reading(placement: Option<&Chosen>, parts: &[(&str, Part)]) -> Result<Vec<String>, String> {
    let parts: BTreeMap<String, Part> = parts
        .iter()
        .map(|(name, part)| ((*name).to_owned(), part.clone()))
        .collect();
    match read(placement, Some(&parts)) {
        Reading::Missing => Err("missing".to_owned()),
        Reading::Unsettled(why) => Err(why),
        Reading::Groups(groups) => Ok(groups
            .iter()
            .map(|(key, members)| format!("{} {}: {members:?}", key.group_index, key.group_name))
            .collect()),
    }
}

#[test]
fn a_decision_that_the_status_tells_of_is_believed() {
    let hash = content_hash("0", ["a", "b"]);
    for hash in [None, Some(hash.as_str())] {
        let answer = reading(Some(&told(2, &["d1"])), &[("d1", part("0", &["b", "a"], hash))]);
        assert_eq!(answer.unwrap(), [r#"0 g: {"a", "b"}"#]);
    }
}

#[test]
fn a_decision_without_groups_is_group_0_and_its_unfilled_slots_are_no_clusters() {
    let old = part("", &["a", "", "b"], None);
    let answer = reading(Some(&told(2, &["d1"])), &[("d1", old)]);
    assert_eq!(answer.unwrap(), [r#"0 : {"a", "b"}"#]);
}

#[test]
fn a_decision_that_is_being_written_is_not() {
    let two = told(2, &["d1", "d2"]);
    let cases = [
        (vec![], "nothing is decided yet"),
        (
            vec![("d1", part("0", &["a"], Some("other")))],
            "d1 is being rewritten",
        ),
        (
            vec![("d1", part("x", &["a"], None))],
            "PlacementDecision d1: metadata.labels[cluster.open-cluster-management.io/decision-group-index] is \"x\", which is \
             no index of a group; accepted: a decimal number from 0",
        ),
        (
            vec![("d1", part("-1", &["a"], None))],
            "PlacementDecision d1: metadata.labels[",
        ),
        (
            vec![("d1", part("0", &["a"], None))],
            "the Placement's status does not match its PlacementDecisions",
        ),
        (
            vec![("d1", part("0", &["a"], None)), ("d2", part("1", &["a"], None))],
            "the Placement's status does not match its PlacementDecisions",
        ),
        (
            vec![("d1", part("0", &["a", "b"], None))],
            "the Placement's status does not match its PlacementDecisions",
        ),
    ];
    for (parts, why) in cases {
        let said = reading(Some(&two), &parts).unwrap_err();
        assert!(said.starts_with(why), "{said}");
    }
    assert_eq!(
        reading(None, &[("d1", part("0", &["a"], None))]).unwrap_err(),
        "missing"
    );
}

#[test]
fn a_decision_that_is_written_by_hand_needs_no_status() {
    let placement = |annotations: Value| -> Chosen {
        let placement: Placement = object(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": {"name": "p", "annotations": annotations}, "spec": {},
        }));
        Chosen::of(&placement)
    };
    let parts = [("d1", part("0", &["a"], None))];
    let off = "cluster.open-cluster-management.io/experimental-scheduling-disable";
    assert!(reading(Some(&placement(json!({}))), &parts).is_err());
    assert!(reading(Some(&placement(json!({off: "true"}))), &parts).is_ok());
    assert!(
        reading(
            Some(&placement(
                json!({off: "true", "portolan.dev/scheduler": "portolan"})
            )),
            &parts
        )
        .is_err()
    );
}

#[test]
fn a_decision_with_an_object_that_cannot_be_read_is_not_believed() {
    let unreadable = || Part::unreadable("status: invalid type".to_owned());
    let parts = [("d1", part("0", &["a"], None)), ("d2", unreadable())];
    let mut by_hand = told(1, &["d1"]);
    by_hand.told = None;
    by_hand.is_by_hand = true;
    for placement in [told(1, &["d1"]), told(2, &["d1", "d2"]), by_hand] {
        let why = reading(Some(&placement), &parts).unwrap_err();
        assert_eq!(why, "PlacementDecision d2 cannot be read (status: invalid type)");
    }
}
