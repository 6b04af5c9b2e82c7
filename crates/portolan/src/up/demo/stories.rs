//! One placement for each user story, with the sets and bindings that it needs.

use portolan_api::labels::ocm;
use serde_json::{Value, json};

use super::{SCORE, SCORE_NAME};

/// Where the placements are.
pub(crate) const NAMESPACES: [&str; 5] = ["analytics", "ml", "payments", "platform", "shop"];

const GROUP: &str = "cluster.open-cluster-management.io";

/// Sets, bindings and placements, in the order in which they are to be made.
pub(crate) fn stories() -> Vec<Value> {
    let mut objects = sets();
    objects.extend(bindings());
    objects.extend([training(), frontend(), ledger(), batch(), agents()]);
    objects
}

fn sets() -> Vec<Value> {
    let by_label = |name: &str, selector: Value| {
        json!({
            "apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSet", "metadata": { "name": name },
            "spec": { "clusterSelector": { "selectorType": "LabelSelector", "labelSelector": selector } },
        })
    };
    let exclusive = ["production", "staging", "development", "edge"].map(|name| {
        json!({
            "apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSet", "metadata": { "name": name },
            "spec": { "clusterSelector": { "selectorType": "ExclusiveClusterSetLabel" } },
        })
    });
    let mut sets = exclusive.to_vec();
    sets.push(by_label(ocm::GLOBAL_CLUSTER_SET, json!({})));
    sets.push(by_label(
        "gpu",
        json!({ "matchExpressions": [{ "key": "gpu", "operator": "Exists" }] }),
    ));
    sets
}

fn bindings() -> Vec<Value> {
    let bound = [
        ("ml", "gpu"),
        ("shop", "production"),
        ("payments", "production"),
        ("analytics", "staging"),
        ("analytics", "development"),
        ("platform", ocm::GLOBAL_CLUSTER_SET),
    ];
    let binding = |(namespace, set): (&str, &str)| {
        json!({
            "apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSetBinding",
            "metadata": { "name": set, "namespace": namespace }, "spec": { "clusterSet": set },
        })
    };
    bound.map(binding).to_vec()
}

fn placement(namespace: &str, name: &str, story: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
        "metadata": { "name": name, "namespace": namespace, "annotations": { "portolan.dev/story": story } },
        "spec": spec,
    })
}

fn training() -> Value {
    placement(
        "ml",
        "training",
        "A training job goes to the GPU clusters with the most free capacity and does not move for a small gain.",
        json!({
            "numberOfClusters": 5,
            "prioritizerPolicy": { "mode": "Exact", "configurations": [
                { "scoreCoordinate": { "type": "AddOn", "addOn": { "resourceName": SCORE, "scoreName": SCORE_NAME } }, "weight": 2 },
                { "scoreCoordinate": { "type": "BuiltIn", "builtIn": "Steady" }, "weight": 1 },
            ] },
            "sortBy": "Score",
            "scoreRateLimit": "5s",
        }),
    )
}

fn frontend() -> Value {
    placement(
        "shop",
        "frontend",
        "A new version reaches canaries first, then a tenth of the fleet at a time; no cluster is ever dropped on the way.",
        json!({
            "prioritizerPolicy": { "mode": "Exact" },
            "decisionStrategy": {
                "groupStrategy": {
                    "decisionGroups": [{ "groupName": "canary",
                        "groupClusterSelector": { "labelSelector": { "matchLabels": { "ring": "0" } } } }],
                    "clustersPerDecisionGroup": "10%",
                },
                "updateStrategy": { "type": "RollingUpdate" },
            },
        }),
    )
}

fn ledger() -> Value {
    placement(
        "payments",
        "ledger",
        "A ledger lives in four regions; one that is silent for fifteen seconds is replaced.",
        json!({
            "numberOfClusters": 4,
            "prioritizerPolicy": { "mode": "Exact", "configurations": [
                { "scoreCoordinate": { "type": "BuiltIn", "builtIn": "Steady" }, "weight": 1 },
            ] },
            "spreadPolicy": { "spreadConstraints": [{
                "topologyKey": "topology.kubernetes.io/region", "topologyKeyType": "Label",
                "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule" }] },
            "tolerations": [{ "key": ocm::TAINT_UNREACHABLE, "operator": "Exists", "tolerationSeconds": 15 }],
        }),
    )
}

fn batch() -> Value {
    placement(
        "analytics",
        "batch",
        "Batch work goes to the ten clusters with the most free CPU and memory.",
        json!({
            "numberOfClusters": 10,
            "prioritizerPolicy": { "mode": "Exact", "configurations": [
                { "scoreCoordinate": { "type": "BuiltIn", "builtIn": "ResourceAllocatableCPU" }, "weight": 2 },
                { "scoreCoordinate": { "type": "BuiltIn", "builtIn": "ResourceAllocatableMemory" }, "weight": 1 },
                { "scoreCoordinate": { "type": "BuiltIn", "builtIn": "Steady" }, "weight": 1 },
            ] },
        }),
    )
}

fn agents() -> Value {
    placement(
        "platform",
        "agents",
        "An agent runs on every cluster that works.",
        json!({ "prioritizerPolicy": { "mode": "Exact" } }),
    )
}

#[cfg(test)]
mod tests {
    use portolan_api::structural;

    use super::*;

    #[test]
    fn every_object_is_valid_and_its_namespace_is_made() {
        for object in stories() {
            let errors = structural::validate(&object);
            assert!(errors.is_empty(), "{object}: {errors:?}");
            if let Some(namespace) = object.pointer("/metadata/namespace").and_then(Value::as_str) {
                assert!(NAMESPACES.contains(&namespace), "{namespace}");
            }
        }
    }
}
