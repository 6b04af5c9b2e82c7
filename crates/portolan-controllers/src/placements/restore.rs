//! While a hub is being restored, clusters that a decision names may be on their way, and so may what makes them eligible.
//! A decision never loses them for that: it is kept as a whole, and says so.
//!
//! What is evidence that a cluster really is to leave:
//!
//! * This process has seen it among the candidates of the placement: then cluster, set and binding were there, and what
//!   became of them since it has heard.
//! * This process has heard that the cluster was deleted.
//! * The time that missing objects have is over ([`portolan_runtime::watch::CrdAge`]).
//!
//! The same goes for placements: what belongs to one that is missing is torn down only then.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::{decision, shorten};
use portolan_engine::conditions::{Condition, DECISION_KEPT};
use portolan_engine::fleet::Inventory;
use portolan_engine::outcome::Outcome;
use portolan_engine::placement::{PlacementKey, owns_decision, owns_slice};
use portolan_runtime::watch::{Delta, Key};
use tokio::time::Instant;

use super::cache_sync::Watched;
use super::doubt::DOUBT_UNTOLD;
use super::input::Input;
use super::job::Step;
use super::scheduler::Scheduler;
use crate::crd_age::{CrdAge, RestoreWindow};
use crate::moment::Moment;
use crate::sabotage::{Rule, sabotaged};

/// Clusters that are named in a condition; the rest is a number.
const NAMED: usize = 5;

/// What may still be on its way, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct RestoreState {
    kinds: Kinds,
    /// The kinds that may lack something now.
    graces: Vec<(Watched, RestoreWindow)>,
    /// Of the clusters that a stored decision names, those that were seen among the candidates.
    seen: HashMap<PlacementKey, BTreeSet<String>>,
    /// Namespaces and names of clusters that were heard to be deleted.
    deleted: HashSet<(String, String)>,
    /// Placements that keep their decision.
    kept: BTreeSet<PlacementKey>,
    /// Those of them that say so.
    told: BTreeSet<PlacementKey>,
}

#[derive(Debug, Default)]
struct Kinds {
    placements: CrdAge,
    clusters: CrdAge,
    profiles: CrdAge,
    sets: CrdAge,
    bindings: CrdAge,
    scores: CrdAge,
}

impl RestoreState {
    /// Takes note of what a watch says.
    pub(super) fn hear(&mut self, input: &Input) {
        let kinds = &mut self.kinds;
        match input {
            Input::Placement(delta) => kinds.placements.hear(delta),
            Input::Cluster(delta) => {
                kinds.clusters.hear(delta);
                self.hear_cluster(delta);
            }
            Input::Profile(delta) => {
                kinds.profiles.hear(delta);
                self.hear_cluster(delta);
            }
            Input::Set(delta) => kinds.sets.hear(delta),
            Input::Binding(delta) => kinds.bindings.hear(delta),
            Input::Score(delta) => kinds.scores.hear(delta),
            Input::Decision(_) | Input::Slice(_) | Input::MissingFields(_) => {}
        }
    }

    fn hear_cluster<K: kube::Resource>(&mut self, delta: &Delta<K>) {
        match delta {
            Delta::Deleted(key) if !self.graces.is_empty() => {
                let Key { namespace, name, .. } = key.clone();
                self.deleted.insert((namespace, name));
            }
            Delta::Applied(object) if !self.deleted.is_empty() => {
                let Key { namespace, name, .. } = Key::of(object.meta());
                self.deleted.remove(&(namespace, name));
            }
            _ => {}
        }
    }

    /// Finds out which kinds may lack something at `now`.
    pub(super) fn look(&mut self, now: Moment, length: Duration) {
        let kinds = &mut self.kinds;
        let all = [
            (Watched::Placements, &mut kinds.placements),
            (Watched::Clusters, &mut kinds.clusters),
            (Watched::Profiles, &mut kinds.profiles),
            (Watched::Sets, &mut kinds.sets),
            (Watched::Bindings, &mut kinds.bindings),
            (Watched::Scores, &mut kinds.scores),
        ];
        let graces = all
            .into_iter()
            .filter_map(|(kind, crd_age)| Some((kind, crd_age.grace(now, length)?)));
        self.graces = graces.collect();
        if self.graces.is_empty() && !(self.seen.is_empty() && self.deleted.is_empty()) {
            self.seen = HashMap::new();
            self.deleted = HashSet::new();
        }
    }

