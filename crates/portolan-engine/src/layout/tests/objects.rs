//! Names, labels, owners and entries.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use crate::layout::{
    PublishScores, SlicesRefused,
    fixture::{World, all, chosen, group, label},
};
use crate::model::Group;

const KEY: &str = "multicluster.x-k8s.io/decision-key";

#[test]
fn an_ocm_decision_in_full() {
    let mut world = World {
        grouped: true,
        ..World::new()
    };
    world.placement.metadata.uid = Some("u1".to_owned());
    let canary = Group {
        name: "canary".to_owned(),
        clusters: vec![chosen(1, 80), chosen(2, 0)],
    };
    let layout = world.layout(&[canary, group("", 3..=3)]);
    assert_eq!(
        serde_json::to_value(&layout.decisions[0]).unwrap(),
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "PlacementDecision",
            "metadata": {
                "name": "web-decision-1",
                "namespace": "apps",
                "labels": {
                    "cluster.open-cluster-management.io/placement": "web",
                    "cluster.open-cluster-management.io/decision-group-index": "0",
                    "cluster.open-cluster-management.io/decision-group-name": "canary",
                },
                "annotations": { "portolan.dev/content": portolan_api::cluster::content_hash("0", ["c002", "c001"]) },
                "ownerReferences": [{
                    "apiVersion": "cluster.open-cluster-management.io/v1beta1",
                    "kind": "Placement",
                    "name": "web",
                    "uid": "u1",
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "status": { "decisions": [
                { "clusterName": "c001", "reason": "", "score": 80 },
                { "clusterName": "c002", "reason": "" },
            ] },
        })
    );
    let groups = serde_json::to_value(&layout.decision_groups).unwrap();
    assert_eq!(
        groups,
        json!([
            { "decisionGroupIndex": 0, "decisionGroupName": "canary", "decisions": ["web-decision-1"], "clusterCount": 2 },
            { "decisionGroupIndex": 1, "decisionGroupName": "", "decisions": ["web-decision-2"], "clusterCount": 1 },
        ])
    );
}

#[test]
fn a_slice_in_full() {
    let mut world = World {
        grouped: true,
        ..World::new()
    };
    let workload = BTreeMap::from([(
        "multicluster.x-k8s.io/placement-key".to_owned(),
        "shop".to_owned(),
    )]);
    world.placement.metadata.labels = Some(workload);
    let canary = Group {
        name: "canary".to_owned(),
        clusters: vec![chosen(1, 80), chosen(2, 0)],
    };
    let slices = world.layout(&[canary]).slices.unwrap();
    let reason = "selected by Placement apps/web in group canary";
    assert_eq!(
        serde_json::to_value(&slices).unwrap(),
        json!([{
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "PlacementDecision",
            "metadata": {
                "name": "web-decision-0",
                "namespace": "apps",
                "labels": {
                    "multicluster.x-k8s.io/decision-key": "web",
                    "multicluster.x-k8s.io/decision-index": "0",
                    "multicluster.x-k8s.io/decision-slice-count": "1",
                    "multicluster.x-k8s.io/decision-revision": "0",
                    "multicluster.x-k8s.io/placement": "web",
                    "multicluster.x-k8s.io/scheduler": "portolan",
                    "multicluster.x-k8s.io/placement-key": "shop",
                    "multicluster.x-k8s.io/decision-group-index": "0",
                    "multicluster.x-k8s.io/decision-group-name": "canary",
                    "cluster.open-cluster-management.io/decision-group-index": "0",
                    "cluster.open-cluster-management.io/decision-group-name": "canary",
                },
                "annotations": { "portolan.dev/scores": "{\"c001\":80,\"c002\":0}" },
                "ownerReferences": [{
                    "apiVersion": "cluster.open-cluster-management.io/v1beta1",
                    "kind": "Placement",
                    "name": "web",
                    "uid": "",
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "decisions": [
                { "clusterProfileRef": { "name": "c001", "namespace": "apps" }, "reason": reason },
                { "clusterProfileRef": { "name": "c002", "namespace": "apps" }, "reason": reason },
            ],
            "schedulerName": "portolan",
        }])
    );
}

#[test]
fn nothing_selected_is_one_empty_object_of_each_kind() {
    let layout = World::new().layout(&all([]));
    assert_eq!(layout.decisions.len(), 1);
    let slices = layout.slices.unwrap();
    assert_eq!(slices.len(), 1);
    assert!(slices[0].decisions.is_empty());
    assert_eq!(
        label(&slices[0].metadata, "multicluster.x-k8s.io/decision-slice-count"),
        "1"
    );
}

#[test]
fn long_names_are_cut_and_told_in_full() {
    let mut world = World::new();
    let long = "p".repeat(250);
    world.placement.metadata.name = Some(long.clone());
    let layout = world.layout(&all(0..=100));
    let slices = layout.slices.clone().unwrap();
    let names = |metadata: &ObjectMeta| metadata.name.clone().unwrap();
    assert_ne!(names(&slices[0].metadata), names(&slices[1].metadata));
    for metadata in slices
        .iter()
        .map(|slice| &slice.metadata)
        .chain(layout.decisions.iter().map(|one| &one.metadata))
    {
        assert_eq!(names(metadata).len(), 253);
        assert!(
            metadata
                .labels
                .as_ref()
                .unwrap()
                .values()
                .all(|value| value.len() <= 63)
        );
        assert_eq!(
            metadata.annotations.as_ref().unwrap()["portolan.dev/placement-name"],
            long
        );
    }
    assert_eq!(label(&slices[0].metadata, KEY).len(), 63);
    // A cut name is found again, even without the label that says its index.
    world.observed.slices = slices.clone();
    assert_eq!(world.layout(&all(0..=100)).slices.unwrap(), slices);
    world.observed.slices[1]
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .remove("multicluster.x-k8s.io/decision-index");
    world.settle(&all(0..=100));
    assert_eq!(world.observed.slices.len(), 2);
    assert!(world.plan(&all(0..=100)).is_empty());
}

#[test]
fn scores_are_left_out_when_the_policy_says_so() {
    for (publish, ordered, published) in [
        (PublishScores::Always, false, true),
        (PublishScores::Sorted, false, false),
        (PublishScores::Sorted, true, true),
        (PublishScores::Never, true, false),
    ] {
        let layout = World {
            publish,
            ordered,
            ..World::new()
        }
        .layout(&all(1..=1));
        let score = layout.decisions[0].status.as_ref().unwrap().decisions[0].score;
        assert_eq!(score != 0, published, "{publish:?} {ordered}");
        assert_eq!(
            layout.slices.unwrap()[0].metadata.annotations.is_some(),
            published,
            "{publish:?} {ordered}"
        );
    }
}

#[test]
fn more_slices_than_a_reader_must_accept_are_refused() {
    let groups: Vec<_> = (0..1001).map(|number| group("", [number])).collect();
    let layout = World {
        grouped: true,
        ..World::new()
    }
    .layout(&groups);
    let refused = layout.slices.unwrap_err();
    assert_eq!(refused, SlicesRefused::TooManySlices { needed: 1001 });
    assert!(refused.to_string().contains("1001 slices, at most 1000"));
    assert_eq!(layout.decisions.len(), 1001);
}
