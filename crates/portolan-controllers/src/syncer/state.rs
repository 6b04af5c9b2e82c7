//! What the syncer knows, and what is to be looked at when something of that changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::ManagedCluster;
use portolan_api::multicluster::Work;
use portolan_runtime::watch::{Delta, Key, SyncState};
use tokio::time::Instant;

use super::inventory::Inventory;
use super::key::{Target, TemplateKey};
use super::message::{Input, Item, Outcome, Write};
use super::namespace_decisions::NamespaceDecisions;
use super::reach::Reach;
use super::template::{Content, Made, Role, Template};
use crate::bound::Bound;
use crate::moment::Moment;
use crate::reconcile::{Failure, Queue, Reconciler};

/// Works and clusters that are looked at in one turn of the loop. A larger number would let a tenant with many templates keep the
/// loop from turning, a smaller one would make turns for nothing.
const MOST_LOOKS: usize = 50_000;

#[derive(Debug)]
pub(super) struct State {
    pub(super) works: SyncState,
    pub(super) templates: BTreeMap<TemplateKey, Template>,
    /// How many templates a namespace has.
    pub(super) counts: BTreeMap<String, usize>,
    /// Namespaces with a template whose works are too many.
    pub(super) crowded: BTreeSet<String>,
    /// When the status of a template was last computed.
    pub(super) reported: BTreeMap<TemplateKey, Instant>,
    /// Works that cannot be read: each may be a template.
    pub(super) unreadable: BTreeSet<TemplateKey>,
    pub(super) made: BTreeMap<Target, Made>,
    /// The same works by namespace and name.
    pub(super) names: BTreeMap<(String, String), Target>,
    /// What the server makes of content where that is not the same.
    pub(super) accepted: BTreeMap<Target, (Arc<Content>, Made)>,
    pub(super) spaces: BTreeMap<String, NamespaceDecisions>,
    pub(super) inventory: Inventory,
    pub(super) reach: Reach,
    /// Which ManagedClusters may get works.
    pub(super) bound: Bound,
    /// Whether ClusterProfiles are watched: only once there is a template.
    pub(super) watching_profiles: bool,
    pub(super) watches: u64,
    pub(super) failures: BTreeMap<Target, Failure>,
    pub(super) queue: Queue<Item>,
}

impl State {
    pub(super) fn new(longest_backoff: Duration, reach: Reach) -> State {
        State {
            works: SyncState::default(),
            templates: BTreeMap::new(),
            counts: BTreeMap::new(),
            crowded: BTreeSet::new(),
            reported: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            made: BTreeMap::new(),
            names: BTreeMap::new(),
            accepted: BTreeMap::new(),
            spaces: BTreeMap::new(),
            inventory: Inventory::default(),
            reach,
            bound: Bound::everywhere(),
            watching_profiles: false,
            watches: 0,
            failures: BTreeMap::new(),
            queue: queue(longest_backoff),
        }
    }

    /// The same, which makes works for ManagedClusters of bound sets alone.
    pub(super) fn requiring_bindings(self) -> State {
        State {
            bound: Bound::by_bindings(),
            ..self
        }
    }

    fn work_applied(&mut self, work: &Work) {
        match Role::of(work) {
            Role::Template(key, template) => {
                let old = self.templates.insert(key.clone(), template);
                if old.is_none() {
                    *self.counts.entry(key.0.clone()).or_default() += 1;
                }
                let new = &self.templates[&key];
                let same = old
                    .is_some_and(|old| old.placement_key == new.placement_key && old.content == new.content);
                self.queue.enqueue(Item::Profiles);
                self.queue.enqueue(Item::Decisions(key.0.clone()));
                match same {
                    true => self.queue.enqueue(Item::Status(key)),
                    false => self.touch_template(&key),
                }
            }
            Role::Made(target, made) => {
                let overtaken = self
                    .made
                    .get(&target)
                    .is_some_and(|known| made.version.is_before(&known.version));
                if !overtaken {
                    self.put(target.clone(), made);
                    self.queue.enqueue(Item::Status(target.template.clone()));
                    self.queue.enqueue(Item::Work(target));
                }
            }
            Role::Foreign => self.work_gone(
                work.metadata.namespace.as_deref().unwrap_or_default(),
                work.metadata.name.as_deref().unwrap_or_default(),
            ),
        }
    }

    /// A work is gone, or no longer anything to us.
    fn work_gone(&mut self, namespace: &str, name: &str) {
        let key: TemplateKey = (namespace.to_owned(), name.to_owned());
        let was_unreadable = self.unreadable.remove(&key);
        let was_template = self.templates.remove(&key).is_some();
        if was_template {
            self.reported.remove(&key);
            self.one_less(&key.0);
        }
        if was_template || was_unreadable {
            self.queue.enqueue(Item::Decisions(key.0.clone()));
            self.touch_template(&key);
        }
        if let Some(target) = self.names.get(&key).cloned() {
            self.forget(&target);
            self.queue.gone(Item::Work(target.clone()));
            self.queue.enqueue(Item::Status(target.template));
        }
    }