    /// How many placements keep their decision.
    pub(super) fn kept(&self) -> usize {
        self.kept.len()
    }

    /// The placement is gone.
    pub(super) fn forget(&mut self, key: &PlacementKey) {
        self.kept.remove(key);
        self.told.remove(key);
        self.seen.remove(key);
    }

    /// The placement could not be told.
    pub(super) fn forget_told(&mut self, key: &PlacementKey) {
        self.told.remove(key);
    }

    fn was_deleted(&self, inventory: Inventory, namespace: &str, cluster: &str) -> bool {
        let namespace = match inventory {
            Inventory::ManagedClusters => "",
            Inventory::ClusterProfiles => namespace,
        };
        !self.deleted.is_empty() && self.deleted.contains(&(namespace.to_owned(), cluster.to_owned()))
    }
}

/// Why a decision is kept.
struct Waiting {
    clusters: Vec<String>,
    kinds: BTreeSet<Watched>,
    until: Timestamp,
    /// When the decision is looked at again.
    ends: Instant,
    /// When it is said that the decision is kept; nothing when that is over.
    tell_at: Option<Instant>,
}

impl Scheduler {
    /// Keeps the last decision of a placement if the new one would lose a cluster for no better reason than that
    /// something is not there yet. What is to be done then.
    pub(super) fn keep(&mut self, key: &PlacementKey, outcome: &Outcome, now: Moment) -> Option<Step> {
        let settled = self.restoring.graces.is_empty()
            || outcome.status.keeps_last_decision()
            || sabotaged(Rule::MissingIsNotGone);
        let waiting = if settled { None } else { self.waiting(key, outcome) };
        let Some(waiting) = waiting else {
            self.restoring.kept.remove(key);
            self.restoring.told.remove(key);
            if !settled {
                self.see(key, outcome);
            }
            return None;
        };
        self.restoring.kept.insert(key.clone());
        self.timers.insert((waiting.ends, key.clone()));
        if let Some(tell_at) = waiting.tell_at.filter(|at| now.instant < *at) {
            self.timers.insert((tell_at, key.clone()));
            return Some(Step::Settled(self.as_it_is(key)));
        }
        if !self.restoring.told.insert(key.clone()) {
            return Some(Step::Settled(self.as_it_is(key)));
        }
        let condition = Condition::new(DECISION_KEPT, true, "Restoring", waiting.message());
        self.tell(key, condition, now.wall)
    }

    /// Takes note of what is decided now, for when the objects that say so are looked at as above.
    fn see(&mut self, key: &PlacementKey, outcome: &Outcome) {
        let mut graces = self.restoring.graces.iter();
        if graces.any(|(_, grace)| grace.covers_everything()) || self.is_covered(key, |_| true) {
            let fleet = self.engine.fleet();
            let names = outcome
                .selected
                .iter()
                .map(|cluster| fleet.name(cluster).to_string());
            self.restoring.seen.entry(key.clone()).or_default().extend(names);
        }
    }

    /// The clusters that a decision would lose and that may be on their way.
    fn waiting(&mut self, key: &PlacementKey, outcome: &Outcome) -> Option<Waiting> {
        // On a hub that is new the definitions are as well, and no decision is older: nothing has to be unpacked.
        let inputs = |kind: Watched| kind != Watched::Placements;
        if !self.is_covered(key, inputs) {
            return None;
        }
        let named = self.named(key);
        let (fleet, inventory) = (self.engine.fleet(), self.engine.fleet().inventory());
        let id = |name: &str| fleet.find(&key.namespace, name);
        let candidates = named.keys().filter(|name| {
            let cluster = id(name);
            cluster.is_some_and(|cluster| outcome.candidates.contains(cluster))
        });
        let candidates: BTreeSet<String> = candidates.cloned().collect();
        let seen = self.restoring.seen.entry(key.clone()).or_default();
        seen.extend(candidates);
        let seen = &self.restoring.seen[key];
        let mut waiting: Option<Waiting> = None;
        for (name, created) in &named {
            let cluster = id(name);
            if cluster.is_some_and(|cluster| outcome.selected.contains(cluster)) {
                continue;
            }
            let unscored = || cluster.is_some_and(|cluster| self.engine.lacks_scores(key, outcome, cluster));
            let unseen = !seen.contains(name) && !self.restoring.was_deleted(inventory, &key.namespace, name);
            let graces = self.restoring.graces.iter().filter(|(kind, grace)| match kind {
                Watched::Scores => seen.contains(name) && unscored() && grace.covers(*created),
                Watched::Placements => false,
                _ => unseen && grace.covers(*created),
            });
            let mut is_missing = false;
            for (kind, grace) in graces {
                is_missing = true;
                let waiting = waiting.get_or_insert_with(|| Waiting {
                    clusters: Vec::new(),
                    kinds: BTreeSet::new(),
                    until: grace.until,
                    ends: grace.ends,
                    tell_at: tell_at(grace),
                });
                waiting.kinds.insert(*kind);
                waiting.until = waiting.until.max(grace.until);
                waiting.ends = waiting.ends.max(grace.ends);
                waiting.tell_at = waiting.tell_at.max(tell_at(grace));
            }
            if let Some(waiting) = waiting.as_mut().filter(|_| is_missing) {
                waiting.clusters.push(name.clone());
            }
        }
        waiting
    }

