//! The slices of a decision as they are observed: which are ours, what they hold, whether they are at rest.
//!
//! It only reads. A set that a crash left torn is described as it is; layout and plan decide what follows.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use portolan_api::{
    labels::{SCHEDULER_NAME, multicluster as labels},
    multicluster::{ClusterDecision, PlacementDecision},
};

use super::identity::{Identity, label, parse_number};

/// Where an object without a place in our naming scheme is said to be: behind every index.
pub(crate) const STRAY: usize = usize::MAX;

/// One observed slice of ours.
#[derive(Debug)]
pub(crate) struct Slice<'a> {
    pub(crate) object: &'a PlacementDecision,
    /// Clusters in the order of the object.
    pub(crate) clusters: Vec<&'a str>,
    pub(crate) revision: Option<u64>,
    index_label: Option<usize>,
    count: Option<usize>,
}

/// All observed slices of one decision.
#[derive(Debug, Default)]
pub(crate) struct ObservedSlices<'a> {
    /// By the index that the object's name stands for.
    pub(crate) slices: BTreeMap<usize, Slice<'a>>,
    /// Ours by key, but under a name we would not give.
    pub(crate) strays: Vec<Slice<'a>>,
}

impl<'a> ObservedSlices<'a> {
    /// Sorts observed objects into ours and not concerned. The error lists, by name, objects of others that
    /// stand under our key or on one of our names.
    pub(crate) fn read(identity: &Identity, observed: &'a [PlacementDecision]) -> Result<Self, Vec<String>> {
        let mut prior = Self::default();
        let mut foreign = Vec::new();
        for object in observed
            .iter()
            .filter(|object| identity.is_in_namespace(&object.metadata))
        {
            let slice = Slice::read(object);
            let name = object.metadata.name.as_deref().unwrap_or_default();
            let index = identity.number_of(name, slice.index_label);
            if index.is_none() && !has_our_key(identity, object) {
                continue;
            }
            let ours = object.scheduler_name.as_deref() == Some(SCHEDULER_NAME)
                && !identity.has_other_owner(&object.metadata);
            match index {
                _ if !ours => foreign.push(name.to_owned()),
                Some(index) => drop(prior.slices.insert(index, slice)),
                None => prior.strays.push(slice),
            }
        }
        foreign.sort();
        if foreign.is_empty() {
            Ok(prior)
        } else {
            Err(foreign)
        }
    }

    /// All slices, by index, those without one last.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, &Slice<'a>)> {
        let indexed = self.slices.iter().map(|(index, slice)| (*index, slice));
        indexed.chain(self.strays.iter().map(|slice| (STRAY, slice)))
    }

    /// The highest revision that any slice carries.
    pub(crate) fn revision(&self) -> Option<u64> {
        self.all().filter_map(|(_, slice)| slice.revision).max()
    }

    /// Whether the slices are one whole set: nothing else is there, and all labels agree.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.strays.is_empty() && self.is_published(self.slices.len())
    }

    /// Whether the first `count` slices are a complete set under the highest revision.
    pub(crate) fn is_published(&self, count: usize) -> bool {
        let highest = self.revision();
        let whole = |index: usize| {
            self.slices.get(&index).is_some_and(|slice| {
                slice.revision == highest && slice.index_label == Some(index) && slice.count == Some(count)
            })
        };
        count > 0 && highest.is_some() && (0..count).all(whole)
    }

    /// For each cluster, the indexes of all slices that hold it, in order.
    pub(crate) fn holders(&self) -> HashMap<&'a str, Vec<usize>> {
        let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, slice) in self.all() {
            for cluster in &slice.clusters {
                holders.entry(cluster).or_default().push(index);
            }
        }
        holders
    }
}

impl<'a> Slice<'a> {
    fn read(object: &'a PlacementDecision) -> Self {
        let number = |key| label(&object.metadata, key).and_then(parse_number);
        Self {
            object,
            clusters: object.decisions.iter().filter_map(cluster_name).collect(),
            revision: number(labels::DECISION_REVISION).and_then(|revision| u64::try_from(revision).ok()),
            index_label: number(labels::DECISION_INDEX),
            count: number(labels::DECISION_SLICE_COUNT),
        }
    }
}

/// The cluster an entry stands for, in either form of the API.
pub(crate) fn cluster_name(entry: &ClusterDecision) -> Option<&str> {
    let profile = entry
        .cluster_profile_ref
        .as_ref()
        .map(|profile| profile.name.as_str());
    profile.or(entry.cluster_name.as_deref())
}

/// Whether an object claims to be part of our decision whatever its name.
fn has_our_key(identity: &Identity, object: &PlacementDecision) -> bool {
    label(&object.metadata, labels::DECISION_KEY) == Some(identity.label_value().as_str())
}
