//! What evaluation asks of the fleet.

use std::collections::BTreeMap;

use jiff::Timestamp;
use portolan_api::labels;

use super::bits::{ClusterId, Clusters};
use super::cel::Expressions;
use super::scores::ScoreObject;
use super::{DuplicateMembers, Eligibility, Fleet, Inventory};
use crate::placement::Predicate;
use crate::selector::Selector;

impl Fleet {
    /// Sets the placement may use, and the clusters in them that are not being deleted.
    pub(crate) fn candidates(&self, namespace: &str, wanted: &[String]) -> (Eligibility, Clusters) {
        match self.inventory {
            Inventory::ManagedClusters => {
                let eligibility = self.sets.eligibility(namespace, wanted);
                let mut candidates = Clusters::with_capacity(self.slots.len());
                for name in &eligibility.eligible {
                    if let Some(set) = self.sets.sets.get(name) {
                        candidates.union_with(&set.members);
                    }
                }
                candidates.intersect_with(&self.available);
                (eligibility, candidates)
            }
            Inventory::ClusterProfiles => self.profile_candidates(namespace, wanted),
        }
    }

    /// Whether there is a binding of this name in the namespace, whatever set it is for.
    pub fn is_bound(&self, namespace: &str, set: &str) -> bool {
        self.sets
            .bindings
            .get(namespace)
            .is_some_and(|bindings| bindings.contains(set))
    }

    /// What `spec.clusterSet` of a binding names, where that is another name than its own.
    pub(crate) fn misnamed(&self, namespace: &str, binding: &str) -> Option<&str> {
        let cluster_set = self.sets.misnamed.get(namespace)?.get(binding)?;
        Some(cluster_set)
    }

    /// Whether there is a set of this name.
    pub(crate) fn has_set(&self, name: &str) -> bool {
        self.sets.sets.contains_key(name)
    }

    /// Whether one cluster is among the candidates, without building the set of them.
    pub(crate) fn is_candidate(&self, namespace: &str, wanted: &[String], cluster: ClusterId) -> bool {
        if !self.available.contains(cluster) {
            return false;
        }
        match self.inventory {
            Inventory::ManagedClusters => {
                let eligible = |name: &&String| wanted.is_empty() || wanted.contains(name);
                let mut bound = self
                    .sets
                    .bindings
                    .get(namespace)
                    .into_iter()
                    .flatten()
                    .filter(eligible);
                bound.any(|name| self.in_set(name, cluster))
            }
            // Whether a profile counts depends on its duplicates too, so the whole inventory is looked at.
            Inventory::ClusterProfiles => self.profile_candidates(namespace, wanted).1.contains(cluster),
        }
    }

    pub(crate) fn has_candidates(&self, namespace: &str, wanted: &[String]) -> bool {
        match self.inventory {
            Inventory::ManagedClusters => {
                let eligible = |name: &&String| wanted.is_empty() || wanted.contains(name);
                let mut bound = self
                    .sets
                    .bindings
                    .get(namespace)
                    .into_iter()
                    .flatten()
                    .filter(eligible);
                bound.any(|name| {
                    let set = self.sets.sets.get(name);
                    set.is_some_and(|set| set.members.overlaps(&self.available))
                })
            }
            Inventory::ClusterProfiles => !self.candidates(namespace, wanted).1.is_empty(),
        }
    }

    /// Whether one cluster passes the labels and claims of a predicate: its expressions are evaluated for those only.
    pub(crate) fn is_asked(&self, predicate: &Predicate, id: ClusterId) -> bool {
        self.cluster(id).is_some_and(|cluster| {
            predicate.labels.matches(|key| cluster.label(key))
                && predicate.claims.matches(|key| cluster.claim(key))
        })
    }

    /// What the expressions of a predicate cost for `wanted` at least, and the clusters that they are still to be
    /// evaluated for.
    pub(crate) fn cel_cost(&self, expressions: &Expressions, wanted: &Clusters) -> (u64, Clusters) {
        self.cel.cost(expressions, wanted)
    }

    /// One namespace is one inventory; no binding is needed, and set names are values of the clusterset label.
    fn profile_candidates(&self, namespace: &str, wanted: &[String]) -> (Eligibility, Clusters) {
        let mut candidates = self.profiles(namespace, wanted);
        for twin in self.duplicate_members(&candidates) {
            candidates.remove(twin);
        }
        let named = if wanted.is_empty() {
            vec![namespace.to_owned()]
        } else {
            wanted.to_vec()
        };
        (
            Eligibility {
                bound: named.clone(),
                eligible: named,
            },
            candidates,
        )
    }

    /// Profiles of a namespace in one of the sets, duplicates included.
    fn profiles(&self, namespace: &str, wanted: &[String]) -> Clusters {
        let mut profiles = self.by_namespace.get(namespace).cloned().unwrap_or_default();
        profiles.intersect_with(&self.available);
        if !wanted.is_empty() {
            let requirement = crate::selector::Requirement::one_of(labels::multicluster::CLUSTER_SET, wanted);
            self.labels.narrow(
                &Selector {
                    requirements: vec![requirement],
                },
                &mut profiles,
            );
        }
        profiles
    }

