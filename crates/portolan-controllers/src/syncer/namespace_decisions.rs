//! The decisions of one namespace, by the workload they are for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::labels::multicluster;
use portolan_api::multicluster::PlacementDecision;
use portolan_consumer::{Decisions, Discovery, Options, Slice};
use portolan_runtime::watch::{Delta, Key, SyncState};
use tokio::time::Instant;

use super::template::Template;
use super::unreadable::UnreadableSlices;
use crate::sabotage::{Rule, sabotaged};

/// Clusters by name, each with the namespaces of the profiles that stand for it.
pub(super) type Clusters = BTreeMap<String, BTreeSet<String>>;

#[derive(Debug)]
pub(super) struct NamespaceDecisions {
    /// Which watch it listens to.
    pub(super) watch: u64,
    pub(super) known: SyncState,
    decisions: Decisions,
    /// What is decided for each placement-key.
    wanted: BTreeMap<String, Clusters>,
    /// By key, the clusters that left the decision, each with the number of clusters that it had until then.
    left: BTreeMap<String, BTreeMap<String, usize>>,
    /// Keys with a decision that could not be acted on yet: nothing is known of what it was before.
    blocked: BTreeMap<String, String>,
    /// Keys that any decision ever had.
    seen: BTreeSet<String>,
    unreadable: UnreadableSlices,
    /// Whether the kind was not served at some time.
    lapsed: bool,
    /// When the definition of the kind was created, if that could be told.
    founded: Option<Timestamp>,
    /// When it was first brought up to date: the consumer counts from any fixed moment.
    started: Option<Instant>,
    /// The Placements behind slices.
    owners: BTreeMap<(String, String), (Option<String>, ObjectReference)>,
}

