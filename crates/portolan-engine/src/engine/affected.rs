//! Which placements a change concerns.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;

use super::{Engine, PlacementId};
use crate::fleet::cel::CelVerdict;
use crate::fleet::{Change, ClusterDelta, ClusterId, Spending};
use crate::placement::{Dependencies, PlacementKey};

/// Units that one change of a cluster may cost while it is found out which placements it concerns, over all of them: as
/// much as one predicate may spend on one cluster. Placements that are left are due without a look, because the time of a
/// placement is taken where it is evaluated, one after the other.
const PER_CHANGE: u64 = portolan_cel::Budget::PER_CLUSTER;

/// Inverted index from what placements look at to the placements.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    labels: HashMap<Arc<str>, KeyWatchers>,
    claims: HashMap<Arc<str>, KeyWatchers>,
    score_resources: HashMap<Arc<str>, BTreeSet<PlacementId>>,
    cel: BTreeSet<PlacementId>,
    cel_scores: BTreeSet<PlacementId>,
    cpu: BTreeSet<PlacementId>,
    memory: BTreeSet<PlacementId>,
}

/// Placements that look at one key.
#[derive(Debug, Default)]
struct KeyWatchers {
    /// Those to whom any change of it may matter.
    any: BTreeSet<PlacementId>,
    /// Those to whom it matters only whether a cluster has one of a few values.
    values: HashMap<Arc<str>, BTreeSet<PlacementId>>,
}

impl KeyWatchers {
    fn of(&self, change: &Change, ids: &mut BTreeSet<PlacementId>) {
        ids.extend(&self.any);
        for value in [&change.before, &change.after].into_iter().flatten() {
            ids.extend(self.values.get(value).into_iter().flatten());
        }
    }

    fn add(&mut self, value: Option<&Arc<str>>, id: PlacementId) {
        match value {
            Some(value) => self.values.entry(value.clone()).or_default().insert(id),
            None => self.any.insert(id),
        };
    }

    /// Removes the placement and tells whether nobody is left.
    fn remove(&mut self, value: Option<&Arc<str>>, id: PlacementId) -> bool {
        match value {
            Some(value) => leave(&mut self.values, value, id),
            None => drop(self.any.remove(&id)),
        }
        self.any.is_empty() && self.values.is_empty()
    }
}

fn leave(map: &mut HashMap<Arc<str>, BTreeSet<PlacementId>>, key: &Arc<str>, id: PlacementId) {
    if let Some(set) = map.get_mut(key) {
        set.remove(&id);
        if set.is_empty() {
            map.remove(key);
        }
    }
}

impl Watchers {
    pub(crate) fn add(&mut self, id: PlacementId, dependencies: &Dependencies) {
        for (key, value) in dependencies.labels() {
            self.labels.entry(key.clone()).or_default().add(value, id);
        }
        for (key, value) in dependencies.claims() {
            self.claims.entry(key.clone()).or_default().add(value, id);
        }
        for resource in &dependencies.score_resources {
            self.score_resources
                .entry(resource.clone())
                .or_default()
                .insert(id);
        }
        for (set, wanted) in self.flags(dependencies) {
            if wanted {
                set.insert(id);
            }
        }
    }

    pub(crate) fn remove(&mut self, id: PlacementId, dependencies: &Dependencies) {
        let take = |map: &mut HashMap<Arc<str>, KeyWatchers>, key: &Arc<str>, value: Option<&Arc<str>>| {
            if map
                .get_mut(key)
                .is_some_and(|watchers| watchers.remove(value, id))
            {
                map.remove(key);
            }
        };
        dependencies
            .labels()
            .for_each(|(key, value)| take(&mut self.labels, key, value));
        dependencies
            .claims()
            .for_each(|(key, value)| take(&mut self.claims, key, value));
        for resource in &dependencies.score_resources {
            leave(&mut self.score_resources, resource, id);
        }
        for (set, wanted) in self.flags(dependencies) {
            if wanted {
                set.remove(&id);
            }
        }
    }

    fn flags(&mut self, dependencies: &Dependencies) -> [(&mut BTreeSet<PlacementId>, bool); 4] {
        [
            (&mut self.cel, dependencies.cel),
            (&mut self.cel_scores, dependencies.cel_scores),
            (&mut self.cpu, dependencies.cpu),
            (&mut self.memory, dependencies.memory),
        ]
    }

    /// Placements that look at anything the change touched, besides taints and membership.
    fn of(&self, delta: &ClusterDelta) -> BTreeSet<PlacementId> {
        let mut ids = BTreeSet::new();
        for (map, changes) in [(&self.labels, &delta.labels), (&self.claims, &delta.claims)] {
            for change in changes {
                if let Some(watchers) = map.get(&change.key) {
                    watchers.of(change, &mut ids);
                }
            }
        }
        if delta.any {
            ids.extend(&self.cel);
        }
        if delta.cpu {
            ids.extend(&self.cpu);
        }
        if delta.memory {
            ids.extend(&self.memory);
        }
        ids
    }
}

impl Engine {
    pub(super) fn cluster_changed(&mut self, delta: &ClusterDelta) {
        let Some(cluster) = delta.cluster.filter(|_| delta.any) else {
            return;
        };
        // While a hub is being read, everything is due anyway.
        if self.due.len() == self.ids.len() {
            return;
        }
        let everyone = delta.presence || delta.taints || delta.membership;
        let ids: Vec<PlacementId> = match everyone {
            true => (0..self.placements.len()).collect(),
            false => self.watchers.of(delta).into_iter().collect(),
        };
        let mut purse = self.purse();
        for id in ids {
            if self.concerns(id, cluster, delta, &mut purse) {
                self.make_due(id);
            }
        }
    }