    /// Profiles that stand for a member cluster which another profile of `candidates` stands for as well. Only the
    /// oldest of them counts, and none when the oldest is not one but two.
    fn duplicate_members(&self, candidates: &Clusters) -> Vec<ClusterId> {
        let mut duplicate_members = Vec::new();
        for (_, profiles) in self.by_member(candidates) {
            duplicate_members.extend(
                profiles
                    .iter()
                    .skip(usize::from(!tied(&profiles)))
                    .map(|(_, id)| *id),
            );
        }
        duplicate_members
    }

    /// The same by member cluster, in words.
    pub(crate) fn named_twins(&self, namespace: &str, wanted: &[String]) -> Vec<DuplicateMembers> {
        if self.inventory != Inventory::ClusterProfiles {
            return Vec::new();
        }
        let name = |id: ClusterId| self.name(id).to_string();
        let candidates = self.profiles(namespace, wanted);
        let by_member = self.by_member(&candidates).into_iter();
        by_member
            .map(|(member, profiles)| DuplicateMembers {
                member: member.to_owned(),
                counts: (!tied(&profiles)).then(|| name(profiles[0].1)),
                profiles: profiles.iter().map(|(_, id)| name(*id)).collect(),
            })
            .collect()
    }

    /// Member clusters with more than one profile, and these from oldest to newest.
    fn by_member(&self, candidates: &Clusters) -> BTreeMap<&str, Vec<(Option<Timestamp>, ClusterId)>> {
        let mut by_member: BTreeMap<&str, Vec<(Option<Timestamp>, ClusterId)>> = BTreeMap::new();
        for id in candidates.iter() {
            let Some(cluster) = self.cluster(id) else { continue };
            if let Some(member) = cluster.member_id() {
                by_member.entry(member).or_default().push((cluster.created, id));
            }
        }
        by_member.retain(|_, profiles| profiles.len() > 1);
        by_member
            .values_mut()
            .for_each(|profiles| profiles.sort_unstable());
        by_member
    }

    pub(crate) fn narrow_labels(&self, selector: &Selector, set: &mut Clusters) {
        self.labels.narrow(selector, set);
    }

    pub(crate) fn narrow_claims(&self, selector: &Selector, set: &mut Clusters) {
        self.claims.narrow(selector, set);
    }

    pub(crate) fn narrow_cel(&self, expressions: &Expressions, set: &mut Clusters) {
        self.cel.narrow(expressions, set);
    }

    pub(crate) fn cel_witness(&self, expressions: &Expressions, set: &Clusters) -> (Option<ClusterId>, bool) {
        self.cel.witness(expressions, set)
    }

    /// Bindings of a namespace whose set does not exist, by name.
    pub(crate) fn dangling_bindings<'a>(&'a self, namespace: &str) -> impl Iterator<Item = &'a str> {
        let bindings = self.sets.bindings.get(namespace).into_iter().flatten();
        bindings
            .filter(|name| !self.sets.sets.contains_key(*name))
            .map(String::as_str)
    }

    pub(crate) fn score_column(&self, resource: &str) -> ScoreColumn<'_> {
        ScoreColumn {
            fleet: self,
            objects: self.scores.column(resource),
        }
    }

    pub(crate) fn score_object(&self, resource: &str, cluster: ClusterId) -> Option<&ScoreObject> {
        self.scores.get(resource, self.score_slot(cluster)?)
    }

    fn score_slot(&self, cluster: ClusterId) -> Option<ClusterId> {
        match self.inventory {
            Inventory::ManagedClusters => Some(cluster),
            Inventory::ClusterProfiles => self.slots.find("", self.name(cluster)),
        }
    }

    pub(crate) fn scores_of(&self, cluster: ClusterId) -> ClusterScores<'_> {
        ClusterScores { fleet: self, cluster }
    }
}

/// One resource's score objects, addressed by cluster.
pub(crate) struct ScoreColumn<'a> {
    fleet: &'a Fleet,
    objects: &'a [Option<Box<ScoreObject>>],
}

impl<'a> ScoreColumn<'a> {
    pub(crate) fn get(&self, cluster: ClusterId) -> Option<&'a ScoreObject> {
        self.objects
            .get(self.fleet.score_slot(cluster)?.index())?
            .as_deref()
    }
}

/// What `managedCluster.scores()` sees.
pub(crate) struct ClusterScores<'a> {
    fleet: &'a Fleet,
    cluster: ClusterId,
}

impl portolan_cel::Scores for ClusterScores<'_> {
    fn scores(&self, resource_name: &str) -> Option<Vec<(String, i64)>> {
        let object = self.fleet.score_object(resource_name, self.cluster)?;
        Some(
            object
                .items
                .iter()
                .map(|(name, value)| (name.to_string(), i64::from(*value)))
                .collect(),
        )
    }
}

/// Whether the oldest of several profiles is not one but two.
fn tied(profiles: &[(Option<Timestamp>, ClusterId)]) -> bool {
    profiles[0].0 == profiles[1].0
}
