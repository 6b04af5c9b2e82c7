//! Decisions against the inventory they refer to.

use std::collections::{BTreeMap, BTreeSet};

use super::State;
use crate::{CheckId, Cluster, Decision, Report, finding::listed, labels};

/// C12: every reference matches a ClusterProfile. For states that hold the whole inventory, an empty one included.
pub fn profiles_exist(state: &State) -> Report {
    let mut report = Report::new();
    for decision in state.kep() {
        references_resolve(state, &decision, &mut report);
    }
    report
}

pub(super) fn references_resolve(state: &State, decision: &Decision<'_>, report: &mut Report) {
    let known = |cluster: &Cluster| {
        state
            .profiles
            .contains_key(&(cluster.namespace.clone(), cluster.name.clone()))
    };
    let unknown: Vec<Cluster> = decision
        .clusters()
        .into_iter()
        .filter(|cluster| !known(cluster))
        .collect();
    if !unknown.is_empty() {
        report.add(
            CheckId::C12,
            &decision.id,
            format!("no ClusterProfile for {}", listed(unknown)),
        );
    }
}

pub(super) fn members_once(state: &State, decision: &Decision<'_>, report: &mut Report) {
    let mut members: BTreeMap<&str, BTreeSet<Cluster>> = BTreeMap::new();
    for cluster in decision.clusters() {
        let profile = state
            .profiles
            .get(&(cluster.namespace.clone(), cluster.name.clone()));
        let member = profile
            .and_then(|profile| profile.metadata.labels.as_ref())
            .and_then(|labels| labels.get(labels::INVENTORY_MEMBER_ID));
        if let Some(member) = member {
            members.entry(member).or_default().insert(cluster);
        }
    }
    for (member, clusters) in members.into_iter().filter(|(_, clusters)| clusters.len() > 1) {
        let message = format!("{} are the same member {member:?}", listed(clusters));
        report.add(CheckId::C13Member, &decision.id, message);
    }
}
