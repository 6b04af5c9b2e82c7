//! `PlacementDecision` of `cluster.open-cluster-management.io/v1beta1`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::resource::plain_kind;

/// One slice of the OCM-shaped decision of a Placement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementDecision {
    /// Name, namespace, labels and owner of the slice.
    #[schemars(skip)]
    pub metadata: ObjectMeta,

    /// The clusters of the slice.
    #[serde(default)]
    pub status: Option<PlacementDecisionStatus>,
}

plain_kind!(PlacementDecision, NamespaceResourceScope, super::GROUP, "v1beta1", "placementdecisions", {
    status as "status" optional,
});

/// The clusters of one decision slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-required" = ["decisions"]))]
pub struct PlacementDecisionStatus {
    /// The selected clusters, in the order the placement asks for.
    #[serde(default)]
    pub decisions: Vec<ClusterDecision>,
}

/// One selected cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-required" = ["clusterName"]))]
pub struct ClusterDecision {
    /// Name of the ManagedCluster.
    pub cluster_name: String,

    /// Why the cluster was selected. May be empty.
    // Always written, never required: the seed's example leaves it out, and a default of "" is refused by
    // Kubernetes 1.20.
    #[serde(default)]
    pub reason: String,

    /// Weighted total of the cluster's scores. Absent means 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub score: i64,
}

/// Value of the annotation [`CONTENT`](crate::labels::portolan::CONTENT): a hash over the group's index, as labelled, and the sorted clusters.
///
/// Labels and status of a decision cannot change in one write. A reader that finds another hash than that of the
/// status it sees has caught the object between the two, and holds.
pub fn content_hash<'a>(group_index: &str, clusters: impl IntoIterator<Item = &'a str>) -> String {
    let mut clusters: Vec<_> = clusters.into_iter().collect();
    clusters.sort_unstable();
    let mut hash = Sha256::new();
    for part in std::iter::once(group_index).chain(clusters) {
        hash.update(part);
        // No name contains a zero byte, so no two lists run into each other.
        hash.update([0]);
    }
    hash.finalize()
        .iter()
        .take(10)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn is_zero(score: &i64) -> bool {
    *score == 0
}
