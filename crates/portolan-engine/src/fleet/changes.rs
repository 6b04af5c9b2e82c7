//! Changes to the fleet: each brings the index up to date and tells what it touched.

use std::sync::Arc;

use portolan_api::cluster::{AddOnPlacementScore, ManagedCluster, ManagedClusterSet, TaintEffect};
use portolan_api::labels;
use portolan_api::multicluster::ClusterProfile;
use portolan_cel::{Budget, Program};

use super::bits::{ClusterId, Clusters};
use super::cel::{self, CelVerdict, CelVerdicts, Expressions, Judged, Parsed};
use super::cluster::{self, Cluster};
use super::delta::{ClusterDelta, changes};
use super::scores::ScoreObject;
use super::sets::{self, ClusterSet, Membership};
use super::{Fleet, Inventory};
use crate::selector::Selector;

impl Fleet {
    pub(crate) fn apply_managed(&mut self, object: &ManagedCluster) -> ClusterDelta {
        if self.inventory != Inventory::ManagedClusters {
            return ClusterDelta::default();
        }
        let cluster = Cluster::from_managed(object, &mut self.pool);
        self.put_cluster(cluster)
    }

    pub(crate) fn apply_profile(&mut self, object: &ClusterProfile) -> ClusterDelta {
        if self.inventory != Inventory::ClusterProfiles {
            return ClusterDelta::default();
        }
        let cluster = Cluster::from_profile(object, &mut self.pool);
        self.put_cluster(cluster)
    }

    fn put_cluster(&mut self, new: Cluster) -> ClusterDelta {
        let id = self.slots.reserve_shared(&new.namespace, &new.name);
        let old = self.slots.take_cluster(id);
        let mut delta = self.delta(id, old.as_deref(), Some(&new));
        if old.is_none() {
            self.order.add(id);
            self.slots.hold(id);
            self.by_namespace
                .entry(new.namespace.clone())
                .or_default()
                .insert(id);
        }
        if delta.any {
            self.cel.forget_cluster(id);
        }
        // Most changes of a cluster are heartbeats, which change nothing that is indexed.
        if delta.touches_index() {
            if let Some(old) = &old {
                self.unindex(id, old);
            }
            self.index(id, &new);
            delta.membership = self.refresh_membership(id, Some(&new))
                || delta
                    .labels
                    .iter()
                    .any(|change| *change.key == *labels::multicluster::CLUSTER_SET);
        }
        self.slots.put_cluster(id, new);
        delta
    }

    /// Removes a cluster; `namespace` is the profile's and empty for a ManagedCluster.
    pub(crate) fn remove_cluster(&mut self, namespace: &str, name: &str) -> ClusterDelta {
        let Some(id) = self.slots.find(self.scope(namespace), name) else {
            return ClusterDelta::default();
        };
        let Some(old) = self.slots.take_cluster(id) else {
            return ClusterDelta::default();
        };
        let delta = self.delta(id, Some(&old), None);
        self.unindex(id, &old);
        self.cel.forget_cluster(id);
        self.refresh_membership(id, None);
        if let Some(members) = self.by_namespace.get_mut(&old.namespace) {
            members.remove(id);
        }
        self.order.remove(id);
        self.release(id);
        delta
    }

    fn index(&mut self, id: ClusterId, cluster: &Cluster) {
        let slots = self.slots.len();
        cluster
            .labels
            .iter()
            .for_each(|(key, value)| self.labels.insert(key, value, id, slots));
        cluster
            .claims
            .iter()
            .for_each(|(key, value)| self.claims.insert(key, value, id, slots));
        self.available.set(id, !cluster.deleting);
        let rejecting = |taint: &cluster::Taint| taint.effect != TaintEffect::PreferNoSelect;
        self.tainted.set(id, cluster.taints.iter().any(rejecting));
        self.avoided.set(id, !cluster.taints.iter().all(rejecting));
        for (column, value) in [(&mut self.cpu, cluster.cpu), (&mut self.memory, cluster.memory)] {
            if column.len() <= id.index() {
                column.resize(slots.max(id.index() + 1), f64::NAN);
            }
            column[id.index()] = value.unwrap_or(f64::NAN);
        }
    }

    fn unindex(&mut self, id: ClusterId, cluster: &Cluster) {
        cluster
            .labels
            .iter()
            .for_each(|(key, value)| self.labels.remove(key, value, id));
        cluster
            .claims
            .iter()
            .for_each(|(key, value)| self.claims.remove(key, value, id));
        self.available.remove(id);
        self.tainted.remove(id);
        self.avoided.remove(id);
        self.cpu[id.index()] = f64::NAN;
        self.memory[id.index()] = f64::NAN;
    }