/// What is decided for a workload.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decided<'a> {
    /// These clusters, and no others.
    Clusters(&'a Clusters),
    /// These clusters; whether others keep the workload is not known.
    AtLeast(&'a Clusters, String),
    /// There is no decision.
    None,
    /// There may be a decision.
    Unknown(String),
}

impl NamespaceDecisions {
    pub(super) fn new(watch: u64) -> NamespaceDecisions {
        NamespaceDecisions {
            watch,
            known: SyncState::default(),
            decisions: Decisions::new(Options::new(Discovery::All)),
            wanted: BTreeMap::new(),
            left: BTreeMap::new(),
            blocked: BTreeMap::new(),
            seen: BTreeSet::new(),
            unreadable: UnreadableSlices::default(),
            lapsed: false,
            founded: None,
            started: None,
            owners: BTreeMap::new(),
        }
    }

    /// Takes in what the watch says. Whether something cannot be read any more, or can be again.
    pub(super) fn hear(&mut self, delta: &Delta<PlacementDecision>) -> bool {
        self.known.after(delta);
        let place = |metadata: &ObjectMeta| {
            let Key { namespace, name, .. } = Key::of(metadata);
            (namespace, name)
        };
        let mut is_news = false;
        match delta {
            Delta::Applied(object) => {
                is_news = self.unreadable.remove(&place(&object.metadata));
                self.applied(object);
            }
            Delta::Unreadable(object) => {
                let labels = object.metadata.labels.as_ref();
                let key = labels
                    .and_then(|labels| labels.get(multicluster::PLACEMENT_KEY))
                    .cloned();
                let why = format!("PlacementDecision {} cannot be read ({object})", object.place());
                is_news = true;
                self.unreadable.insert(place(&object.metadata), key, why);
            }
            Delta::Deleted(key) => {
                let key = (key.namespace.clone(), key.name.clone());
                is_news = self.unreadable.remove(&key);
                self.owners.remove(&key);
                self.decisions.delete(&key);
            }
            Delta::ListStarted => self.decisions.doubt(),
            Delta::Synced => self.decisions.trust(),
            Delta::CrdCreated(at) => self.founded = *at,
            Delta::DeletionHeld(_) => {}
            Delta::NotServed => {
                self.lapsed = true;
                self.decisions.doubt();
            }
        }
        is_news
    }

    /// Why not all is known that is decided for a key, if a slice cannot be read that may be for it.
    fn is_unreadable(&self, key: &str) -> Option<&String> {
        let why = self.unreadable.may_be_for(key);
        why.filter(|_| !sabotaged(Rule::UnreadableIsNotAbsent))
    }

    fn applied(&mut self, object: &Arc<PlacementDecision>) {
        let slice = Slice::of(object);
        let owners = object.metadata.owner_references.iter().flatten();
        let mut owner = owners
            .filter(|owner| owner.controller == Some(true) && owner.kind == "Placement")
            .map(|owner| ObjectReference {
                api_version: Some(owner.api_version.clone()),
                kind: Some(owner.kind.clone()),
                name: Some(owner.name.clone()),
                namespace: object.metadata.namespace.clone(),
                uid: Some(owner.uid.clone()),
                ..ObjectReference::default()
            });
        match owner.next_back() {
            Some(owner) => self
                .owners
                .insert(slice.key(), (slice.placement_key.clone(), owner)),
            None => self.owners.remove(&slice.key()),
        };
        self.decisions.apply(slice);
    }

    /// Brings what is decided up to date. Answers with the clusters for which something is different, by key, or with
    /// `None` for keys of which everything has to be looked at.
    pub(super) fn refresh(&mut self, now: Instant) -> BTreeMap<String, Option<BTreeSet<String>>> {
        let started = *self.started.get_or_insert(now);
        let updates = self.decisions.updates(now.saturating_duration_since(started));
        if updates.is_empty() {
            return BTreeMap::new();
        }
        let mut wanted: BTreeMap<String, Clusters> = BTreeMap::new();
        for (_, set) in self.decisions.all() {
            let Some(key) = &set.placement_key else { continue };
            let clusters = wanted.entry(key.clone()).or_default();
            for cluster in set.clusters() {
                let namespaces = clusters.entry(cluster.name.clone()).or_default();
                namespaces.insert(cluster.namespace.clone());
            }
        }
        let mut blocked = BTreeMap::new();
        for (decision, hold) in self.decisions.held() {
            if self.decisions.told(decision).is_none() {
                let keys = self
                    .decisions
                    .slices(decision)
                    .filter_map(|slice| slice.placement_key.clone());
                blocked.extend(keys.map(|key| (key, hold.to_string())));
            }
        }
        let old = std::mem::replace(&mut self.wanted, wanted);
        let old_blocked = std::mem::replace(&mut self.blocked, blocked);
        self.seen.extend(self.wanted.keys().cloned());
        self.note_leaving(&old);
        let keys: BTreeSet<&String> = old.keys().chain(self.wanted.keys()).collect();
        let blocks: BTreeSet<&String> = old_blocked.keys().chain(self.blocked.keys()).collect();
        let mut changed: BTreeMap<String, Option<BTreeSet<String>>> = BTreeMap::new();
        for key in keys {
            let differ = match (old.get(key), self.wanted.get(key)) {
                (Some(old), Some(new)) => {
                    let mut differ = difference(old, new);
                    // Others that left have been replaced by this.
                    let left = self.left.get(key).into_iter().flatten();
                    let replaced = left.filter(|(_, number)| (old.len()..=new.len()).contains(*number));
                    differ.extend(replaced.map(|(cluster, _)| cluster.clone()));
                    Some(differ)
                }
                // Where nothing was decided, works may be anywhere.
                _ => None,
            };
            changed.insert(key.clone(), differ);
        }
        changed.extend(blocks.into_iter().map(|key| (key.clone(), None)));
        changed
    }

    /// Notes which clusters left, and which are back.
    fn note_leaving(&mut self, old: &BTreeMap<String, Clusters>) {
        self.left.retain(|key, _| self.wanted.contains_key(key));
        for (key, clusters) in &self.wanted {
            let left = self.left.entry(key.clone()).or_default();
            left.retain(|cluster, _| !clusters.contains_key(cluster));
            let before = old.get(key).into_iter().flat_map(|before| {
                let number = before.len();
                before.keys().map(move |cluster| (cluster.clone(), number))
            });
            left.extend(before.filter(|(cluster, _)| !clusters.contains_key(cluster)));
        }
    }

    /// Whether the decision for a key has as many clusters as it had before a cluster left: another has its place. Of a
    /// cluster that left before this process listened nothing is known.
    pub(super) fn is_replaced(&self, key: &str, cluster: &str) -> bool {
        let before = self.left.get(key).and_then(|left| left.get(cluster));
        let now = self.wanted.get(key).map_or(0, Clusters::len);
        before.is_some_and(|before| now >= *before)
    }

    /// When something may change without anything being heard.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.started?.checked_add(self.decisions.next_due()?)
    }

    /// How many clusters are decided for a workload.
    pub(super) fn count(&self, template: &Template) -> usize {
        self.wanted.get(&template.placement_key).map_or(0, Clusters::len)
    }

    /// What is decided for a workload. Asked only when everything in the namespace is known.
    pub(super) fn decided(&self, template: &Template) -> Decided<'_> {
        let key = template.placement_key.as_str();
        // A template that is older than the definition may have had a decision under the one before.
        let outlived = self
            .founded
            .is_some_and(|founded| template.created.is_some_and(|at| at < founded));
        let blocked = self.blocked.get(key).or_else(|| self.is_unreadable(key));
        match (self.wanted.get(key), blocked) {
            (Some(clusters), None) => Decided::Clusters(clusters),
            (Some(clusters), Some(hold)) => Decided::AtLeast(clusters, hold.clone()),
            (None, Some(hold)) => Decided::Unknown(hold.clone()),
            // With the definition went all decisions; that this one was deleted is not known.
            (None, None) if (self.lapsed || outlived) && !self.seen.contains(key) => {
                let why = "PlacementDecisions went with their definition, or were not served, and none has come since";
                Decided::Unknown(why.to_owned())
            }
            (None, None) => Decided::None,
        }
    }

    /// The Placements behind the decisions for a workload, if a scheduler says so.
    pub(super) fn placements(&self, key: &str) -> Vec<&ObjectReference> {
        let mut found: Vec<&ObjectReference> = Vec::new();
        for (of, owner) in self.owners.values() {
            if of.as_deref() == Some(key) && !found.contains(&owner) {
                found.push(owner);
            }
        }
        found
    }
}

fn difference(old: &Clusters, new: &Clusters) -> BTreeSet<String> {
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let come = new
        .iter()
        .filter(|(name, namespaces)| old.get(*name) != Some(namespaces));
    gone.chain(come.map(|(name, _)| name)).cloned().collect()
}
