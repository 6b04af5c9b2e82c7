//! What changed goes into the engine, object by object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{
    AddOnPlacementScore, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use portolan_api::multicluster::ClusterProfile;

use super::{Engine, PlacementState, state};
use crate::placement::PlacementKey;

impl Engine {
    /// A ManagedCluster was added or changed.
    pub fn apply_cluster(&mut self, cluster: &ManagedCluster) {
        let delta = self.fleet.apply_managed(cluster);
        self.cluster_changed(&delta);
    }

    /// A ManagedCluster is gone.
    pub fn remove_cluster(&mut self, name: &str) {
        let delta = self.fleet.remove_cluster("", name);
        self.cluster_changed(&delta);
    }

    /// A ClusterProfile was added or changed.
    pub fn apply_profile(&mut self, profile: &ClusterProfile) {
        let delta = self.fleet.apply_profile(profile);
        self.cluster_changed(&delta);
        if delta.duplicate_members {
            self.namespace_changed(parts(&profile.metadata).0);
        }
    }

    /// A ClusterProfile is gone.
    pub fn remove_profile(&mut self, namespace: &str, name: &str) {
        let delta = self.fleet.remove_cluster(namespace, name);
        self.cluster_changed(&delta);
        if delta.duplicate_members {
            self.namespace_changed(namespace);
        }
    }

    /// A ManagedClusterSet was added or changed.
    pub fn apply_set(&mut self, set: &ManagedClusterSet) {
        if self.fleet.apply_set(set) {
            self.set_changed(set.metadata.name.as_deref().unwrap_or_default());
        }
    }

    /// A ManagedClusterSet is gone.
    pub fn remove_set(&mut self, name: &str) {
        if self.fleet.remove_set(name) {
            self.set_changed(name);
        }
    }

    /// A ManagedClusterSetBinding was added or changed.
    pub fn apply_binding(&mut self, binding: &ManagedClusterSetBinding) {
        let (namespace, name) = parts(&binding.metadata);
        if self
            .fleet
            .apply_binding(namespace, name, &binding.spec.cluster_set)
        {
            self.namespace_changed(namespace);
        }
    }

    /// A ManagedClusterSetBinding is gone.
    pub fn remove_binding(&mut self, namespace: &str, name: &str) {
        if self.fleet.remove_binding(namespace, name) {
            self.namespace_changed(namespace);
        }
    }

    /// An AddOnPlacementScore was added or changed.
    pub fn apply_score(&mut self, score: &AddOnPlacementScore) {
        if let Some(slot) = self.fleet.apply_score(score) {
            self.score_changed(slot, score.metadata.name.as_deref().unwrap_or_default());
        }
    }

    /// An AddOnPlacementScore is gone.
    pub fn remove_score(&mut self, namespace: &str, name: &str) {
        let clusters = self.fleet.find_score_slot(namespace);
        if self.fleet.remove_score(namespace, name) {
            for cluster in clusters {
                self.score_changed_for(cluster, name);
            }
        }
    }

    /// A Placement was added or changed. A change of its status alone does not make it due; its labels and
    /// annotations are part of what is published.
    pub fn apply_placement(&mut self, placement: &Placement) {
        let key = PlacementKey::of(placement);
        if let Some(&id) = self.ids.get(&key) {
            let Some(state) = self.placements[id].as_mut() else {
                return;
            };
            let (old, new) = (&state.placement, placement);
            if old.spec == new.spec {
                let published = |p: &Placement| {
                    (
                        p.metadata.labels.clone(),
                        p.metadata.annotations.clone(),
                        p.metadata.uid.clone(),
                    )
                };
                if published(old) != published(new) {
                    self.due.insert(key);
                }
                state.placement = placement.clone();
                return;
            }
            state.unwatch(&mut self.fleet);
            self.watchers.remove(id, &state.dependencies);
            state.recompile(placement);
            state.watch(&mut self.fleet);
            self.watchers.add(id, &state.dependencies);
        } else {
            let prior = self.orphans.remove(&key).unwrap_or_default();
            let id = self.free.pop().unwrap_or(self.placements.len());
            let state = PlacementState::new(placement, prior);
            state.watch(&mut self.fleet);
            self.watchers.add(id, &state.dependencies);
            if id == self.placements.len() {
                self.placements.push(Some(state));
            } else {
                self.placements[id] = Some(state);
            }
            self.ids.insert(key.clone(), id);
        }
        self.due.insert(key);
    }

    /// A Placement is gone. Its decisions stay counted until they are gone too.
    pub fn remove_placement(&mut self, key: &PlacementKey) {
        let Some(id) = self.ids.remove(key) else { return };
        let Some(mut state) = self.placements[id].take() else {
            return;
        };
        state.unwatch(&mut self.fleet);
        self.watchers.remove(id, &state.dependencies);
        self.free.push(id);
        self.due.remove(key);
        if let Some(at) = state.requeue_at {
            self.timers.remove(&(at, key.clone()));
        }
        let counted = state.take_counted(&mut self.fleet);
        if counted.is_empty() {
            counted.drop_from(&mut self.fleet);
        } else {
            self.orphans.insert(key.clone(), counted);
        }
    }

    /// The OCM decisions of a placement as they are stored: all of them, none left out. They become what the
    /// placement decided last. A placement that finds something other than its own last outcome is due.
    pub fn observe_decisions(&mut self, key: &PlacementKey, decisions: &[PlacementDecision]) {
        let prior = crate::last_decision::LastDecision::observe(&mut self.fleet, &key.namespace, decisions);
        let state = self.ids.get(key).and_then(|&id| self.placements[id].as_mut());
        match state {
            Some(state) => {
                if state.replace_prior(&mut self.fleet, prior) {
                    self.due.insert(key.clone());
                }
            }
            None => {
                if let Some(old) = self.orphans.remove(key) {
                    state::uncount(&mut self.fleet, &old);
                    old.drop_from(&mut self.fleet);
                }
                state::count(&mut self.fleet, &prior);
                if !prior.is_empty() {
                    self.orphans.insert(key.clone(), prior);
                }
            }
        }
    }
}

fn parts(metadata: &ObjectMeta) -> (&str, &str) {
    (
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap_or_default(),
    )
}
