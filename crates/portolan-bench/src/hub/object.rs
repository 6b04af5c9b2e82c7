//! What is written: objects with the shape and size of a ManagedCluster, and two kinds of patches.

use bytes::Bytes;
use serde_json::{Value, json};

/// The definition of the kind, as YAML.
pub(super) const DEFINITION: &str = include_str!("kind.yaml");
/// Where definitions are posted.
pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The definition itself.
pub(super) const DEFINITION_NAME: &str = "benchedclusters.bench.portolan.dev";
/// The collection.
pub(super) const OBJECTS: &str = "/apis/bench.portolan.dev/v1/benchedclusters";

/// A certificate's worth of base64 text.
const BUNDLE: usize = 1200;

/// Where one object is.
pub(super) fn path(index: usize) -> String {
    format!("{OBJECTS}/{}", name(index))
}

fn name(index: usize) -> String {
    format!("cluster-{index:06}")
}

/// A new object.
pub(super) fn object(index: usize) -> Bytes {
    let bundle: String = (0..BUNDLE)
        .map(|at| char::from(b"QUJDRUZHSElKS0xNTk9QUVJTVFVWV1hZ"[(at * 7 + index * (at % 13 + 1)) % 32]))
        .collect();
    text(&json!({
        "apiVersion": "bench.portolan.dev/v1",
        "kind": "BenchedCluster",
        "metadata": {
            "name": name(index),
            "labels": {
                "cloud": (["Amazon", "Azure", "Google", "BareMetal"][index % 4]),
                "region": format!("region-{}", index % 17),
                "environment": (["dev", "stage", "prod"][index % 3]),
                "vendor": "OpenShift",
                "team": format!("team-{}", index % 250),
                "cluster.open-cluster-management.io/clusterset": format!("set-{}", index % 20),
                "feature.open-cluster-management.io/addon-work-manager": "available",
                "clusterID": format!("{index:08x}-4e1b-4b5c-9d07-3f6a2b1c0d9e"),
            },
            "annotations": {
                "open-cluster-management/created-via": "discovery",
                "agent.open-cluster-management.io/klusterlet-config": format!("config-{}", index % 9),
            },
        },
        "spec": {
            "hubAcceptsClient": true,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [
                {"url": format!("https://api.cluster-{index:06}.example.com:6443"), "caBundle": bundle}
            ],
            "taints": [
                {"key": "gpu", "value": "true", "effect": "NoSelectIfNew", "timeAdded": "2026-01-31T08:00:00Z"}
            ],
        },
    }))
}

/// A merge patch of the whole status, different for each `turn`.
pub(super) fn status(index: usize, turn: usize) -> Bytes {
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message, "observedGeneration": 1,
            "lastTransitionTime": format!("2026-01-31T08:{:02}:{:02}Z", turn / 60 % 60, turn % 60),
        })
    };
    let quantities = |cores: usize| {
        json!({
            "cpu": cores.to_string(), "memory": format!("{}Ki", 65_000_000 + index + turn), "pods": "750",
            "ephemeral-storage": "104845292Ki", "hugepages-2Mi": "0",
        })
    };
    let claim = |name: &str, value: &str| json!({"name": name, "value": value});
    text(&json!({"status": {
        "conditions": [
            condition("HubAcceptedManagedCluster", "HubClusterAdminAccepted", "Accepted by hub cluster admin"),
            condition("ManagedClusterJoined", "ManagedClusterJoined", "Managed cluster joined"),
            condition("ManagedClusterConditionAvailable", "ManagedClusterAvailable", "Managed cluster is available"),
        ],
        "capacity": quantities(48 + turn),
        "allocatable": quantities(40 + turn),
        "version": {"kubernetes": "v1.31.4"},
        "clusterClaims": [
            claim("id.k8s.io", &format!("{index:08x}-4e1b-4b5c-9d07-3f6a2b1c0d9e")),
            claim("kubeversion.open-cluster-management.io", "v1.31.4"),
            claim("platform.open-cluster-management.io", "AWS"),
            claim("product.open-cluster-management.io", "OpenShift"),
            claim("region.open-cluster-management.io", &format!("region-{}", index % 17)),
        ],
    }}))
}

/// A merge patch of one label, different for each `turn`.
pub(super) fn label(turn: usize) -> Bytes {
    text(&json!({"metadata": {"labels": {"turn": format!("t{turn}")}}}))
}

fn text(value: &Value) -> Bytes {
    value.to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_with_its_status_has_the_size_of_a_managed_cluster() {
        let size = object(7).len() + status(7, 1).len();
        assert!((2048..=4096).contains(&size), "{size}");
    }

    #[test]
    fn every_turn_changes_something() {
        assert_ne!(status(7, 1), status(7, 2));
        assert_ne!(label(1), label(2));
    }
}