    /// A template of a namespace is gone, and there may be room for the works of others.
    fn one_less(&mut self, namespace: &str) {
        if let Some(count) = self.counts.get_mut(namespace) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(namespace);
            }
        }
        if self.crowded.remove(namespace) {
            self.touch_templates(namespace);
        }
    }

    /// Everything about the templates of a namespace is looked at.
    fn touch_templates(&mut self, namespace: &str) {
        let keys: Vec<TemplateKey> = self.templates_in(namespace).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.touch_template(key));
    }

    fn templates_in<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a TemplateKey, &'a Template)> {
        let first = (namespace.to_owned(), String::new());
        let from = self.templates.range(first..);
        from.take_while(move |(key, _)| key.0 == namespace)
    }

    fn put(&mut self, target: Target, made: Made) {
        let place = (target.cluster.clone(), made.name().to_owned());
        self.names.insert(place, target.clone());
        self.made.insert(target, made);
    }

    fn forget(&mut self, target: &Target) {
        if let Some(made) = self.made.remove(target) {
            self.names
                .remove(&(target.cluster.clone(), made.name().to_owned()));
        }
        self.accepted.remove(target);
    }

    /// Everything about a template is looked at: where its work is, and where it should be.
    fn touch_template(&mut self, key: &TemplateKey) {
        let made = self.made_from(key).cloned().collect::<Vec<Target>>();
        if self.is_too_many(key) {
            self.crowded.insert(key.0.clone());
        }
        let wanted = self.targets(key);
        for target in made.into_iter().chain(wanted) {
            self.queue.enqueue(Item::Work(target));
        }
        self.queue.enqueue(Item::Status(key.clone()));
    }

    /// A binding gives rights in its own namespace, and takes no work away.
    fn touch_bound(&mut self, namespace: Option<&str>) {
        let Some(namespace) = namespace else {
            return self.touch_everything();
        };
        let first = (namespace.to_owned(), String::new());
        let templates = self.templates.range(first..).map(|(key, _)| key.clone());
        let templates: Vec<TemplateKey> = templates.take_while(|key| key.0 == namespace).collect();
        templates.iter().for_each(|key| self.touch_template(key));
        self.queue.enqueue(Item::Decisions(namespace.to_owned()));
    }

    fn touch_everything(&mut self) {
        let templates: Vec<TemplateKey> = self.templates.keys().cloned().collect();
        for key in &templates {
            self.touch_template(key);
        }
        for namespace in self.spaces.keys() {
            self.queue.enqueue(Item::Decisions(namespace.clone()));
        }
        // Works whose template is gone have nobody else to speak for them.
        for target in self.made.keys() {
            self.queue.enqueue(Item::Work(target.clone()));
        }
    }

    fn made_from<'a>(&'a self, key: &'a TemplateKey) -> impl Iterator<Item = &'a Target> {
        let first = Target {
            template: key.clone(),
            cluster: String::new(),
        };
        let from = self.made.range(first..).map(|(target, _)| target);
        from.take_while(move |target| target.template == *key)
    }

    fn hear_cluster(&mut self, delta: &Delta<ManagedCluster>) {
        if !self.bound.hear_cluster(delta) {
            return;
        }
        let name = |metadata: &ObjectMeta| metadata.name.clone().unwrap_or_default();
        match delta {
            Delta::Applied(cluster) => self.cluster_changed(&name(&cluster.metadata)),
            Delta::Unreadable(cluster) => self.cluster_changed(&name(&cluster.metadata)),
            Delta::Deleted(key) => self.cluster_changed(&key.name),
            _ => self.touch_everything(),
        }
    }

    /// Something is new about a cluster, or about a profile of its name.
    fn cluster_changed(&mut self, name: &str) {
        for target in self.choosing(name) {
            self.queue.enqueue(Item::Status(target.template.clone()));
            self.queue.enqueue(Item::Work(target));
        }
    }

    fn ended(&mut self, item: Item, at: Instant, outcome: Outcome) {
        let failure = match &outcome {
            Outcome::Failed(failure) => Some(*failure),
            _ => None,
        };
        let valid = match failure {
            Some(_) => self.queue.failed(&item, at),
            None => self.queue.succeeded(&item),
        };
        let Item::Work(target) = item else { return };
        match outcome {
            Outcome::Shown(work, wrote) if valid => {
                if let Role::Made(shown, made) = Role::of(&work)
                    && shown == target
                {
                    if !made.says(&wrote) {
                        self.accepted.insert(target.clone(), (wrote, made.clone()));
                    }
                    self.put(target.clone(), made);
                }
            }
            Outcome::Removed => self.forget(&target),
            _ => {}
        }
        match failure {
            Some(failure) => self.failures.insert(target.clone(), failure),
            None => self.failures.remove(&target),
        };
        self.queue.enqueue(Item::Status(target.template));
    }
}

