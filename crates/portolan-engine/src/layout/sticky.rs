//! Which cluster goes into which slice.
//!
//! Pure assignment: no labels, no revisions. Ordered decisions are cut by rank. Unordered ones keep every
//! cluster where it is, so that one cluster joining or leaving changes one slice.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use hashbrown::HashMap;
use portolan_api::multicluster::MAX_DECISIONS;

use super::{
    identity::parse_number,
    observed::{ObservedSlices, Slice},
    ocm::group_labels,
};
use crate::model::{Chosen, Group};

/// The content of one slice. Its index is its position in the list that holds it.
#[derive(Debug, PartialEq)]
pub(super) struct Slot<'a> {
    pub(super) group: usize,
    /// By name, or by rank when ordered.
    pub(super) clusters: Vec<&'a Chosen>,
}

/// Group first, then rank.
pub(super) fn ordered(groups: &[Group]) -> Vec<Slot<'_>> {
    let mut slots = Vec::new();
    for (group, members) in groups.iter().enumerate() {
        let mut by_rank: Vec<&Chosen> = members.clusters.iter().collect();
        // Already by score and name: only PreferNoSelect is left to be heard.
        by_rank.sort_by_key(|cluster| cluster.avoided);
        slots.extend(by_rank.chunks(MAX_DECISIONS).map(|clusters| Slot {
            group,
            clusters: clusters.to_vec(),
        }));
    }
    or_one_empty(slots)
}

/// Clusters stay in the slice they are in; holes fill lowest index first, in name order.
///
/// A slice continues the group to which most of its clusters belong now. Between equals the group of the same
/// name wins, then that of the same index, then the first. Groups move up and down as others appear and vanish
/// before them, and this way a slice follows its clusters. A slice none of whose clusters is left continues the
/// group of the same name and index, if there is one.
pub(super) fn sticky<'a>(groups: &'a [Group], prior: &ObservedSlices<'_>) -> Vec<Slot<'a>> {
    let home = home(groups);
    let mut kept: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
    for (index, slice) in &prior.slices {
        if let Some(group) = heir(slice, groups, &home) {
            kept[group].push(*index);
        }
    }
    let mut settled = BTreeMap::new();
    let mut fresh = Vec::new();
    for (group, members) in groups.iter().enumerate() {
        // A group that needs fewer slices gives up its last ones; what they held fills holes below.
        kept[group].truncate(members.clusters.len().div_ceil(MAX_DECISIONS));
        let (stay, more) = settle(group, members, &kept[group], prior, &home);
        settled.extend(stay);
        fresh.extend(more);
    }
    or_one_empty(close_ranks(settled, fresh))
}

/// The clusters of one group, in the slices they keep and in new ones.
fn settle<'a>(
    group: usize,
    members: &'a Group,
    kept: &[usize],
    prior: &ObservedSlices<'_>,
    home: &HashMap<&str, Home>,
) -> (BTreeMap<usize, Slot<'a>>, Vec<Slot<'a>>) {
    let mut placed = vec![false; members.clusters.len()];
    let mut slots = BTreeMap::new();
    for index in kept {
        // Lowest index first: that one wins for a cluster that a crash left in two slices.
        let stays = prior.slices[index]
            .clusters
            .iter()
            .filter_map(|name| home.get(name).filter(|home| home.group == group));
        let clusters: Vec<_> = stays
            .filter(|home| !std::mem::replace(&mut placed[home.position], true))
            .map(|home| &members.clusters[home.position])
            .take(MAX_DECISIONS)
            .collect();
        slots.insert(*index, Slot { group, clusters });
    }
    let arriving = members.clusters.iter().zip(placed).filter(|(_, placed)| !placed);
    let mut arriving: Vec<_> = arriving.map(|(cluster, _)| cluster).collect();
    arriving.sort_by(|left, right| left.name.cmp(&right.name));
    let mut arriving = arriving.into_iter();
    for slot in slots.values_mut() {
        let room = MAX_DECISIONS - slot.clusters.len();
        slot.clusters.extend(arriving.by_ref().take(room));
        slot.clusters.sort_by(|left, right| left.name.cmp(&right.name));
    }
    let rest: Vec<_> = arriving.collect();
    let fresh = rest
        .chunks(MAX_DECISIONS)
        .map(|clusters| Slot {
            group,
            clusters: clusters.to_vec(),
        })
        .collect();
    (slots, fresh)
}

/// Makes indexes contiguous: a free index takes the content of the highest slice that is out of range, then
/// new slices take what is left.
fn close_ranks<'a>(mut settled: BTreeMap<usize, Slot<'a>>, fresh: Vec<Slot<'a>>) -> Vec<Slot<'a>> {
    let count = settled.len() + fresh.len();
    let free: BTreeSet<usize> = (0..count).filter(|index| !settled.contains_key(index)).collect();
    let above = settled.split_off(&count).into_values().rev();
    settled.extend(free.into_iter().zip(above.chain(fresh)));
    settled.into_values().collect()
}

/// The group that a cluster belongs to, and its position in it.
struct Home {
    group: usize,
    position: usize,
}

fn home(groups: &[Group]) -> HashMap<&str, Home> {
    let mut homes = HashMap::with_capacity(groups.iter().map(|group| group.clusters.len()).sum());
    for (group, members) in groups.iter().enumerate() {
        for (position, cluster) in members.clusters.iter().enumerate() {
            homes.insert(&*cluster.name, Home { group, position });
        }
    }
    homes
}

fn heir(slice: &Slice<'_>, groups: &[Group], home: &HashMap<&str, Home>) -> Option<usize> {
    // A decision without groups has one, unnamed, at 0.
    let (index, name) = group_labels(&slice.object.metadata);
    let index = parse_number(index).unwrap_or(0);
    let same_name = |group: usize| groups[group].name == name;
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    let homes = slice.clusters.iter().filter_map(|cluster| home.get(cluster));
    for group in homes.map(|home| home.group) {
        *votes.entry(group).or_default() += 1;
    }
    let most = votes
        .into_iter()
        .max_by_key(|(group, votes)| (*votes, same_name(*group), *group == index, Reverse(*group)));
    let unchanged = (index < groups.len() && same_name(index)).then_some(index);
    most.map(|(group, _)| group).or(unchanged)
}

/// An empty decision is one empty slice, so that a reader can tell it from no decision.
fn or_one_empty(mut slots: Vec<Slot<'_>>) -> Vec<Slot<'_>> {
    if slots.is_empty() {
        slots.push(Slot {
            group: 0,
            clusters: Vec::new(),
        });
    }
    slots
}
