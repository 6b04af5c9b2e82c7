//! The decisions of a hub, as what a change starts from.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::PlacementDecision;
use portolan_engine::placement::{PlacementKey, owns_decision, owns_slice};

use super::report::{PlacementReport, Report};
use crate::world::World;

/// Puts the decision of the hub in place of a fresh one, for placements that the change makes due. A controller does not look at
/// the others, and their decisions stay whatever a fresh evaluation would choose: the decisions of other placements may have
/// changed their scores since.
pub(super) fn start_from_stored(before: &mut Report, after: &Report, [old, new]: &[World; 2]) {
    let answers: BTreeMap<(&str, &str), &PlacementReport> = after
        .placements
        .iter()
        .map(|answer| ((answer.namespace.as_str(), answer.name.as_str()), answer))
        .collect();
    for fresh in &mut before.placements {
        let key = PlacementKey::new(&fresh.namespace, &fresh.name);
        let answer = answers.get(&(fresh.namespace.as_str(), fresh.name.as_str()));
        let is_edited = old.engine.placement(&key) != new.engine.placement(&key);
        let is_same = |answer: &&PlacementReport| {
            clusters(&answer.placement_decisions) == clusters(&fresh.placement_decisions)
        };
        if !is_edited && answer.is_some_and(is_same) {
            continue;
        }
        let mut stored = old.stored(&key);
        stored.decisions.retain(|decision| owns_decision(&key, decision));
        stored.slices.retain(|slice| owns_slice(&key, slice));
        // The same clusters: nothing of the objects is compared that only a server knows.
        if stored.decisions.is_empty() || clusters(&stored.decisions) == clusters(&fresh.placement_decisions)
        {
            continue;
        }
        stored
            .decisions
            .iter_mut()
            .for_each(|decision| forget_server(&mut decision.metadata));
        stored
            .slices
            .iter_mut()
            .for_each(|slice| forget_server(&mut slice.metadata));
        fresh.placement_decisions = stored.decisions;
        fresh.slices = stored.slices;
    }
}

fn clusters(decisions: &[PlacementDecision]) -> BTreeSet<&str> {
    let entries = decisions
        .iter()
        .flat_map(|decision| decision.status.iter().flat_map(|status| &status.decisions));
    entries.map(|entry| entry.cluster_name.as_str()).collect()
}

/// Takes away what a server adds and nobody writes.
fn forget_server(metadata: &mut ObjectMeta) {
    metadata.creation_timestamp = None;
    metadata.generation = None;
    metadata.managed_fields = None;
    metadata.resource_version = None;
    metadata.uid = None;
}
