//! `ManagedCluster` of `cluster.open-cluster-management.io/v1`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TaintEffect;
use crate::resource::plain_kind;
use crate::schema;

/// A member cluster of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedCluster {
    /// Name, labels and annotations.
    #[schemars(skip)]
    pub metadata: ObjectMeta,

    /// What is wanted. May be missing in a manifest.
    #[serde(default)]
    pub spec: ManagedClusterSpec,

    /// What is observed.
    #[serde(default)]
    pub status: Option<ManagedClusterStatus>,
}

plain_kind!(ManagedCluster, ClusterResourceScope, super::GROUP, "v1", "managedclusters", {
    spec as "spec",
    status as "status" optional,
});

/// In how many seconds a Lease is to be renewed where the cluster does not say so.
const LEASE_SECONDS: u32 = 60;

impl ManagedCluster {
    /// In how many seconds the agent of the cluster is to renew its Lease. A number below one counts as none: no agent could
    /// renew a Lease in that time.
    pub fn lease_seconds(&self) -> u32 {
        let seconds = self.spec.lease_duration_seconds;
        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
        seconds.filter(|seconds| *seconds > 0).unwrap_or(LEASE_SECONDS)
    }

    /// An object with a name and a spec, and nothing else.
    pub fn new(name: &str, spec: ManagedClusterSpec) -> Self {
        Self {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            spec,
            status: None,
        }
    }
}

/// What the hub wants of a member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSpec {
    /// How to reach the API server of the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managed_cluster_client_configs: Vec<ClientConfig>,

    /// Whether the hub lets the agent of the cluster in.
    #[serde(default)]
    pub hub_accepts_client: bool,

    /// How often the agent renews its lease, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = 60))]
    pub lease_duration_seconds: Option<i32>,

    /// Marks that keep placements away unless they tolerate them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// How to reach an API server of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientConfig {
    /// Address of the API server.
    #[serde(default)]
    pub url: String,

    /// Certificates the server is checked against, PEM in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "byte"))]
    pub ca_bundle: Option<String>,
}

/// A mark that keeps placements away.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Key of the taint.
    #[schemars(
        regex(
            pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        ),
        length(max = 316)
    )]
    pub key: String,

    /// Value of the taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub value: Option<String>,

    /// What the taint does to placements that do not tolerate it.
    pub effect: TaintEffect,

    /// When the taint was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::nullable_time")]
    pub time_added: Option<Time>,
}

/// What is known about a member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterStatus {
    /// Whether the cluster was accepted, has joined and is available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// Total resources of the cluster by resource name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub capacity: BTreeMap<String, Quantity>,

    /// Resources of the cluster that workloads may use, by resource name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub allocatable: BTreeMap<String, Quantity>,

    /// Version of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<ManagedClusterVersion>,

    /// Facts the cluster states about itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_claims: Vec<ManagedClusterClaim>,

    /// Namespaces that cluster sets want on the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["clusterSet", "name"]))]
    pub managed_namespaces: Vec<ClusterSetManagedNamespaceConfig>,
}

/// Version of a member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterVersion {
    /// Version of Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
}

/// A fact a cluster states about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterClaim {
    /// Name of the claim.
    #[serde(default)]
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Value of the claim.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1024))]
    pub value: String,
}

/// A namespace that a cluster set wants on its clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedNamespaceConfig {
    /// Name of the namespace.
    #[schemars(length(max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
}

/// A namespace on a cluster, and the cluster set that asked for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSetManagedNamespaceConfig {
    /// Name of the namespace.
    #[schemars(length(max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,

    /// Name of the cluster set.
    pub cluster_set: String,

    /// Whether the namespace is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_duration_below_one_second_counts_as_none() {
        for (given, expected) in [
            (None, 60),
            (Some(0), 60),
            (Some(-5), 60),
            (Some(1), 1),
            (Some(15), 15),
        ] {
            let spec = ManagedClusterSpec {
                lease_duration_seconds: given,
                ..ManagedClusterSpec::default()
            };
            assert_eq!(
                ManagedCluster::new("east", spec).lease_seconds(),
                expected,
                "{given:?}"
            );
        }
    }
}