    /// The clusters that the stored decision of a placement names, with the time at which the oldest object that does
    /// was created.
    pub(super) fn named(&self, key: &PlacementKey) -> BTreeMap<String, Option<Timestamp>> {
        let stored = self.stored(key);
        let decisions = stored
            .decisions
            .iter()
            .filter(|object| owns_decision(key, object));
        let decisions = decisions.flat_map(|object| {
            let entries = decision::clusters(object);
            entries.map(|entry| (entry.cluster_name.clone(), created(&object.metadata)))
        });
        let slices = stored.slices.iter().filter(|slice| owns_slice(key, slice));
        let slices = slices.flat_map(|slice| {
            let entries = slice.decisions.iter();
            let names = entries.filter_map(|entry| Some(entry.profile(&key.namespace)?.1.to_owned()));
            names.map(|name| (name, created(&slice.metadata)))
        });
        let mut named = BTreeMap::new();
        for (name, created) in decisions.chain(slices) {
            let oldest = named.entry(name).or_insert(created);
            *oldest = (*oldest).min(created);
        }
        named
    }

    /// Until when what is stored for a placement that is missing is kept.
    pub(super) fn kept_without_placement(&self, key: &PlacementKey) -> Option<Instant> {
        let mut graces = self.restoring.graces.iter();
        let (_, grace) = graces.find(|(kind, _)| *kind == Watched::Placements)?;
        if sabotaged(Rule::MissingIsNotGone) {
            return None;
        }
        let placements = |kind: Watched| kind == Watched::Placements;
        self.is_covered(key, placements).then_some(grace.ends)
    }

    /// Whether what an object of a placement speaks of may be on its way, by one of these kinds.
    fn is_covered(&self, key: &PlacementKey, kinds: impl Fn(Watched) -> bool) -> bool {
        let owner = (
            key.namespace.to_string(),
            shorten::label_value(&key.name).into_owned(),
        );
        let mut created = self.decisions.created(&owner).chain(self.slices.created(&owner));
        created.any(|created| {
            let mut graces = self.restoring.graces.iter().filter(|(kind, _)| kinds(*kind));
            graces.any(|(_, grace)| grace.covers(created))
        })
    }
}

impl Waiting {
    fn message(&self) -> String {
        let named: Vec<&str> = self.clusters.iter().take(NAMED).map(String::as_str).collect();
        let more = match self.clusters.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let kinds: Vec<String> = self.kinds.iter().map(Watched::to_string).collect();
        format!(
            "The last decision is kept until {until}: {}{more} {are} missing, and the CustomResourceDefinition of {} was \
             created recently. Clusters still missing at {until} leave the decision",
            named.join(", "),
            kinds.join(", "),
            until = self.until,
            are = portolan_api::count::are(self.clusters.len())
        )
    }
}

/// What is over in a moment is nothing to speak of.
fn tell_at(grace: &RestoreWindow) -> Option<Instant> {
    let length = Duration::try_from(grace.until.duration_since(grace.since)).unwrap_or_default();
    Some(grace.ends.checked_sub(length)? + DOUBT_UNTOLD)
}

fn created(metadata: &ObjectMeta) -> Option<Timestamp> {
    metadata.creation_timestamp.as_ref().map(|created| created.0)
}