    /// Brings the sets' members up to date; true when the cluster joined or left one.
    fn refresh_membership(&mut self, id: ClusterId, cluster: Option<&Cluster>) -> bool {
        let mut changed = false;
        for set in self.sets.sets.values_mut() {
            let member = match (&set.membership, cluster) {
                (Membership::Selector(selector), Some(cluster)) => selector.matches(|key| cluster.label(key)),
                _ => false,
            };
            changed |= set.members.contains(id) != member;
            set.members.set(id, member);
        }
        changed
    }

    fn delta(&self, id: ClusterId, old: Option<&Cluster>, new: Option<&Cluster>) -> ClusterDelta {
        let is_twin =
            |cluster: Option<&Cluster>| cluster.is_some_and(|cluster| cluster.member_id().is_some());
        let duplicate_members =
            self.inventory == Inventory::ClusterProfiles && (is_twin(old) || is_twin(new));
        let (Some(old), Some(new)) = (old, new) else {
            return ClusterDelta {
                cluster: Some(id),
                presence: true,
                any: true,
                duplicate_members,
                ..ClusterDelta::default()
            };
        };
        let resource = |a: Option<f64>, b: Option<f64>| a.map(f64::to_bits) != b.map(f64::to_bits);
        ClusterDelta {
            cluster: Some(id),
            presence: old.deleting != new.deleting,
            duplicate_members: duplicate_members
                && (old.deleting != new.deleting || old.labels != new.labels || old.created != new.created),
            any: old != new,
            labels: changes(&old.labels, &new.labels),
            claims: changes(&old.claims, &new.claims),
            taints: old.taints != new.taints,
            membership: false,
            cpu: resource(old.cpu, new.cpu),
            memory: resource(old.memory, new.memory),
        }
    }

    /// Adds or changes a set; true when its members or validity may have changed.
    pub(crate) fn apply_set(&mut self, object: &ManagedClusterSet) -> bool {
        let name = object.metadata.name.clone().unwrap_or_default();
        let membership = sets::membership(object);
        if self
            .sets
            .sets
            .get(&name)
            .is_some_and(|set| set.membership == membership)
        {
            return false;
        }
        self.remove_set(&name);
        let mut members = Clusters::default();
        if let Membership::Selector(selector) = &membership {
            self.retain_labels(selector);
            members = self.slots.all_present();
            self.labels.narrow(selector, &mut members);
        }
        self.sets.sets.insert(name, ClusterSet { membership, members });
        true
    }

    pub(crate) fn remove_set(&mut self, name: &str) -> bool {
        let Some(set) = self.sets.sets.remove(name) else {
            return false;
        };
        if let Membership::Selector(selector) = &set.membership {
            self.release_labels(selector);
        }
        true
    }

    pub(crate) fn apply_binding(&mut self, namespace: &str, name: &str, cluster_set: &str) -> bool {
        // A binding without a set is not said to be of another one.
        let cluster_set = if cluster_set.is_empty() { name } else { cluster_set };
        let bindings = self.sets.bindings.entry(namespace.to_owned()).or_default();
        let is_new = bindings.insert(name.to_owned());
        let misnamed = self.sets.misnamed.entry(namespace.to_owned()).or_default();
        let before = match cluster_set == name {
            true => misnamed.remove(name),
            false => misnamed.insert(name.to_owned(), cluster_set.to_owned()),
        };
        let is_same = before.as_deref().unwrap_or(name) == cluster_set;
        if misnamed.is_empty() {
            self.sets.misnamed.remove(namespace);
        }
        is_new || !is_same
    }

    pub(crate) fn remove_binding(&mut self, namespace: &str, name: &str) -> bool {
        if let Some(misnamed) = self.sets.misnamed.get_mut(namespace) {
            misnamed.remove(name);
        }
        self.sets
            .bindings
            .get_mut(namespace)
            .is_some_and(|bindings| bindings.remove(name))
    }

    /// Adds or changes a score object; the cluster it is about when something changed.
    pub(crate) fn apply_score(&mut self, object: &AddOnPlacementScore) -> Option<ClusterId> {
        let (namespace, name) = namespaced(&object.metadata);
        let new = ScoreObject::from_object(object, &mut self.pool);
        let id = self.slots.reserve("", namespace);
        let resource = self.pool.share(name);
        if self.scores.get(name, id) == Some(&new) {
            return None;
        }
        if self.scores.put(&resource, id, Some(new)).is_none() {
            self.slots.hold(id);
        }
        self.scores_changed(id);
        Some(id)
    }

    pub(crate) fn remove_score(&mut self, namespace: &str, name: &str) -> bool {
        let Some(id) = self.slots.find("", namespace) else {
            return false;
        };
        let resource = self.pool.share(name);
        if self.scores.put(&resource, id, None).is_none() {
            return false;
        }
        self.scores_changed(id);
        self.release(id);
        true
    }

