//! The KEP slices of a decision: names, labels, entries and revision.
//!
//! A revision names a set of slices that belong together. Score and reason are not content and never raise it.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use portolan_api::{
    labels::{SCHEDULER_NAME, multicluster as labels, multicluster::MAX_SLICES, ocm, portolan},
    multicluster::{ClusterDecision, ClusterProfileReference, MAX_DECISIONS, PlacementDecision},
};

use super::{
    Desired, SlicesRefused,
    identity::{Identity, Managed, label},
    observed::{ObservedSlices, cluster_name},
    sticky::{Slot, ordered, sticky},
};

/// The labels of a slice that are ours. Labels of others stay.
const MANAGED_LABELS: [&str; 11] = [
    labels::DECISION_KEY,
    labels::DECISION_INDEX,
    labels::DECISION_SLICE_COUNT,
    labels::DECISION_REVISION,
    labels::PLACEMENT,
    labels::SCHEDULER,
    labels::PLACEMENT_KEY,
    labels::DECISION_GROUP_INDEX,
    labels::DECISION_GROUP_NAME,
    ocm::DECISION_GROUP_INDEX,
    ocm::DECISION_GROUP_NAME,
];

/// Annotations with the full value of a label that had to be cut.
const FULL_VALUES: [&str; 3] = [
    portolan::DECISION_KEY,
    portolan::PLACEMENT_NAME,
    portolan::DECISION_GROUP_NAME,
];

/// Final slices for `desired`, in index order.
pub(super) fn slices(
    desired: &Desired<'_>,
    identity: &Identity,
    prior: &ObservedSlices<'_>,
    publish_scores: bool,
) -> Result<Vec<PlacementDecision>, SlicesRefused> {
    // Counted before anything is built: each group rounds up on its own.
    let sizes = desired
        .groups
        .iter()
        .map(|group| group.clusters.len().div_ceil(MAX_DECISIONS));
    let needed: usize = sizes.sum();
    if needed > MAX_SLICES {
        return Err(SlicesRefused::TooManySlices { needed });
    }
    let slots = if desired.ordered {
        ordered(desired.groups)
    } else {
        sticky(desired.groups, prior)
    };
    let builder = Builder {
        desired,
        identity,
        publish_scores,
    };
    let mut slices: Vec<_> = slots
        .iter()
        .enumerate()
        .map(|(index, slot)| {
            let observed = prior.slices.get(&index).map(|slice| slice.object);
            builder.slice(index, slot, observed)
        })
        .collect();
    let revision = revision(prior, &slices);
    let count = slices.len();
    for slice in &mut slices {
        stamp(slice, revision, count);
    }
    Ok(slices)
}

/// Writes the labels that tie a slice to the rest of its set.
pub(crate) fn stamp(slice: &mut PlacementDecision, revision: u64, count: usize) {
    let labels = slice.metadata.labels.get_or_insert_default();
    labels.insert(labels::DECISION_REVISION.to_owned(), revision.to_string());
    labels.insert(labels::DECISION_SLICE_COUNT.to_owned(), count.to_string());
}

/// An empty slice for `index` in the same decision and group as `slice`.
pub(crate) fn sibling(identity: &Identity, slice: &PlacementDecision, index: usize) -> PlacementDecision {
    let mut managed = Managed::default();
    for key in MANAGED_LABELS {
        managed = managed.label(key, label(&slice.metadata, key).map(str::to_owned));
    }
    managed = managed.label(labels::DECISION_INDEX, index.to_string());
    for key in FULL_VALUES {
        let full = slice.metadata.annotations.as_ref().and_then(|all| all.get(key));
        managed = managed.annotation(key, full.cloned());
    }
    PlacementDecision {
        metadata: identity.metadata(&identity.object_name(index), None, managed),
        decisions: Vec::new(),
        scheduler_name: Some(SCHEDULER_NAME.to_owned()),
    }
}

/// Whether some cluster changes slices in a way that one phase of writes cannot hide: it stays selected, it is not
/// yet in the slice it goes to, and every slice that holds it is about to be written.
///
/// A slice behind the final ones is deleted after everything else, so whatever it holds is safe in there.
pub(crate) fn needs_to_grow(prior: &ObservedSlices<'_>, slices: &[PlacementDecision]) -> bool {
    // When one object alone changes, nothing can move from one to another.
    let differs = |(index, slice): &(usize, &PlacementDecision)| {
        let names = slice.decisions.iter().filter_map(cluster_name);
        prior
            .slices
            .get(index)
            .is_none_or(|before| names.ne(before.clusters.iter().copied()))
    };
    if slices.iter().enumerate().filter(differs).take(2).count() < 2 && prior.strays.is_empty() {
        return false;
    }
    let places = places(slices);
    // Clusters that are somewhere, and those of them that are safe: where they end up, or behind the final slices.
    let mut held: HashMap<&str, bool> = HashMap::new();
    for (holder, slice) in prior.all() {
        for cluster in &slice.clusters {
            if let Some((place, _)) = places.get(cluster) {
                *held.entry(cluster).or_default() |= holder == *place || holder >= slices.len();
            }
        }
    }
    held.into_values().any(|safe| !safe)
}

/// Whether readers act on two slices alike: everything counts but score, reason and the labels of the set as a whole.
fn same_content(left: &PlacementDecision, right: &PlacementDecision) -> bool {
    same_labels(left, right)
        && left
            .decisions
            .iter()
            .map(profile)
            .eq(right.decisions.iter().map(profile))
}

