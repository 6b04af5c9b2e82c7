//! Every kind is written the way it was read, and tolerates what may be missing.

#![allow(clippy::unwrap_used)]

use std::fmt::Debug;

use portolan_api::{cluster, multicluster, work};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

fn same<K: Serialize + DeserializeOwned + PartialEq + Debug>(object: Value) -> K {
    let read: K = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), object);
    read
}

#[test]
fn a_full_placement_is_written_as_it_was_read() {
    let placement: cluster::Placement = same(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": { "name": "p", "namespace": "n" },
        "spec": {
            "clusterSets": ["global"],
            "numberOfClusters": 0,
            "predicates": [{ "requiredClusterSelector": {
                "labelSelector": { "matchLabels": { "a": "b" } },
                "claimSelector": { "matchExpressions": [{ "key": "k", "operator": "Exists" }] },
                "celSelector": { "celExpressions": ["true"] },
            } }],
            "prioritizerPolicy": { "mode": "Exact", "configurations": [
                { "scoreCoordinate": { "type": "AddOn", "addOn": { "resourceName": "r", "scoreName": "s" } }, "weight": 0 },
                { "scoreCoordinate": { "type": "Property", "property": "gpus" }, "weight": -10 },
                { "scoreCoordinate": { "builtIn": "Steady" } },
            ] },
            "spreadPolicy": { "spreadConstraints": [
                { "topologyKey": "region", "topologyKeyType": "Claim", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule" },
            ] },
            "tolerations": [
                { "key": "k", "operator": "Equal", "value": "v", "effect": "NoSelectIfNew", "tolerationSeconds": 60 },
            ],
            "decisionStrategy": {
                "groupStrategy": {
                    "decisionGroups": [{ "groupName": "canary", "groupClusterSelector": {} }],
                    "clustersPerDecisionGroup": "20%",
                    "assignment": "Sticky",
                },
                "updateStrategy": { "type": "RollingUpdate" },
            },
            "sortBy": "Score",
            "scoreRateLimit": "5m",
        },
        "status": {
            "numberOfSelectedClusters": 0,
            "decisionGroups": [
                { "decisionGroupIndex": 0, "decisionGroupName": "", "decisions": [], "clusterCount": 0 },
            ],
            "lastScoreUpdateTime": "2026-01-31T08:00:00Z",
        },
    }));
    assert_eq!(
        placement.spec.tolerations[0].effect,
        Some(cluster::TaintEffect::NoSelectIfNew)
    );
}

#[test]
fn name_is_read_as_another_spelling_of_cluster_name() {
    let spec: cluster::PlacementSpec = serde_json::from_value(json!({ "sortBy": "Name" })).unwrap();
    assert_eq!(
        serde_json::to_value(spec).unwrap(),
        json!({ "sortBy": "ClusterName" })
    );
}

#[test]
fn every_field_of_a_placement_status_may_be_missing() {
    let status: cluster::PlacementStatus = serde_json::from_value(json!({ "decisionGroups": [{}] })).unwrap();
    assert_eq!(status.decision_groups, [cluster::DecisionGroupStatus::default()]);
}

#[test]
fn an_ocm_decision_always_has_a_reason_and_leaves_a_zero_score_out() {
    let decision: cluster::PlacementDecision = same(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": { "name": "p-decision-1" },
        "status": { "decisions": [{ "clusterName": "a", "reason": "", "score": -3 }, { "clusterName": "b", "reason": "" }] },
    }));
    assert_eq!(decision.status.unwrap().decisions[1].score, 0);
    let bare: cluster::PlacementDecision = serde_json::from_value(json!({ "metadata": {} })).unwrap();
    assert_eq!(bare.status, None);
    let empty = serde_json::to_value(cluster::PlacementDecisionStatus::default()).unwrap();
    assert_eq!(empty, json!({ "decisions": [] }));
}

#[test]
fn clusters_and_sets_may_lack_a_spec() {
    let bare = || json!({ "metadata": { "name": "x" } });
    let cluster: cluster::ManagedCluster = serde_json::from_value(bare()).unwrap();
    assert!(!cluster.spec.hub_accepts_client);
    serde_json::from_value::<cluster::ManagedClusterSet>(bare()).unwrap();
    serde_json::from_value::<cluster::ManagedClusterSetBinding>(bare()).unwrap();
    serde_json::from_value::<work::ManifestWork>(bare()).unwrap();
    serde_json::from_value::<multicluster::Work>(bare()).unwrap();
}

#[test]
fn a_managed_cluster_is_written_as_it_was_read() {
    same::<cluster::ManagedCluster>(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": { "name": "c1" },
        "spec": {
            "hubAcceptsClient": true,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{ "url": "https://c1", "caBundle": "QQ==" }],
            "taints": [{ "key": "k", "value": "v", "effect": "NoSelect", "timeAdded": "2026-01-31T08:00:00Z" }],
        },
        "status": {
            "capacity": { "cpu": "4", "memory": "16Gi" },
            "allocatable": { "cpu": "3500m" },
            "version": { "kubernetes": "v1.33.0" },
            "clusterClaims": [{ "name": "region", "value": "eu" }],
            "managedNamespaces": [{ "name": "n", "clusterSet": "s" }],
        },
    }));
    let taint: cluster::Taint =
        serde_json::from_value(json!({ "key": "k", "effect": "NoSelect", "timeAdded": null })).unwrap();
    assert_eq!(taint.time_added, None);
}

