//! What a question is about: everything, or one subject and what it depends on.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::labels::{multicluster as labels, ocm};
use portolan_api::multicluster::Work;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_engine::placement::PlacementKey;

use super::read::Observed;
use crate::decided::Said;
use crate::input::Manifests;

/// What is checked. A problem of anything else is no answer to the question.
#[derive(Debug)]
pub(super) struct Concern<'a> {
    /// The one thing that was asked about; everything without it.
    pub(super) wanted: Option<&'a PlacementKey>,
    /// The Placements that the subject is or refers to.
    placements: BTreeSet<PlacementKey>,
    /// The clusters that the subject has something on; any cluster if it has nothing anywhere.
    clusters: BTreeSet<String>,
}

impl<'a> Concern<'a> {
    pub(super) fn of(
        observed: &Observed,
        manifests: &Manifests,
        wanted: Option<&'a PlacementKey>,
    ) -> Concern<'a> {
        let mut concern = Concern {
            wanted,
            placements: wanted.cloned().into_iter().collect(),
            clusters: BTreeSet::new(),
        };
        let Some(wanted) = wanted else { return concern };
        // A replica set, or a template, stands still when a Placement that it refers to does.
        let sets: Vec<&ManifestWorkReplicaSet> = concern.replica_sets(observed).collect();
        for set in &sets {
            concern.placements.extend(references(set));
        }
        for work in observed.plain_works.iter().flatten() {
            if key_in(&work.metadata) == *wanted {
                concern.placements.extend(referenced_by_template(manifests, work));
            }
        }
        let placements = &concern.placements;
        let decided = decided(manifests);
        let decided = decided.into_iter().filter(|(key, _)| placements.contains(key));
        concern.clusters = decided.flat_map(|(_, clusters)| clusters).collect();
        let of_sets = sets.iter().flat_map(|set| works_of(observed, set));
        let works = of_sets.chain(concern.works(observed));
        let homes: Vec<String> = works.filter_map(|work| work.metadata.namespace.clone()).collect();
        concern.clusters.extend(homes);
        concern
    }

    /// The replica sets that are asked about.
    pub(super) fn replica_sets<'o>(
        &self,
        observed: &'o Observed,
    ) -> impl Iterator<Item = &'o ManifestWorkReplicaSet> + use<'o, 'a> {
        let wanted = self.wanted;
        let all = observed.replica_sets.iter().flatten();
        all.filter(move |set| wanted.is_none_or(|wanted| key_in(&set.metadata) == *wanted))
    }

    /// The ManifestWork that is asked about.
    pub(super) fn works<'o>(
        &self,
        observed: &'o Observed,
    ) -> impl Iterator<Item = &'o ManifestWork> + use<'o, 'a> {
        let wanted = self.wanted;
        let all = observed.works.iter().flatten();
        all.filter(move |work| wanted.is_some_and(|wanted| key_in(&work.metadata) == *wanted))
    }

    /// Whether a Placement is checked.
    pub(super) fn has_placement(&self, key: &PlacementKey) -> bool {
        self.wanted.is_none() || self.placements.contains(key)
    }

    /// Whether a namespace with Placements and bindings is checked.
    pub(super) fn has_namespace(&self, namespace: &str) -> bool {
        let mut placements = self.placements.iter();
        self.wanted.is_none() || placements.any(|key| &*key.namespace == namespace)
    }

    /// Whether a cluster is checked.
    pub(super) fn has_cluster(&self, name: &str) -> bool {
        self.clusters.is_empty() || self.clusters.contains(name)
    }
}

/// The Placements that a replica set refers to, which are in its namespace.
pub(super) fn references(set: &ManifestWorkReplicaSet) -> Vec<PlacementKey> {
    let namespace = key_in(&set.metadata).namespace;
    let references = set.spec.placement_refs.iter();
    references
        .map(|reference| PlacementKey::new(&namespace, &reference.name))
        .collect()
}

/// The works of a replica set.
pub(super) fn works_of<'o>(
    observed: &'o Observed,
    set: &ManifestWorkReplicaSet,
) -> impl Iterator<Item = &'o ManifestWork> + use<'o> {
    let key = key_in(&set.metadata);
    let owner = format!("{}.{}", key.namespace, key.name);
    observed.works.iter().flatten().filter(move |work| {
        let labels = work.metadata.labels.as_ref();
        labels.and_then(|labels| labels.get(ocm::REPLICA_SET)) == Some(&owner)
    })
}

/// Namespace and name of an object.
pub(super) fn key_in(metadata: &ObjectMeta) -> PlacementKey {
    PlacementKey::new(
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap_or_default(),
    )
}

/// The Placements with the placement-key of a template.
fn referenced_by_template(manifests: &Manifests, work: &Work) -> Vec<PlacementKey> {
    let Some(key) = placement_key(&work.metadata) else {
        return Vec::new();
    };
    let namespace = work.metadata.namespace.as_deref();
    manifests
        .placements()
        .filter(|placement| {
            placement.metadata.namespace.as_deref() == namespace
                && placement_key(&placement.metadata) == Some(key)
        })
        .map(PlacementKey::of)
        .collect()
}

/// The placement-key of a template or a Placement.
pub(super) fn placement_key(metadata: &ObjectMeta) -> Option<&str> {
    let key = metadata.labels.as_ref()?.get(labels::PLACEMENT_KEY)?;
    (!key.is_empty()).then_some(key)
}

/// The clusters that the PlacementDecisions of each Placement list.
pub(super) fn decided(manifests: &Manifests) -> BTreeMap<PlacementKey, BTreeSet<String>> {
    let mut clusters: BTreeMap<PlacementKey, BTreeSet<String>> = BTreeMap::new();
    for said in manifests.decisions().filter_map(Said::by_decision) {
        let all = clusters.entry(said.placement.clone()).or_default();
        all.extend(said.clusters().map(str::to_owned));
    }
    clusters
}
