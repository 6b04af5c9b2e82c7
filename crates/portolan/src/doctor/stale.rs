//! Decisions that no controller that runs would leave as they are.
//!
//! A decision that differs from a new evaluation is no evidence by itself: scores, and the decisions of other Placements,
//! make a difference only when a Placement is due. A cluster that no longer passes the filters, or a wrong number of
//! clusters, makes a Placement due at once.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use portolan_api::cluster::Placement;
use portolan_engine::placement::PlacementKey;
use portolan_engine::status::Code;

use super::concern::decided;
use super::names;
use super::subject::is_wrong;
use crate::input::Manifests;
use crate::simulate;
use crate::simulate::report::PlacementReport;
use crate::world::Inventory;

/// Objects of these kinds change decisions. A decision is kept while one of them cannot be read.
const READ: [&str; 5] = [
    "ManagedCluster",
    "ManagedClusterSet",
    "ManagedClusterSetBinding",
    "AddOnPlacementScore",
    "ClusterProfile",
];

/// Placements whose decisions do not fit the objects of the hub, and why.
pub(super) fn placements(
    manifests: &Manifests,
    inventory: Inventory,
    now: Timestamp,
) -> BTreeMap<PlacementKey, String> {
    if READ
        .iter()
        .any(|kind| manifests.unreadable(kind).next().is_some())
    {
        return BTreeMap::new();
    }
    let evaluated = simulate::check(manifests, inventory, now);
    let evaluated: BTreeMap<PlacementKey, PlacementReport> = evaluated
        .into_iter()
        .map(|report| (PlacementKey::new(&report.namespace, &report.name), report))
        .collect();
    let decided = decided(manifests);
    let nothing = BTreeSet::new();
    manifests
        .placements()
        .filter_map(|placement| {
            let key = PlacementKey::of(placement);
            let listed = decided.get(&key).unwrap_or(&nothing);
            if !is_settled(placement, listed.len()) {
                return None;
            }
            let why = misfit(listed, evaluated.get(&key)?)?;
            Some((key, why))
        })
        .collect()
}

/// Whether a controller has evaluated the Placement, and written what it decided. The rest is reported by other checks.
fn is_settled(placement: &Placement, listed: usize) -> bool {
    placement.status.as_ref().is_some_and(|status| {
        !status.conditions.is_empty()
            && usize::try_from(status.number_of_selected_clusters) == Ok(listed)
            // A condition may say that the last decision is kept.
            && !status.conditions.iter().any(|condition| condition.status == "True" && is_wrong(condition))
    })
}

fn misfit(listed: &BTreeSet<String>, report: &PlacementReport) -> Option<String> {
    if !matches!(report.status, Code::Success | Code::Warning) {
        return None;
    }
    let [_, passing] = &report.filters;
    let gone: Vec<&str> = listed
        .iter()
        .filter(|cluster| !passing.clusters.contains(cluster))
        .map(String::as_str)
        .collect();
    if !gone.is_empty() {
        let verb = if gone.len() == 1 { "passes" } else { "pass" };
        return Some(format!(
            "its decision lists {}, which no longer {verb} its filters",
            names(gone)
        ));
    }
    (report.selected.len() != listed.len()).then(|| {
        format!(
            "its decision lists {}, and {} would be selected now",
            portolan_api::count::counted(listed.len(), "cluster"),
            report.selected.len()
        )
    })
}
