//! Objects that a decision depends on and that cannot be read. They are unknown, not absent: a decision never loses a
//! cluster because of them. It is kept as a whole then, and says so; every other decision goes on.
//!
//! What could be read before counts as it was last read.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_api::labels::{multicluster, ocm};
use portolan_api::reading::Unreadable;
use portolan_api::shorten;
use portolan_engine::conditions::Condition;
use portolan_engine::outcome::Outcome;
use portolan_engine::placement::{PlacementKey, decision_name_prefix};
use portolan_runtime::watch::{Delta, Key};

use super::cache_sync::Watched;
use super::input::Input;
use super::job::Step;
use super::scheduler::Scheduler;
use super::status::INPUT_UNREADABLE;
use crate::moment::Moment;
use crate::sabotage::{Rule, sabotaged};

/// Objects that are named in a condition; the rest is a number.
const NAMED: usize = 3;
const REASON: &str = "ObjectUnreadable";

/// What cannot be read, and who was told.
#[derive(Debug, Default)]
pub(super) struct UnreadableInputs {
    objects: BTreeMap<(Watched, String, String), Arc<Unreadable>>,
    /// What was last said to placements that keep their decision.
    told: BTreeMap<PlacementKey, String>,
}

impl UnreadableInputs {
    /// Takes note of what a watch says. The namespace of an object that cannot be read any more, or can be again.
    pub(super) fn hear(&mut self, input: &Input) -> Option<String> {
        let kind = input.kind();
        match input {
            Input::Placement(delta) => self.hear_of(kind, delta),
            Input::Cluster(delta) => self.hear_of(kind, delta),
            Input::Profile(delta) => self.hear_of(kind, delta),
            Input::Set(delta) => self.hear_of(kind, delta),
            Input::Binding(delta) => self.hear_of(kind, delta),
            Input::Score(delta) => self.hear_of(kind, delta),
            Input::Decision(delta) => self.hear_of(kind, delta),
            Input::Slice(delta) => self.hear_of(kind, delta),
            Input::MissingFields(_) => None,
        }
    }

    fn hear_of<K: kube::Resource>(&mut self, kind: Watched, delta: &Delta<K>) -> Option<String> {
        let key = match delta {
            Delta::Unreadable(object) => {
                let key = Key::of(&object.metadata);
                let at = (kind, key.namespace.clone(), key.name);
                let before = self.objects.insert(at, object.clone());
                let is_news = before.is_none_or(|before| before.to_string() != object.to_string());
                return is_news.then_some(key.namespace);
            }
            Delta::Applied(_) | Delta::Deleted(_) if self.objects.is_empty() => return None,
            Delta::Applied(object) => Key::of(object.meta()),
            Delta::Deleted(key) => key.clone(),
            _ => return None,
        };
        let at = (kind, key.namespace.clone(), key.name);
        self.objects.remove(&at).map(|_| key.namespace)
    }

    fn get(&self, kind: Watched, namespace: &str, name: &str) -> Option<&Unreadable> {
        let at = (kind, namespace.to_owned(), name.to_owned());
        self.objects.get(&at).map(|object| &**object)
    }

    /// All of a kind that has no namespaces.
    fn of(&self, kind: Watched) -> impl Iterator<Item = &Unreadable> {
        self.within(kind, "")
    }

    /// All of a kind in a namespace.
    fn within(&self, kind: Watched, namespace: &str) -> impl Iterator<Item = &Unreadable> {
        let from = self.objects.range((kind, namespace.to_owned(), String::new())..);
        let is_here = move |((known, place, _), _): &(&(Watched, String, String), &Arc<Unreadable>)| {
            *known == kind && place == namespace
        };
        from.take_while(is_here).map(|(_, object)| &**object)
    }

    /// The placement is gone, or could not be told.
    pub(super) fn forget_told(&mut self, key: &PlacementKey) {
        self.told.remove(key);
    }
}

impl Scheduler {
    /// Keeps the last decision of a placement if the new one would lose a cluster because of an object that cannot be
    /// read, or if what was decided last cannot be read itself. What is to be done then.
    pub(super) fn keep_unreadable(
        &mut self,
        key: &PlacementKey,
        outcome: &Outcome,
        now: Moment,
    ) -> Option<Step> {
        let settled = self.unreadable.objects.is_empty()
            || outcome.status.keeps_last_decision()
            || sabotaged(Rule::UnreadableIsNotAbsent);
        let reasons = match settled {
            true => Vec::new(),
            false => self.reasons(key, outcome),
        };
        if reasons.is_empty() {
            self.unreadable.forget_told(key);
            return None;
        }
        let message = format!(
            "The last decision is kept: {}. The placement is evaluated again as soon as they can be read",
            listed(&reasons)
        );
        if self.unreadable.told.get(key) == Some(&message) {
            return Some(Step::Settled(self.as_it_is(key)));
        }
        self.unreadable.told.insert(key.clone(), message.clone());
        self.tell(
            key,
            Condition::new(INPUT_UNREADABLE, true, REASON, message),
            now.wall,
        )
    }

