//! What `kubectl get` prints.

use serde_json::{Value, json};

/// One printer column.
pub(super) struct Column {
    name: &'static str,
    r#type: &'static str,
    json_path: &'static str,
}

impl Column {
    pub(super) fn to_value(&self) -> Value {
        json!({ "name": self.name, "type": self.r#type, "jsonPath": self.json_path })
    }
}

const fn column(name: &'static str, r#type: &'static str, json_path: &'static str) -> Column {
    Column {
        name,
        r#type,
        json_path,
    }
}

const AGE: Column = column("Age", "date", ".metadata.creationTimestamp");

pub(super) const PLACEMENT: &[Column] = &[
    column(
        "Succeeded",
        "string",
        r#".status.conditions[?(@.type=="PlacementSatisfied")].status"#,
    ),
    column(
        "Reason",
        "string",
        r#".status.conditions[?(@.type=="PlacementSatisfied")].reason"#,
    ),
    column("SelectedClusters", "integer", ".status.numberOfSelectedClusters"),
];

pub(super) const MANAGED_CLUSTER: &[Column] = &[
    column("Hub Accepted", "boolean", ".spec.hubAcceptsClient"),
    column(
        "Managed Cluster URLs",
        "string",
        ".spec.managedClusterClientConfigs[*].url",
    ),
    column(
        "Joined",
        "string",
        r#".status.conditions[?(@.type=="ManagedClusterJoined")].status"#,
    ),
    column(
        "Available",
        "string",
        r#".status.conditions[?(@.type=="ManagedClusterConditionAvailable")].status"#,
    ),
    AGE,
];

pub(super) const MANAGED_CLUSTER_SET: &[Column] = &[
    column(
        "Empty",
        "string",
        r#".status.conditions[?(@.type=="ClusterSetEmpty")].status"#,
    ),
    AGE,
];

pub(super) const DECISION_SLICE: &[Column] = &[column("Scheduler", "string", ".schedulerName"), AGE];

pub(super) const CLUSTER_PROFILE: &[Column] = &[
    column("Display Name", "string", ".spec.displayName"),
    column("Manager", "string", ".spec.clusterManager.name"),
    column("Version", "string", ".status.version.kubernetes"),
    column(
        "Healthy",
        "string",
        r#".status.conditions[?(@.type=="ControlPlaneHealthy")].status"#,
    ),
    AGE,
];

pub(super) const MANIFEST_WORK_REPLICA_SET: &[Column] = &[
    column(
        "Placement",
        "string",
        r#".status.conditions[?(@.type=="PlacementVerified")].reason"#,
    ),
    column(
        "Found",
        "string",
        r#".status.conditions[?(@.type=="PlacementVerified")].status"#,
    ),
    column(
        "ManifestWorks",
        "string",
        r#".status.conditions[?(@.type=="ManifestworkApplied")].reason"#,
    ),
    column(
        "Applied",
        "string",
        r#".status.conditions[?(@.type=="ManifestworkApplied")].status"#,
    ),
    // Not a column of OCM's definition: without it, nothing tells a rollout that stands still from one that goes on.
    column(
        "Rollout",
        "string",
        r#".status.conditions[?(@.type=="PlacementRolledOut")].reason"#,
    ),
];