    /// The clusters that scores in `namespace` are about.
    pub(crate) fn find_score_slot(&self, namespace: &str) -> Vec<ClusterId> {
        self.slots
            .find("", namespace)
            .map(|slot| self.clusters_scored_by(slot))
            .unwrap_or_default()
    }

    fn scores_changed(&mut self, score_slot: ClusterId) {
        for cluster in self.clusters_scored_by(score_slot) {
            self.cel.forget_scores(cluster);
        }
    }

    /// The clusters that the scores in one namespace are about. Score namespaces are cluster names; with profiles
    /// the same name may stand in several inventories.
    pub(crate) fn clusters_scored_by(&self, score_slot: ClusterId) -> Vec<ClusterId> {
        match self.inventory {
            Inventory::ManagedClusters => vec![score_slot],
            Inventory::ClusterProfiles => {
                let name = self.name(score_slot).clone();
                self.by_namespace
                    .keys()
                    .filter_map(|namespace| self.slots.find(namespace, &name))
                    .collect()
            }
        }
    }

    /// Gives a cluster that decisions name a slot, whether or not it is in the fleet, and holds it.
    pub(crate) fn hold_named(&mut self, namespace: &str, name: &str) -> ClusterId {
        let id = self.slots.reserve(self.scope(namespace), name);
        self.slots.hold(id);
        id
    }

    pub(crate) fn hold(&mut self, id: ClusterId) {
        self.slots.hold(id);
    }

    pub(crate) fn release(&mut self, id: ClusterId) {
        self.slots.release(id);
    }

    pub(crate) fn retain_labels(&mut self, selector: &Selector) {
        for requirement in &selector.requirements {
            self.retain_label(&requirement.key);
        }
    }

    pub(crate) fn release_labels(&mut self, selector: &Selector) {
        selector
            .requirements
            .iter()
            .for_each(|requirement| self.labels.release_key(&requirement.key));
    }

    pub(crate) fn retain_claims(&mut self, selector: &Selector) {
        for requirement in &selector.requirements {
            self.retain_claim(&requirement.key);
        }
    }

    pub(crate) fn release_claims(&mut self, selector: &Selector) {
        selector
            .requirements
            .iter()
            .for_each(|requirement| self.claims.release_key(&requirement.key));
    }

    fn retain_label(&mut self, key: &Arc<str>) {
        if self.labels.retain_key(key) {
            let slots = self.slots.len();
            for (id, cluster) in self.slots.clusters() {
                if let Ok(position) = cluster.labels.binary_search_by(|(k, _)| k.cmp(key)) {
                    self.labels.insert(key, &cluster.labels[position].1, id, slots);
                }
            }
        }
    }

    fn retain_claim(&mut self, key: &Arc<str>) {
        if self.claims.retain_key(key) {
            let slots = self.slots.len();
            for (id, cluster) in self.slots.clusters() {
                if let Ok(position) = cluster.claims.binary_search_by(|(k, _)| k.cmp(key)) {
                    self.claims.insert(key, &cluster.claims[position].1, id, slots);
                }
            }
        }
    }

    pub(crate) fn cel_mut(&mut self) -> &mut CelVerdicts {
        &mut self.cel
    }

    /// Brings the name order up to date. Call after changes and before queries.
    pub(crate) fn settle(&mut self) {
        let slots = &self.slots;
        self.order.settle(|cluster| &slots.key(cluster).1);
    }

    /// How `expressions` go with one cluster.
    pub(crate) fn verdict(&mut self, expressions: &Expressions, cluster: ClusterId) -> Judged {
        let mut verdicts = std::mem::take(&mut self.cel);
        let judged = verdicts.verdict(expressions, cluster, |programs, id, parsed| {
            self.judge(programs, id, parsed)
        });
        self.cel = verdicts;
        judged
    }

    /// The verdict, and the units that it took.
    fn judge(&self, programs: &[Program], id: ClusterId, parsed: &mut Parsed) -> (CelVerdict, u64) {
        let Some(cluster) = self.cluster(id) else {
            return (CelVerdict::Differs, 0);
        };
        let known = parsed.take_if(|(known, _)| *known == id);
        let (_, value) = parsed.insert(known.unwrap_or_else(|| (id, cel::parse(&cluster.document))));
        let mut budget = Budget::per_cluster();
        let verdict = match cel::run(programs, value, &self.scores_of(id), &mut budget) {
            Ok(()) => CelVerdict::Matches,
            Err(rejection) if rejection.error.is_some() => CelVerdict::Failed,
            Err(_) => CelVerdict::Differs,
        };
        (verdict, budget.spent())
    }
}

fn namespaced(metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> (&str, &str) {
    (
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap_or_default(),
    )
}