    /// A placement is concerned when the cluster starts or stops matching, or matches and something that is looked
    /// at in matching clusters changed. One that is due already is not looked at: it will be evaluated anyway.
    ///
    /// When `purse` is used up, or the expressions of the placement cost more than they may, no expression is evaluated
    /// here any more: the placement is due, and its own evaluation finds out.
    fn concerns(
        &mut self,
        id: PlacementId,
        cluster: ClusterId,
        delta: &ClusterDelta,
        purse: &mut Spending,
    ) -> bool {
        let Some(state) = self.placements[id].as_mut() else {
            return false;
        };
        let before = state.matched.contains(cluster);
        let membership = delta.presence || delta.membership;
        let mut after = before;
        if membership || state.dependencies.concern_match(delta, state.predicates()) {
            if self.due.contains(&state.key) {
                return false;
            }
            let namespace = &state.key.namespace;
            let sets = &state.placement.spec.cluster_sets;
            let is_candidate = self.fleet.is_candidate(namespace, sets, cluster);
            if state.spending.is_beyond() {
                return before || is_candidate;
            }
            let mut spending = state.spending;
            let mut coverage = state.coverage.iter().peekable();
            let predicates = state.predicates();
            after = is_candidate && predicates.is_empty();
            for (index, predicate) in predicates.iter().enumerate() {
                let is_asked = is_candidate && self.fleet.is_asked(predicate, cluster);
                if predicate.programs.is_empty() {
                    after |= is_asked;
                    continue;
                }
                if is_asked && purse.is_beyond() {
                    return true;
                }
                let judged = is_asked.then(|| self.fleet.verdict(&predicate.expressions, cluster));
                if let Some(judged) = judged {
                    spending.add(judged.cost);
                    purse.add(if judged.is_new { judged.cost } else { 0 });
                }
                let verdict = judged.map(|judged| judged.verdict);
                after |= verdict == Some(CelVerdict::Matches);
                let known = coverage.next_if(|coverage| coverage.predicate == index);
                if known.is_some_and(|coverage| coverage.is_changed_by(cluster, verdict)) {
                    return true;
                }
            }
            // What the cluster cost before is not known any more and still counted: the sum may be too large, not too
            // small.
            if spending.is_beyond() {
                return true;
            }
            state.spending = spending;
        }
        if before != after || (after && state.dependencies.concern_placed(delta)) {
            return true;
        }
        membership && {
            let has_candidates = self
                .fleet
                .has_candidates(&state.key.namespace, &state.placement.spec.cluster_sets);
            has_candidates != state.had_candidates
        }
    }

    fn purse(&self) -> Spending {
        Spending::with_limit(PER_CHANGE.min(self.fleet.spending().limit()))
    }

    fn make_due(&mut self, id: PlacementId) {
        if let Some(state) = &self.placements[id] {
            self.due.insert(state.key.clone());
        }
    }

    /// Placements of the namespaces that the set is bound to, and those that ask for it: a set that does not exist is another
    /// mistake than one that is not bound. Also those that ask for other sets: whether any bound set exists at all is part of
    /// their conditions.
    pub(super) fn set_changed(&mut self, set: &str) {
        let is_asked_for = |id: PlacementId| {
            let state = self.placements[id].as_ref();
            state.is_some_and(|state| {
                state
                    .placement
                    .spec
                    .cluster_sets
                    .iter()
                    .any(|wanted| wanted == set)
            })
        };
        let ids = self.ids.iter();
        let concerned: Vec<PlacementKey> = ids
            .filter(|(key, id)| self.fleet.is_bound(&key.namespace, set) || is_asked_for(**id))
            .map(|(key, _)| key.clone())
            .collect();
        self.due.extend(concerned);
    }

    /// Every placement of a namespace: its bindings changed (also those that ask for other sets, since whether any
    /// set is bound at all is part of their conditions), or its inventory of profiles did.
    pub(super) fn namespace_changed(&mut self, namespace: &str) {
        let first = PlacementKey::new(namespace, "");
        let concerned: Vec<PlacementKey> = self
            .ids
            .range(first..)
            .map(|(key, _)| key)
            .take_while(|key| &*key.namespace == namespace)
            .cloned()
            .collect();
        self.due.extend(concerned);
    }

    pub(super) fn score_changed(&mut self, slot: ClusterId, resource: &str) {
        for cluster in self.fleet.clusters_scored_by(slot) {
            self.score_changed_for(cluster, resource);
        }
    }

    pub(super) fn score_changed_for(&mut self, cluster: ClusterId, resource: &str) {
        if self.due.len() == self.ids.len() {
            return;
        }
        let scoring: Vec<PlacementId> = self
            .watchers
            .score_resources
            .get(resource)
            .into_iter()
            .flatten()
            .copied()
            .collect();
        for id in scoring {
            if self.placements[id]
                .as_ref()
                .is_some_and(|state| state.matched.contains(cluster))
            {
                self.make_due(id);
            }
        }
        let delta = ClusterDelta {
            cluster: Some(cluster),
            any: true,
            ..ClusterDelta::default()
        };
        let mut purse = self.purse();
        for id in self.watchers.cel_scores.clone() {
            if self.concerns(id, cluster, &delta, &mut purse) {
                self.make_due(id);
            }
        }
    }
}
