//! OCM decision objects at rest, and what the Placement's status says about them.

use std::collections::{BTreeMap, BTreeSet};

use super::{State, layout};
use crate::{
    CheckId, Cluster, Decision, Report, Slice,
    decision::{decimal, number_at_end},
    finding::listed,
    labels,
};

pub(super) fn at_rest(state: &State, decision: &Decision<'_>, report: &mut Report) {
    names(decision, report);
    for object in decision
        .slices
        .iter()
        .filter(|object| object.entries > layout::FULL)
    {
        let message = format!(
            "{} entries at rest, at most {} are allowed",
            object.entries,
            layout::FULL
        );
        report.add(CheckId::OcmLimit, &object.key, message);
    }
    layout::no_cluster_twice(decision, CheckId::OcmUnique, report);
    groups(decision, report);
    content(decision, report);
    status_groups(state, decision, report);
    status_count(state, decision, report);
}

fn names(decision: &Decision<'_>, report: &mut Report) {
    let base = format!("{}-decision", decision.id.key);
    let numbers: BTreeSet<Option<u64>> = decision
        .slices
        .iter()
        .map(|object| {
            number_at_end(object.name())
                .filter(|(found, _)| *found == base)
                .map(|(_, number)| number)
        })
        .collect();
    if !(1..).zip(&numbers).all(|(place, number)| *number == Some(place)) {
        let found = listed(decision.slices.iter().map(Slice::name));
        let message = format!("not {base}-1 to {base}-{}: {found}", decision.slices.len());
        report.add(CheckId::OcmNames, &decision.id, message);
    }
}

fn groups(decision: &Decision<'_>, report: &mut Report) {
    let mut previous: Option<(u64, &str)> = None;
    for object in &decision.slices {
        let Some(index) = object.group().and_then(decimal) else {
            let value = object.group().unwrap_or("missing");
            report.add(
                CheckId::OcmGroups,
                &object.key,
                format!("group index is {value}, not a plain decimal"),
            );
            return;
        };
        let Some(name) = object.label(labels::OCM_GROUP_NAME) else {
            report.add(CheckId::OcmGroups, &object.key, "the group name label is missing");
            return;
        };
        let fits = match previous {
            None => index == 0,
            Some((last, last_name)) => index == last + 1 || (index == last && name == last_name),
        };
        if !fits {
            let after = previous.map_or("nothing".to_owned(), |(last, name)| {
                format!("group {last} {name:?}")
            });
            report.add(
                CheckId::OcmGroups,
                &object.key,
                format!("group {index} {name:?} cannot follow {after}"),
            );
            return;
        }
        previous = Some((index, name));
    }
}

fn content(decision: &Decision<'_>, report: &mut Report) {
    let bare = decision
        .slices
        .iter()
        .filter(|object| object.content_hash().is_none());
    let bare: Vec<&str> = bare.map(Slice::name).collect();
    if !bare.is_empty() {
        if bare.len() < decision.slices.len() {
            let message = format!("{} is on some objects, not on {}", labels::CONTENT, listed(bare));
            report.add(CheckId::OcmContent, &decision.id, message);
        }
        return;
    }
    let mut hashes: BTreeMap<Option<&str>, (BTreeSet<&Cluster>, &Slice<'_>)> = BTreeMap::new();
    for object in &decision.slices {
        let clusters: BTreeSet<&Cluster> = object.clusters.iter().collect();
        let hash = object.content_hash();
        let Some((others, other)) = hashes.get(&hash) else {
            hashes.insert(hash, (clusters, object));
            continue;
        };
        if *others != clusters || other.group() != object.group() {
            let hash = hash.unwrap_or_default();
            let message = format!(
                "{} and {} differ but both carry hash {hash}",
                other.name(),
                object.name()
            );
            report.add(CheckId::OcmContent, &decision.id, message);
        }
    }
}

/// `status.decisionGroups` against the objects.
pub(super) fn status_groups(state: &State, decision: &Decision<'_>, report: &mut Report) {
    let Some(status) = state
        .placement_of(&decision.id)
        .and_then(|placement| placement.status.as_ref())
    else {
        return;
    };
    let mut found: BTreeMap<u64, (String, Vec<String>, usize)> = BTreeMap::new();
    for object in &decision.slices {
        let Some(index) = object.group().and_then(decimal) else {
            return;
        };
        let (name, objects, count) = found.entry(index).or_default();
        *name = object
            .label(labels::OCM_GROUP_NAME)
            .unwrap_or_default()
            .to_owned();
        objects.push(object.name().to_owned());
        *count += object.clusters.len();
    }
    let found: Vec<String> = found
        .into_iter()
        .map(|(index, (name, objects, count))| told(index, &name, &objects, count))
        .collect();
    let told: Vec<String> = status
        .decision_groups
        .iter()
        .map(|group| {
            told(
                group.decision_group_index,
                &group.decision_group_name,
                &group.decisions,
                group.cluster_count,
            )
        })
        .collect();
    if let Some(place) = (0..found.len().max(told.len())).find(|&place| found.get(place) != told.get(place)) {
        let text = |groups: &[String]| {
            groups
                .get(place)
                .cloned()
                .unwrap_or_else(|| "no such group".to_owned())
        };
        let message = format!("status tells {}, the objects say {}", text(&told), text(&found));
        report.add(CheckId::OcmStatus, &decision.id, message);
    }
}

fn status_count(state: &State, decision: &Decision<'_>, report: &mut Report) {
    let Some(status) = state
        .placement_of(&decision.id)
        .and_then(|placement| placement.status.as_ref())
    else {
        return;
    };
    let (told, found) = (status.number_of_selected_clusters, decision.clusters().len());
    if usize::try_from(told) != Ok(found) {
        let message = format!("numberOfSelectedClusters is {told}, the objects list {found} clusters");
        report.add(CheckId::OcmCount, &decision.id, message);
    }
}

fn told(
    index: impl std::fmt::Display,
    name: &str,
    objects: &[String],
    count: impl std::fmt::Display,
) -> String {
    format!(
        "group {index} {name:?} of {count} clusters in {}",
        objects.join(", ")
    )
}
