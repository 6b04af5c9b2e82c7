//! Passes what watches say to the scheduler, and says which placements are due because of it.

use std::collections::BTreeSet;

use portolan_api::{cluster, shorten};
use portolan_engine::decide::Stored;
use portolan_engine::placement::{PlacementKey, decision_name_prefix};
use portolan_runtime::watch::{Delta, Key, SyncState};

use super::cache_sync::Watched;
use super::decision_cache::Touched;
use super::input::Input;
use super::names::{KEP, OCM};
use super::scheduler::Scheduler;
use crate::fields::MissingFields;
use crate::registration;

/// Bytes of decision objects that are read in one turn. A larger number would keep other placements waiting when many objects
/// change at once, as at a start; a smaller one would make turns for nothing.
const READ_IN_A_TURN: usize = 16 << 20;

impl Scheduler {
    /// Takes in what a watch said.
    pub(crate) fn handle(&mut self, input: Input) {
        let kind = input.kind();
        self.restoring.hear(&input);
        if let Some(namespace) = self.unreadable.hear(&input) {
            self.reconsider_readers(kind, &namespace);
        }
        if let Some(knowledge) = input.knowledge() {
            let before = self.cache_sync.learn(kind, knowledge);
            self.learned(kind, before, knowledge);
            if let Input::MissingFields(missing_fields) = input {
                self.missing_fields(missing_fields);
            }
            return;
        }
        match input {
            Input::Placement(Delta::Applied(placement)) => self.placement(&placement),
            Input::Placement(Delta::Deleted(key)) => self.placement_gone(&key),
            Input::Placement(Delta::DeletionHeld(key)) => self.placement_held(&key),
            Input::Placement(Delta::Unreadable(object)) => self.placement_held(&Key::of(&object.metadata)),
            Input::Cluster(Delta::Applied(cluster)) => self.cluster(&cluster),
            Input::Cluster(Delta::Deleted(key)) => self.engine.remove_cluster(&key.name),
            Input::Profile(Delta::Applied(profile)) => self.engine.apply_profile(&profile),
            Input::Profile(Delta::Deleted(key)) => self.engine.remove_profile(&key.namespace, &key.name),
            Input::Set(Delta::Applied(set)) => self.engine.apply_set(&set),
            Input::Set(Delta::Deleted(key)) => self.engine.remove_set(&key.name),
            Input::Binding(Delta::Applied(binding)) => self.engine.apply_binding(&binding),
            Input::Binding(Delta::Deleted(key)) => self.engine.remove_binding(&key.namespace, &key.name),
            Input::Score(Delta::Applied(score)) => self.engine.apply_score(&score),
            Input::Score(Delta::Deleted(key)) => self.engine.remove_score(&key.namespace, &key.name),
            Input::Decision(Delta::Applied(object)) => {
                let touched = self.decisions.observe(&object);
                self.learn_of_scores();
                self.touched(OCM, touched);
            }
            Input::Decision(Delta::Deleted(key)) => {
                let touched = self.decisions.remove(&key);
                self.touched(OCM, touched);
            }
            Input::Slice(Delta::Applied(object)) => {
                let touched = self.slices.observe(&object);
                self.touched(KEP, touched);
            }
            Input::Slice(Delta::Deleted(key)) => {
                let touched = self.slices.remove(&key);
                self.touched(KEP, touched);
            }
            // The rest says something about the kind and was handled above.
            _ => {}
        }
    }

    fn cluster(&mut self, cluster: &cluster::ManagedCluster) {
        let is_tainted_here = self.settings.registration;
        match is_tainted_here
            .then(|| registration::with_missing_taint(cluster))
            .flatten()
        {
            Some(tainted) => self.engine.apply_cluster(&tainted),
            None => self.engine.apply_cluster(cluster),
        }
    }

