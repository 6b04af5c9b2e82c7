//! How clusters are spread over the slices of a KEP decision.

use std::collections::{BTreeMap, BTreeSet};

use portolan_api::multicluster;

use super::State;
use crate::{CheckId, Cluster, Decision, DecisionId, Report, Slice, finding::listed};

/// Entries of a full slice.
pub(super) const FULL: usize = 100;

/// C38: nothing is left of a decision that is no longer required.
pub fn deleted(state: &State, id: &DecisionId) -> Report {
    let mut report = Report::new();
    if let Some(decision) = state.decision(id) {
        let names = listed(decision.slices.iter().map(Slice::name));
        report.add(
            CheckId::C38,
            id,
            format!("no longer required, but left behind: {names}"),
        );
    }
    report
}

/// C27: a decision that was made is published, also when it is for no cluster.
pub fn published(state: &State, id: &DecisionId) -> Report {
    let mut report = Report::new();
    match state.decision(id) {
        Some(decision) => zero_is_one_empty_slice(&decision, &mut report),
        None => report.add(
            CheckId::C27,
            id,
            "decided, but no slice exists: readers cannot tell it from silence",
        ),
    }
    report
}

/// C32: the slices, read by index, give the order that was decided.
pub fn order_reads_back(state: &State, id: &DecisionId, decided: &[Cluster]) -> Report {
    let mut report = Report::new();
    let decision = state.decision(id);
    let read = decision.as_ref().map(Decision::in_order).unwrap_or_default();
    let differs =
        (0..read.len().max(decided.len())).find(|&place| read.get(place).copied() != decided.get(place));
    if let Some(place) = differs {
        let named = |cluster: Option<&Cluster>| cluster.map_or("nothing".to_owned(), Cluster::to_string);
        let (got, want) = (named(read.get(place).copied()), named(decided.get(place)));
        report.add(
            CheckId::C32,
            id,
            format!("position {place} reads {got}, decided was {want}"),
        );
    }
    report
}

/// Rule 4.
pub(super) fn at_most_100(decision: &Decision<'_>, report: &mut Report) {
    for slice in decision.slices.iter().filter(|slice| slice.entries > FULL) {
        report.add(
            CheckId::Rule4,
            &slice.key,
            format!("{} entries, at most {FULL} are allowed", slice.entries),
        );
    }
}

/// C5.
pub(super) fn entries_name_one_cluster(
    slice: &Slice<'_>,
    object: &multicluster::PlacementDecision,
    report: &mut Report,
) {
    for (place, entry) in object.decisions.iter().enumerate() {
        let problem = match (&entry.cluster_profile_ref, &entry.cluster_name) {
            (Some(_), Some(_)) => "has both clusterProfileRef and clusterName",
            (None, None) => "has neither clusterProfileRef nor clusterName",
            (Some(profile), None) if profile.name.is_empty() => "has an empty clusterProfileRef.name",
            (None, Some(name)) if name.is_empty() => "has an empty clusterName",
            _ => continue,
        };
        report.add(CheckId::C5, &slice.key, format!("entry {place} {problem}"));
    }
}

/// C13, C26 and C27.
pub(super) fn at_rest(decision: &Decision<'_>, report: &mut Report) {
    no_cluster_twice(decision, CheckId::C13, report);
    slices_as_needed(decision, report);
    zero_is_one_empty_slice(decision, report);
}

/// C13 for the KEP kind and its counterpart for OCM.
pub(super) fn no_cluster_twice(decision: &Decision<'_>, check: CheckId, report: &mut Report) {
    let mut places: BTreeMap<&Cluster, Vec<&str>> = BTreeMap::new();
    for slice in &decision.slices {
        for cluster in &slice.clusters {
            places.entry(cluster).or_default().push(slice.name());
        }
    }
    places.retain(|_, slices| slices.len() > 1);
    if !places.is_empty() {
        let evidence = listed(
            places
                .iter()
                .map(|(cluster, slices)| format!("{cluster} in {}", slices.join(" and "))),
        );
        report.add(check, &decision.id, format!("listed more than once: {evidence}"));
    }
}

fn slices_as_needed(decision: &Decision<'_>, report: &mut Report) {
    if decision.clusters().is_empty() {
        return;
    }
    let mut groups: BTreeMap<Option<&str>, (usize, BTreeSet<&Cluster>)> = BTreeMap::new();
    for slice in &decision.slices {
        let (slices, clusters) = groups.entry(slice.group()).or_default();
        *slices += 1;
        clusters.extend(&slice.clusters);
    }
    for (group, (slices, clusters)) in groups {
        let needed = clusters.len().div_ceil(FULL);
        if slices > needed {
            let group = group.map(|group| format!("group {group}: ")).unwrap_or_default();
            let message = format!(
                "{group}{} clusters in {slices} slices, {needed} are needed",
                clusters.len()
            );
            report.add(CheckId::C26, &decision.id, message);
        }
    }
}

fn zero_is_one_empty_slice(decision: &Decision<'_>, report: &mut Report) {
    let empty = decision.slices.iter().all(|slice| slice.entries == 0);
    if empty && decision.slices.len() > 1 {
        let names = listed(decision.slices.iter().map(Slice::name));
        report.add(
            CheckId::C27,
            &decision.id,
            format!("{} empty slices instead of one: {names}", decision.slices.len()),
        );
    }
}