impl Reconciler for State {
    const NAME: &'static str = "work syncer";
    type Input = Input;
    type Write = Write;

    fn handle(&mut self, input: Input) {
        match input {
            Input::Work(delta) => {
                self.works.after(&delta);
                match delta {
                    Delta::Applied(work) => {
                        let Key { namespace, name, .. } = Key::of(&work.metadata);
                        if self.unreadable.remove(&(namespace.clone(), name.clone())) {
                            self.touch_template(&(namespace, name));
                        }
                        self.work_applied(&work);
                    }
                    Delta::Unreadable(object) => {
                        let Key { namespace, name, .. } = Key::of(&object.metadata);
                        self.unreadable.insert((namespace, name));
                    }
                    Delta::Deleted(key) => self.work_gone(&key.namespace, &key.name),
                    Delta::Synced => self.touch_everything(),
                    Delta::ListStarted | Delta::NotServed | Delta::DeletionHeld(_) | Delta::CrdCreated(_) => {
                    }
                }
            }
            Input::Profile(delta) => {
                self.inventory.known.after(&delta);
                match delta {
                    Delta::Applied(profile) => {
                        if self.inventory.applied(&profile) {
                            self.cluster_changed(profile.metadata.name.as_deref().unwrap_or_default());
                        }
                    }
                    Delta::Deleted(key) => {
                        self.inventory.gone(&key.namespace, &key.name);
                        self.cluster_changed(&key.name);
                    }
                    Delta::Synced | Delta::NotServed => self.touch_everything(),
                    Delta::Unreadable(object) => {
                        let Key { namespace, name, .. } = Key::of(&object.metadata);
                        self.inventory.cannot_read(&namespace, &name);
                    }
                    Delta::ListStarted | Delta::DeletionHeld(_) | Delta::CrdCreated(_) => {}
                }
            }
            Input::Slice {
                namespace,
                watch,
                delta,
            } => {
                let synced = matches!(delta, Delta::Synced);
                let Some(space) = self
                    .spaces
                    .get_mut(&namespace)
                    .filter(|space| space.watch == watch)
                else {
                    return;
                };
                if space.hear(&delta) || synced {
                    self.touch_templates(&namespace);
                }
            }
            Input::Cluster(delta) => self.hear_cluster(&delta),
            Input::ClusterSet(delta) => {
                if self.bound.hear_set(&delta) {
                    self.touch_everything();
                }
            }
            Input::Binding(delta) => {
                if self.bound.hear_binding(&delta) {
                    self.touch_bound(delta.namespace());
                }
            }
            Input::Ended { at, item, outcome } => self.ended(item, at, outcome),
        }
    }

    fn due(&mut self, now: Moment, room: usize) -> Vec<Write> {
        let mut changed: Vec<(TemplateKey, Option<BTreeSet<String>>)> = Vec::new();
        let refresh = |(namespace, space): (&String, &mut NamespaceDecisions)| {
            (namespace.clone(), space.refresh(now.instant))
        };
        let refreshed: Vec<_> = self.spaces.iter_mut().map(refresh).collect();
        for (namespace, by_key) in refreshed.iter().filter(|(_, by_key)| !by_key.is_empty()) {
            // What was too much may not be any more.
            let is_crowded = self.crowded.remove(namespace);
            for (key, template) in self.templates_in(namespace) {
                match by_key.get(&template.placement_key) {
                    _ if is_crowded => changed.push((key.clone(), None)),
                    // Where the works are too many there is nothing to look at but the status.
                    Some(_) if self.is_too_many(key) => changed.push((key.clone(), None)),
                    Some(clusters) => changed.push((key.clone(), clusters.clone())),
                    None => {}
                }
            }
        }
        for (template, clusters) in changed {
            match clusters {
                None => self.touch_template(&template),
                Some(clusters) => {
                    for cluster in clusters {
                        let template = template.clone();
                        self.queue.enqueue(Item::Work(Target { template, cluster }));
                    }
                    self.queue.enqueue(Item::Status(template));
                }
            }
        }
        self.inventory.look(now);
        // The queue decides by what is known, which is all the rest.
        let mut queue = std::mem::replace(&mut self.queue, queue(Duration::ZERO));
        let writes = queue.poll_weighed(now.instant, room, |item| self.decide(item, now));
        self.queue = queue;
        writes
    }

    fn next_due(&self) -> Option<Instant> {
        let spaces = self.spaces.values().filter_map(NamespaceDecisions::next_due);
        spaces.chain(self.queue.next()).min()
    }
}

fn queue(longest_backoff: Duration) -> Queue<Item> {
    Queue::limited(longest_backoff, MOST_LOOKS, Item::namespace)
}