    fn learned(&mut self, kind: Watched, before: SyncState, after: SyncState) {
        let output = matches!(kind, Watched::Decisions | Watched::Slices);
        if output && after == SyncState::NotServed && before != SyncState::NotServed {
            tracing::warn!(output = %kind, "the output is off until its CustomResourceDefinition is installed");
            match kind {
                Watched::Decisions => self.decisions.clear(),
                _ => self.slices.clear(),
            }
        }
        // An output that comes on has to be written by everyone.
        if output && after == SyncState::Synced && before != SyncState::Synced {
            self.reconsider_all();
        }
    }

    /// Another definition is served: what was left out for the one before may be written, or the other way round.
    fn missing_fields(&mut self, missing_fields: MissingFields) {
        self.missing_fields = missing_fields;
        self.reconsider_all();
    }

    /// An object cannot be read any more, or can be again. Objects of one namespace concern its placements alone: a tenant must
    /// not make those of all others due again and again.
    fn reconsider_readers(&mut self, kind: Watched, namespace: &str) {
        match kind {
            Watched::Placements
            | Watched::Profiles
            | Watched::Bindings
            | Watched::Decisions
            | Watched::Slices => self.engine.reconsider_namespace(namespace),
            Watched::Clusters | Watched::Sets | Watched::Scores | Watched::Fields => self.reconsider_all(),
        }
    }

    fn reconsider_all(&mut self) {
        let everyone: Vec<PlacementKey> = self.engine.placements().cloned().collect();
        everyone.iter().for_each(|key| self.engine.reconsider(key));
    }

    /// A decision object changed on the server.
    fn touched(&mut self, kind: &'static str, touched: Option<Touched>) {
        let Some(touched) = touched else { return };
        let mut keys: BTreeSet<PlacementKey> = touched
            .owners
            .iter()
            .map(|owner| self.key_of(&touched.namespace, owner))
            .collect();
        if let Some((placement, _)) = touched.name.rsplit_once("-decision-") {
            let named = PlacementKey::new(&touched.namespace, placement);
            if self.placements.contains_key(&named) {
                keys.insert(named);
            }
        }
        for key in keys {
            match self.in_flight.get_mut(&key) {
                Some(flight) => {
                    let change = (kind, touched.name.clone(), touched.version.clone());
                    flight.touched.push(change);
                }
                None => {
                    if self.swept && !self.unsure.contains(&key) {
                        self.foreign.insert(key.clone());
                    }
                    self.dirty.insert(key);
                }
            }
        }
    }

    /// The placement that objects with this owner label belong to; its name may have been cut in the label.
    pub(super) fn key_of(&self, namespace: &str, owner: &str) -> PlacementKey {
        let label = (namespace.to_owned(), owner.to_owned());
        let known = self.by_label.get(&label).cloned();
        known.unwrap_or_else(|| PlacementKey::new(namespace, owner))
    }

    /// What a placement has stored, and what of others stands on its names or under its key.
    pub(super) fn stored(&self, key: &PlacementKey) -> Stored {
        let owner = shorten::label_value(&key.name);
        let prefix = decision_name_prefix(key);
        let mut stored = Stored {
            decisions: self.decisions.of(&key.namespace, &owner, &prefix),
            slices: self.slices.of(&key.namespace, &owner, &prefix),
        };
        stored.sort();
        stored
    }

    /// Tells the engine what is stored for placements whose objects changed. Whether that is done: where much is stored, it takes
    /// several turns.
    pub(super) fn settle(&mut self) -> bool {
        let in_flight = &self.in_flight;
        let (wait, mut ready): (BTreeSet<_>, BTreeSet<_>) = std::mem::take(&mut self.dirty)
            .into_iter()
            .partition(|key| in_flight.contains_key(key));
        self.dirty = wait;
        let mut read = 0;
        while read < READ_IN_A_TURN
            && let Some(key) = ready.pop_first()
        {
            let owner = shorten::label_value(&key.name);
            read += self.decisions.bytes(&key.namespace, &owner) + self.slices.bytes(&key.namespace, &owner);
            let stored = self.stored(&key);
            let prior = super::prior::of(&key, stored, self.writes(Watched::Decisions));
            self.engine.observe_decisions(&key, &prior);
            self.engine.reconsider(&key);
        }
        let is_done = ready.is_empty();
        self.dirty.append(&mut ready);
        is_done
    }
}