#[test]
fn sets_bindings_and_scores_are_written_as_they_were_read() {
    same::<cluster::ManagedClusterSet>(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": { "name": "s" },
        "spec": { "clusterSelector": { "selectorType": "LabelSelector", "labelSelector": {} } },
    }));
    same::<cluster::ManagedClusterSetBinding>(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": { "name": "s", "namespace": "n" },
        "spec": { "clusterSet": "s" },
    }));
    same::<cluster::AddOnPlacementScore>(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": { "name": "r", "namespace": "c1" },
        "status": { "scores": [{ "name": "s", "value": -100 }], "validUntil": "2026-01-31T08:00:00Z" },
    }));
}

#[test]
fn a_kep_decision_always_has_its_list_and_may_not_lack_it() {
    let decision: multicluster::PlacementDecision = same(json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "PlacementDecision",
        "metadata": { "name": "d", "namespace": "n" },
        "decisions": [],
        "schedulerName": "portolan",
    }));
    assert!(decision.decisions.is_empty());
    assert!(serde_json::from_value::<multicluster::PlacementDecision>(json!({ "metadata": {} })).is_err());
}

#[test]
fn a_cluster_profile_keeps_the_spelling_of_a_kubeconfig() {
    same::<multicluster::ClusterProfile>(json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": { "name": "c1", "namespace": "fleet" },
        "spec": { "displayName": "one", "clusterManager": { "name": "portolan" } },
        "status": {
            "version": { "kubernetes": "v1.33.0" },
            "properties": [{ "name": "p", "value": "v", "lastObservedTime": "2026-01-31T08:00:00Z" }],
            "accessProviders": [{ "name": "a", "cluster": {
                "server": "https://c1", "tls-server-name": "c1", "insecure-skip-tls-verify": true,
                "certificate-authority": "/ca", "certificate-authority-data": "QQ==", "proxy-url": "http://p",
                "disable-compression": true, "extensions": [{ "name": "e", "extension": { "any": ["thing"] } }],
            } }],
        },
    }));
}

#[test]
fn works_are_written_as_they_were_read() {
    same::<multicluster::Work>(json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "Work",
        "metadata": { "name": "w", "namespace": "c1" },
        "spec": { "workload": { "manifests": [{ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "x" } }] } },
        "status": { "manifestConditions": [{ "identifier": { "ordinal": 0, "kind": "Namespace" } }] },
    }));
    same::<multicluster::AppliedWork>(json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "AppliedWork",
        "metadata": { "name": "w" },
        "spec": { "workName": "w", "workNamespace": "c1" },
        "status": { "appliedResources": [{ "ordinal": 0, "kind": "Namespace", "uid": "u" }] },
    }));
}

#[test]
fn manifest_works_are_written_as_they_were_read() {
    let spec = json!({
        "workload": { "manifests": [{ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "x" } }] },
        "deleteOption": { "propagationPolicy": "SelectivelyOrphan", "ttlSecondsAfterFinished": 5,
            "selectivelyOrphans": { "orphaningRules": [{ "group": "", "resource": "namespaces", "name": "x", "namespace": "" }] } },
        "manifestConfigs": [{
            "resourceIdentifier": { "group": "", "resource": "namespaces", "name": "x", "namespace": "" },
            "feedbackRules": [{ "type": "JSONPaths", "jsonPaths": [{ "name": "n", "path": ".status" }] }],
            "updateStrategy": { "type": "ServerSideApply", "serverSideApply": { "force": true, "fieldManager": "work-agent-x",
                "ignoreFields": [{ "condition": "OnSpokeChange", "jsonPaths": [".a"], "jsonPointers": ["/a"], "jqPathExpressions": [".a"] }] } },
            "conditionRules": [{ "condition": "Progressing", "type": "CEL", "celExpressions": ["true"],
                "message": "m", "messageExpression": "'m'" }],
            "feedbackScrapeType": "Watch",
        }],
        "executor": { "subject": { "type": "ServiceAccount", "serviceAccount": { "namespace": "n", "name": "s" } } },
    });
    same::<work::ManifestWork>(json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": { "name": "w", "namespace": "c1" },
        "spec": spec.clone(),
        "status": { "resourceStatus": { "manifests": [{
            "resourceMeta": { "ordinal": 0, "group": "", "version": "v1", "kind": "Namespace", "resource": "namespaces", "name": "x", "namespace": "" },
            "statusFeedback": { "values": [{ "name": "n", "fieldValue": { "type": "JsonRaw", "jsonRaw": "{}" } }] },
            "conditions": [],
        }] } },
    }));
    same::<work::ManifestWorkReplicaSet>(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": "r", "namespace": "n" },
        "spec": {
            "manifestWorkTemplate": spec,
            "placementRefs": [{ "name": "p", "rolloutStrategy": { "type": "Progressive", "progressive": {
                "minSuccessTime": "1m", "progressDeadline": "5m", "maxFailures": "10%", "maxConcurrency": 3,
                "mandatoryDecisionGroups": [{ "groupName": "canary" }, { "groupIndex": 0 }],
            } } }],
            "cascadeDeletionPolicy": "Foreground",
        },
        "status": {
            "summary": { "total": 1, "progressing": 0, "available": 1, "degraded": 0, "applied": 1, "desiredTotal": 1, "updated": 1 },
            "placementSummary": [],
        },
    }));
}
