//! Decision groups, cut anew or kept.

use std::collections::BTreeMap;

use portolan_api::cluster::{
    GroupAssignment, GroupStrategy, ManagedCluster, PlacementDecision, PlacementSpec, SortBy,
};
use portolan_api::decision;

use crate::{claim, entries, label, name};
use portolan_engine::group::GroupSize;
use portolan_engine::mistakes;
use portolan_engine::selector::Selector;
use portolan_engine::status::Status;

pub(super) struct Grouping {
    named: Vec<(String, Selector, Selector)>,
    size: Option<GroupSize>,
}

fn strategy(spec: &PlacementSpec) -> Option<&GroupStrategy> {
    spec.decision_strategy.as_ref()?.group_strategy.as_ref()
}

pub(super) fn grouping(spec: &PlacementSpec) -> Result<Grouping, Status> {
    let Some(strategy) = strategy(spec) else {
        return Ok(Grouping {
            named: Vec::new(),
            size: None,
        });
    };
    let size = strategy
        .clusters_per_decision_group
        .as_ref()
        .map(GroupSize::parse)
        .transpose()
        .map_err(|mistake| mistake.status())?;
    let mut named = Vec::new();
    for (index, group) in strategy.decision_groups.iter().enumerate() {
        let path =
            format!("spec.decisionStrategy.groupStrategy.decisionGroups[{index}].groupClusterSelector");
        let wrong = |error| mistakes::group_selector(error).status();
        let selector = &group.group_cluster_selector;
        let labels =
            Selector::from_labels(selector.label_selector.as_ref(), &format!("{path}.labelSelector"));
        let claims =
            Selector::from_claims(selector.claim_selector.as_ref(), &format!("{path}.claimSelector"));
        named.push((
            group.group_name.clone(),
            labels.map_err(wrong)?,
            claims.map_err(wrong)?,
        ));
    }
    Ok(Grouping { named, size })
}

/// Named groups first, each taking what is left and matches; then the rest. At least one group, which may be empty.
pub(super) fn divide(
    chosen: &[&ManagedCluster],
    grouping: &Grouping,
    spec: &PlacementSpec,
    own: &[PlacementDecision],
    totals: &BTreeMap<String, i64>,
) -> Vec<(String, Vec<String>)> {
    let mut rest = chosen.to_vec();
    let mut parts: Vec<(&str, Vec<&ManagedCluster>)> = Vec::new();
    for (group, labels, claims) in &grouping.named {
        let (members, others) = rest.into_iter().partition(|cluster| {
            labels.matches(|key| label(cluster, key)) && claims.matches(|key| claim(cluster, key))
        });
        parts.push((group, members));
        rest = others;
    }
    parts.push(("", rest));

    let by_score = spec.sort_by == Some(SortBy::Score);
    let order = |names: &mut Vec<String>| {
        names.sort_by_key(|name| (if by_score { -totals[name] } else { 0 }, name.clone()));
    };
    let size = grouping
        .size
        .map_or(chosen.len(), |size| size.of(chosen.len()))
        .max(1);
    let sticky = strategy(spec).is_some_and(|strategy| strategy.assignment == Some(GroupAssignment::Sticky))
        && spec.prioritizer_policy.is_none();
    let mut groups = Vec::new();
    for (group, members) in parts {
        let mut names: Vec<String> = members.iter().map(|cluster| name(cluster).to_owned()).collect();
        order(&mut names);
        let cut = if sticky {
            keep(names, group, size, own)
        } else {
            names.chunks(size).map(<[String]>::to_vec).collect()
        };
        for mut clusters in cut {
            order(&mut clusters);
            groups.push((group.to_owned(), clusters));
        }
    }
    if groups.is_empty() {
        groups.push((String::new(), Vec::new()));
    }
    groups
}

/// Clusters stay in their old group of the same name. The highest names leave a group that is too large; they, highest
/// first, and then the new ones by name fill the last group, then holes in earlier ones, then new groups.
fn keep(mut names: Vec<String>, group: &str, size: usize, own: &[PlacementDecision]) -> Vec<Vec<String>> {
    names.sort_unstable();
    let old = old_groups(own);
    let mut kept: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut homeless = Vec::new();
    for name in names {
        match old.get(name.as_str()) {
            Some((index, old_name)) if *old_name == group => kept.entry(*index).or_default().push(name),
            _ => homeless.push(name),
        }
    }
    let mut groups: Vec<Vec<String>> = kept.into_values().collect();
    let mut leaving = Vec::new();
    for group in &mut groups {
        while group.len() > size {
            leaving.extend(group.pop());
        }
    }
    leaving.sort_unstable_by(|a, b| b.cmp(a));
    homeless.sort_unstable();
    for name in leaving.into_iter().chain(homeless) {
        if let Some(last) = groups.last_mut().filter(|last| last.len() < size) {
            last.push(name);
        } else if let Some(hole) = groups.iter_mut().find(|group| group.len() < size) {
            hole.push(name);
        } else {
            groups.push(vec![name]);
        }
    }
    groups
}

/// Index and name of the group that each cluster was in; the lowest when it was in several. A cluster whose group cannot
/// be read was in none.
fn old_groups(own: &[PlacementDecision]) -> BTreeMap<&str, (u32, String)> {
    let known = own.iter().filter_map(|object| {
        let group = decision::group(&object.metadata).ok()?;
        Some((object, group.unwrap_or_default()))
    });
    let known: Vec<_> = known.collect();
    let named = known.iter().filter(|(_, group)| !group.name.is_empty());
    let names: BTreeMap<u32, &str> = named
        .map(|(_, group)| (group.index, group.name.as_str()))
        .collect();
    let mut groups: BTreeMap<&str, (u32, String)> = BTreeMap::new();
    for (object, key) in &known {
        let name = names.get(&key.index).copied().unwrap_or_default();
        let group = (key.index, name.to_owned());
        for cluster in entries(object) {
            let known = groups.entry(cluster).or_insert_with(|| group.clone());
            *known = group.clone().min(known.clone());
        }
    }
    groups
}