    /// The objects that cannot be read and that the decision would lose a cluster for.
    fn reasons(&self, key: &PlacementKey, outcome: &Outcome) -> Vec<String> {
        let unreadable = &self.unreadable;
        let mut reasons: Vec<String> = self.own_unreadable(key).collect();
        let fleet = self.engine.fleet();
        let mut lacks_a_set = false;
        for name in self.named(key).keys() {
            let cluster = fleet.find(&key.namespace, name);
            if cluster.is_some_and(|cluster| outcome.selected.contains(cluster)) {
                continue;
            }
            let managed = unreadable.get(Watched::Clusters, "", name);
            let profile = unreadable.get(Watched::Profiles, &key.namespace, name);
            reasons.extend(managed.map(|object| said("ManagedCluster", object)));
            reasons.extend(profile.map(|object| said("ClusterProfile", object)));
            // A cluster that is gone is lost for no other reason.
            let Some(cluster) = cluster else { continue };
            if !outcome.candidates.contains(cluster) {
                lacks_a_set = true;
            } else if self.engine.lacks_scores(key, outcome, cluster) {
                let scores = unreadable.within(Watched::Scores, name);
                reasons.extend(scores.map(|score| said("AddOnPlacementScore", score)));
            }
        }
        // Said once, and not for each cluster: both may be thousands.
        if lacks_a_set {
            let is_bound = |set: &&Unreadable| fleet.is_bound(&key.namespace, &set.place());
            let sets = unreadable.of(Watched::Sets).filter(is_bound);
            reasons.extend(sets.map(|set| said("ManagedClusterSet", set)));
            let bindings = unreadable.within(Watched::Bindings, &key.namespace);
            reasons.extend(bindings.map(|binding| said("ManagedClusterSetBinding", binding)));
        }
        reasons.sort();
        reasons.dedup();
        reasons
    }

    /// Decision objects of the placement that cannot be read, by their labels or their names.
    fn own_unreadable(&self, key: &PlacementKey) -> impl Iterator<Item = String> {
        let prefix = decision_name_prefix(key);
        let owner = shorten::label_value(&key.name);
        let kinds = [
            (Watched::Decisions, ocm::PLACEMENT),
            (Watched::Slices, multicluster::DECISION_KEY),
        ];
        kinds.into_iter().flat_map(move |(kind, label)| {
            let (prefix, owner) = (prefix.clone(), owner.clone().into_owned());
            let is_own = move |object: &&Unreadable| {
                let metadata = &object.metadata;
                let labels = metadata.labels.as_ref();
                let labelled = labels.and_then(|labels| labels.get(label)).map(String::as_str);
                let is_named = metadata
                    .name
                    .as_deref()
                    .is_some_and(|name| name.starts_with(&prefix));
                is_named || labelled == Some(&owner)
            };
            let objects = self.unreadable.within(kind, &key.namespace).filter(is_own);
            objects.map(|object| said("PlacementDecision", object))
        })
    }

    /// Selected clusters that count as they were last read.
    pub(super) fn out_of_date(&self, key: &PlacementKey) -> Option<Condition> {
        if self.unreadable.objects.is_empty() {
            return None;
        }
        let named = self.named(key);
        let clusters = named.keys().filter_map(|name| {
            let managed = self.unreadable.get(Watched::Clusters, "", name);
            let profile = || self.unreadable.get(Watched::Profiles, &key.namespace, name);
            let managed = managed.map(|object| said("ManagedCluster", object));
            managed.or_else(|| profile().map(|object| said("ClusterProfile", object)))
        });
        let clusters: Vec<String> = clusters.collect();
        let message = format!("{}. They count as they were last read", listed(&clusters));
        (!clusters.is_empty()).then(|| Condition::new(INPUT_UNREADABLE, true, REASON, message))
    }
}

fn said(kind: &str, object: &Unreadable) -> String {
    #[cfg(test)]
    tests::SAID.with(|said| said.set(said.get() + 1));
    format!("{kind} {} cannot be read ({object})", object.place())
}

fn listed(reasons: &[String]) -> String {
    let named: Vec<&str> = reasons.iter().take(NAMED).map(String::as_str).collect();
    match reasons.len().saturating_sub(NAMED) {
        0 => named.join("; "),
        more => format!("{}; and {more} more", named.join("; ")),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    thread_local! {
        /// How many reasons were put into words in this thread.
        pub(in crate::placements) static SAID: Cell<usize> = const { Cell::new(0) };
    }
}
