//! Whether two objects mean the same. What a server adds by itself does not count, and nothing is the same as empty.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::multicluster;

/// Whether the parts of metadata that a writer controls are the same.
pub(super) fn same_metadata(left: &ObjectMeta, right: &ObjectMeta) -> bool {
    same_map(&left.labels, &right.labels)
        && same_map(&left.annotations, &right.annotations)
        && left
            .owner_references
            .iter()
            .flatten()
            .eq(right.owner_references.iter().flatten())
}

/// Whether two slices are the same to every reader.
pub(super) fn same_slice(
    left: &multicluster::PlacementDecision,
    right: &multicluster::PlacementDecision,
) -> bool {
    left.decisions == right.decisions
        && left.scheduler_name == right.scheduler_name
        && same_metadata(&left.metadata, &right.metadata)
}

fn same_map(left: &Option<BTreeMap<String, String>>, right: &Option<BTreeMap<String, String>>) -> bool {
    left.iter().flatten().eq(right.iter().flatten())
}