/// Whether two slices have the same labels of ours, without those of the set as a whole.
pub(super) fn same_labels(left: &PlacementDecision, right: &PlacementDecision) -> bool {
    let of_the_set = [labels::DECISION_REVISION, labels::DECISION_SLICE_COUNT];
    let mut own = MANAGED_LABELS.iter().filter(|key| !of_the_set.contains(key));
    own.all(|key| label(&left.metadata, key) == label(&right.metadata, key))
}

/// Namespace and name of the profile that an entry stands for.
fn profile(entry: &ClusterDecision) -> (Option<&str>, &str) {
    match &entry.cluster_profile_ref {
        Some(profile) => (profile.namespace.as_deref(), &profile.name),
        None => (None, entry.cluster_name.as_deref().unwrap_or_default()),
    }
}

/// The revision under which `slices` are published.
///
/// Kept when readers cannot see a mixture: one object of a set at rest changes, or only leftovers of an earlier
/// plan are to be deleted. Otherwise above everything seen, with one revision in between if there is a grow phase.
fn revision(prior: &ObservedSlices<'_>, slices: &[PlacementDecision]) -> u64 {
    let Some(highest) = prior.revision() else {
        return u64::from(needs_to_grow(prior, slices));
    };
    let changed = slices.iter().enumerate().filter(|(index, slice)| {
        prior
            .slices
            .get(index)
            .is_none_or(|observed| !same_content(observed.object, slice))
    });
    let one_object = prior.is_at_rest() && prior.slices.len() == slices.len();
    match changed.count() {
        0 if prior.is_published(slices.len()) => highest,
        1 if one_object => highest,
        _ if needs_to_grow(prior, slices) => highest.saturating_add(2),
        _ => highest.saturating_add(1),
    }
}

struct Builder<'a> {
    desired: &'a Desired<'a>,
    identity: &'a Identity,
    publish_scores: bool,
}

impl Builder<'_> {
    fn slice(
        &self,
        index: usize,
        slot: &Slot<'_>,
        observed: Option<&PlacementDecision>,
    ) -> PlacementDecision {
        let name = self.identity.object_name(index);
        let managed = self.managed(index, slot);
        PlacementDecision {
            metadata: self
                .identity
                .metadata(&name, observed.map(|slice| &slice.metadata), managed),
            decisions: self.entries(slot),
            scheduler_name: Some(SCHEDULER_NAME.to_owned()),
        }
    }

    fn managed(&self, index: usize, slot: &Slot<'_>) -> Managed {
        let name = &self.identity.placement;
        let own = self.desired.placement.metadata.labels.as_ref();
        let placement_key = own.and_then(|labels| labels.get(labels::PLACEMENT_KEY)).cloned();
        let group = self
            .desired
            .grouped
            .then(|| self.desired.groups[slot.group].name.as_str());
        Managed::default()
            .shortened(labels::DECISION_KEY, portolan::DECISION_KEY, Some(name))
            .shortened(labels::PLACEMENT, portolan::PLACEMENT_NAME, Some(name))
            .label(labels::SCHEDULER, SCHEDULER_NAME.to_owned())
            .label(labels::DECISION_INDEX, index.to_string())
            .label(labels::PLACEMENT_KEY, placement_key)
            .label(
                labels::DECISION_GROUP_INDEX,
                group.map(|_| slot.group.to_string()),
            )
            .shortened(labels::DECISION_GROUP_NAME, portolan::DECISION_GROUP_NAME, group)
            // The same under OCM's names, for readers that know only those.
            .label(ocm::DECISION_GROUP_INDEX, group.map(|_| slot.group.to_string()))
            .shortened(ocm::DECISION_GROUP_NAME, portolan::DECISION_GROUP_NAME, group)
            .annotation(portolan::SCORES, self.scores(slot))
    }

    fn entries(&self, slot: &Slot<'_>) -> Vec<ClusterDecision> {
        let reason = self.reason(slot);
        let entry = |name: &str| ClusterDecision {
            cluster_profile_ref: Some(ClusterProfileReference {
                name: name.to_owned(),
                namespace: Some(self.desired.profile_namespace.to_owned()),
                ..ClusterProfileReference::default()
            }),
            cluster_name: None,
            reason: Some(reason.clone()),
        };
        slot.clusters.iter().map(|cluster| entry(&cluster.name)).collect()
    }

    /// Says who chose the cluster and as part of what. Nothing in it changes while the cluster stays in its group.
    fn reason(&self, slot: &Slot<'_>) -> String {
        let Identity {
            namespace, placement, ..
        } = self.identity;
        let group = &self.desired.groups[slot.group].name;
        match group.as_str() {
            "" => format!("selected by Placement {namespace}/{placement}"),
            group => format!("selected by Placement {namespace}/{placement} in group {group}"),
        }
    }

    /// Cluster to score, as JSON.
    fn scores(&self, slot: &Slot<'_>) -> Option<String> {
        if !self.publish_scores || slot.clusters.is_empty() {
            return None;
        }
        let scores: BTreeMap<&str, i64> = slot
            .clusters
            .iter()
            .map(|cluster| (&*cluster.name, cluster.score))
            .collect();
        serde_json::to_string(&scores).ok()
    }
}

/// The index that each cluster has in `slices`, with its entry.
pub(crate) fn places(slices: &[PlacementDecision]) -> HashMap<&str, (usize, &ClusterDecision)> {
    let slices = slices.iter().enumerate();
    slices
        .flat_map(|(index, slice)| slice.decisions.iter().map(move |entry| (index, entry)))
        .filter_map(|(index, entry)| Some((cluster_name(entry)?, (index, entry))))
        .collect()
}
