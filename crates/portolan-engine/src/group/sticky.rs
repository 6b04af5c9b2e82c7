//! Sticky assignment: a cluster keeps the group it is in; new ones fill the last group first, then holes in earlier
//! ones, then new groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cluster_group::ClusterGroup;
use crate::fleet::{ClusterId, Clusters, Fleet};
use crate::last_decision::LastDecision;

/// Cuts each part (a named group's clusters, or the rest) on its own: clusters never cross from one to another
/// unless their labels say so.
pub(crate) fn cut(
    fleet: &Fleet,
    parts: &[(Arc<str>, Clusters)],
    size: usize,
    prior: &LastDecision,
    groups: &mut Vec<ClusterGroup>,
) {
    for (name, members) in parts {
        // Only groups of the same name count: a cluster that left its named group arrives in the rest.
        let group_of: BTreeMap<ClusterId, u32> = prior
            .grouped()
            .filter(|(_, group)| prior.group_name(*group) == &**name)
            .collect();
        for clusters in cut_part(fleet, members, size.max(1), &group_of) {
            groups.push(ClusterGroup {
                name: name.clone(),
                clusters,
            });
        }
    }
}

fn cut_part(
    fleet: &Fleet,
    members: &Clusters,
    size: usize,
    group_of: &BTreeMap<ClusterId, u32>,
) -> Vec<Vec<ClusterId>> {
    let mut kept: BTreeMap<u32, Vec<ClusterId>> = BTreeMap::new();
    let mut arriving = Vec::new();
    for cluster in fleet.sorted(members) {
        match group_of.get(&cluster) {
            Some(group) => kept.entry(*group).or_default().push(cluster),
            None => arriving.push(cluster),
        }
    }
    let mut groups: Vec<Vec<ClusterId>> = kept.into_values().collect();
    // When the size shrank, the overflow leaves highest name first; it is placed like new clusters and before them.
    let mut leaving = Vec::new();
    for group in &mut groups {
        if group.len() > size {
            leaving.extend(group.split_off(size));
        }
    }
    leaving.sort_unstable_by_key(|cluster| std::cmp::Reverse(fleet.rank(*cluster)));
    for cluster in leaving.into_iter().chain(arriving) {
        let last = groups
            .len()
            .checked_sub(1)
            .filter(|last| groups[*last].len() < size);
        let place = last.or_else(|| groups.iter().position(|group| group.len() < size));
        match place {
            Some(place) => groups[place].push(cluster),
            None => groups.push(vec![cluster]),
        }
    }
    groups
}
