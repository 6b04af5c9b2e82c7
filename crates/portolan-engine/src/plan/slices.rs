//! The phases for KEP slices.
//!
//! When a cluster changes slices, a grow phase comes first: every slice keeps what stays and takes what arrives as far
//! as it has room, and what finds no room goes to extra slices. Then every slice gets its final content, and what is no
//! longer needed is deleted. Growing and finishing have a revision each. Slices behind the final ones are only written
//! where extra slices need their names; until they are deleted they keep what they hold.

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
};

use hashbrown::{HashMap, HashSet};
use portolan_api::{
    labels::multicluster as labels,
    multicluster::{ClusterDecision, MAX_DECISIONS, PlacementDecision},
};

use super::{compare::same_slice, differs, write::Write};
use crate::{
    layout::{
        Identity, ObservedSlices, cluster_name, group_labels, label, needs_to_grow, parse_number, places,
        sibling, stamp,
    },
    sabotage::{Rule, sabotaged},
};

/// Phases that lead from `observed` to `last`, the final slices.
pub(super) fn phases(observed: &[PlacementDecision], last: &[PlacementDecision]) -> Vec<Vec<Write>> {
    let Some(identity) = last
        .first()
        .and_then(|slice| Identity::of_object(&slice.metadata))
    else {
        // No final slice means that nothing was decided: an empty decision has one, empty, slice.
        return Vec::new();
    };
    // Layout has judged owners. What it took for ours is ours, even if uids are known here and were not there.
    let Ok(prior) = ObservedSlices::read(
        &Identity {
            uid: String::new(),
            ..identity.clone()
        },
        observed,
    ) else {
        return Vec::new();
    };
    let Some(last) = by_index(&identity, last) else {
        return Vec::new();
    };
    let last = last.as_ref();
    let grown = if sabotaged(Rule::NoGap) || !needs_to_grow(&prior, last) {
        Vec::new()
    } else {
        Grow::new(&identity, &prior, last).slices()
    };
    let grow = grown
        .iter()
        .enumerate()
        .map(|(index, slice)| write(prior.slices.contains_key(&index), slice));
    let grow = grow.collect();

    let finish = last.iter().enumerate().filter_map(|(index, slice)| {
        let before = grown
            .get(index)
            .or(prior.slices.get(&index).map(|slice| slice.object));
        differs(before.is_none_or(|before| !same_slice(before, slice)))
            .then(|| write(before.is_some(), slice))
    });
    let finish = finish.collect();

    let behind = prior
        .all()
        .filter(|(index, _)| *index >= last.len())
        .map(|(_, slice)| slice.object);
    let extra = grown
        .iter()
        .enumerate()
        .skip(last.len())
        .filter(|(index, _)| !prior.slices.contains_key(index));
    let obsolete = behind.chain(extra.map(|(_, slice)| slice));
    let deletes = obsolete
        .map(|slice| Write::delete_slice(&slice.metadata))
        .collect();

    if sabotaged(Rule::NoGap) {
        vec![deletes, finish]
    } else {
        vec![grow, finish, deletes]
    }
}

/// The slices in the order of their indexes. A set that is kept on doubt may have holes; nothing is done about it then.
fn by_index<'a>(
    identity: &Identity,
    slices: &'a [PlacementDecision],
) -> Option<Cow<'a, [PlacementDecision]>> {
    let index = |slice: &PlacementDecision| {
        let label = label(&slice.metadata, labels::DECISION_INDEX).and_then(parse_number);
        identity.number_of(slice.metadata.name.as_deref().unwrap_or_default(), label)
    };
    let in_place = |slices: &[PlacementDecision]| {
        slices
            .iter()
            .enumerate()
            .all(|(place, slice)| index(slice) == Some(place))
    };
    if in_place(slices) {
        return Some(Cow::Borrowed(slices));
    }
    let mut sorted = slices.to_vec();
    sorted.sort_by_key(index);
    in_place(&sorted).then_some(Cow::Owned(sorted))
}

fn write(exists: bool, slice: &PlacementDecision) -> Write {
    let slice = Box::new(slice.clone());
    if exists {
        Write::ReplaceSlice(slice)
    } else {
        Write::CreateSlice(slice)
    }
}

struct Grow<'a> {
    identity: &'a Identity,
    prior: &'a ObservedSlices<'a>,
    last: &'a [PlacementDecision],
    /// Where each cluster ends up, with its final entry.
    places: HashMap<&'a str, (usize, &'a ClusterDecision)>,
    /// Where each cluster is.
    holders: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Grow<'a> {
    fn new(identity: &'a Identity, prior: &'a ObservedSlices<'a>, last: &'a [PlacementDecision]) -> Self {
        Self {
            identity,
            prior,
            last,
            places: places(last),
            holders: prior.holders(),
        }
    }

    /// The slices of the grow phase. Their index is their position.
    fn slices(&self) -> Vec<PlacementDecision> {
        let mut slices = Vec::new();
        let mut overflow: BTreeMap<Option<usize>, VecDeque<&ClusterDecision>> = BTreeMap::new();
        for (index, last) in self.last.iter().enumerate() {
            let (decisions, rest) = self.entries(index);
            slices.push(PlacementDecision {
                decisions,
                ..last.clone()
            });
            overflow.entry(group(last)).or_default().extend(rest);
        }
        for (group, mut entries) in overflow {
            while !entries.is_empty() {
                slices.push(self.extra(slices.len(), group, &mut entries));
            }
        }
        let (revision, count) = (self.revision(), slices.len());
        slices.iter_mut().for_each(|slice| stamp(slice, revision, count));
        slices
    }

    /// A slice behind the final ones that takes as much as it can. If its name is in use, what is there stays.
    fn extra(
        &self,
        index: usize,
        of: Option<usize>,
        overflow: &mut VecDeque<&'a ClusterDecision>,
    ) -> PlacementDecision {
        let template = self
            .last
            .iter()
            .find(|slice| group(slice) == of)
            .unwrap_or(&self.last[0]);
        let mut slice = sibling(self.identity, template, index);
        if let Some(observed) = self.prior.slices.get(&index) {
            let metadata = &observed.object.metadata;
            slice.metadata.uid.clone_from(&metadata.uid);
            slice
                .metadata
                .resource_version
                .clone_from(&metadata.resource_version);
            slice
                .metadata
                .creation_timestamp
                .clone_from(&metadata.creation_timestamp);
        }
        slice.decisions = self.entries(index).0;
        let room = MAX_DECISIONS
            .saturating_sub(slice.decisions.len())
            .min(overflow.len());
        slice.decisions.extend(overflow.drain(..room).cloned());
        slice
    }

    /// The revision below the final one, which layout left free.
    fn revision(&self) -> u64 {
        let last = label(&self.last[0].metadata, labels::DECISION_REVISION).and_then(parse_number);
        last.and_then(|last| u64::try_from(last).ok())
            .unwrap_or_default()
            .saturating_sub(1)
    }

    /// What slice `index` holds while growing, and what arrives without finding room.
    fn entries(&self, index: usize) -> (Vec<ClusterDecision>, Vec<&'a ClusterDecision>) {
        let stays = self.stays(index);
        let mut room = MAX_DECISIONS.saturating_sub(stays.len());
        if sabotaged(Rule::SliceLimit) {
            room = usize::MAX;
        }
        let (mut entries, mut rest) = (Vec::new(), Vec::new());
        let last = self
            .last
            .get(index)
            .map(|slice| slice.decisions.as_slice())
            .unwrap_or_default();
        let mut known = HashSet::new();
        for entry in last {
            let name = cluster_name(entry).unwrap_or_default();
            if stays.contains(&name) {
                entries.push(entry.clone());
            } else if room > 0 {
                room -= 1;
                entries.push(entry.clone());
            } else {
                rest.push(entry);
                continue;
            }
            known.insert(name);
        }
        let leaving = stays.into_iter().filter(|name| known.insert(name));
        entries.extend(
            leaving
                .filter_map(|name| self.places.get(name))
                .map(|(_, entry)| (*entry).clone()),
        );
        (entries, rest)
    }

    /// Clusters that slice `index` has to keep: those that end up in it, and those that are not yet where they end
    /// up. One that is already there as well may leave at once.
    fn stays(&self, index: usize) -> Vec<&'a str> {
        let Some(slice) = self.prior.slices.get(&index) else {
            return Vec::new();
        };
        let has_to_stay = |name: &&str| {
            let Some((place, _)) = self.places.get(*name) else {
                return false;
            };
            *place == index || !self.holders.get(*name).is_some_and(|held| held.contains(place))
        };
        let mut seen = HashSet::new();
        slice
            .clusters
            .iter()
            .copied()
            .filter(has_to_stay)
            .filter(|name| seen.insert(*name))
            .collect()
    }
}

fn group(slice: &PlacementDecision) -> Option<usize> {
    parse_number(group_labels(&slice.metadata).0)
}
