//! What a server does on its own: owner-reference garbage collection, and emptying namespaces and definitions that are
//! being deleted.
//!
//! One task follows the store's history and settles each object that a change concerns. An owner that is not known at an
//! object's revision is gone, since a reference cannot name the uid of an object that was not yet created. So an object that
//! changed after the history that was read is not judged: the task reads on first. Kinds that are not served are left alone.

mod containers;
mod events;
mod index;
mod owners;
mod pace;
mod queue;
mod remaining;

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use crate::access::rbac;
use crate::kinds::{Resource, definition};
use crate::server::{Core, DeleteOptions, Propagation, is_free};
use crate::store::{Change, Expect, Key, Stored, Write, WriteError};
use crate::supervision::{LONGEST_WAIT, Turns};

pub(crate) use events::expire;
use index::Index;
use pace::{PORTION, about, with};
use queue::Queue;

/// How many changes are read at a time: as many as a portion makes, and the same again of clients.
const BATCH: usize = 2 * PORTION;
/// Names the task.
pub(crate) const NAME: &str = "janitor";

/// Runs until the hub stops. Namespaces get the certificate of the authority that clients of the hub are to trust.
pub(crate) async fn run(core: Arc<Core>, authority: Option<String>, mut stopping: watch::Receiver<bool>) {
    let mut changes = core.store.subscribe();
    let mut janitor = Janitor::new(core, authority).await;
    loop {
        changes.borrow_and_update();
        janitor.turns.turn();
        #[cfg(test)]
        tests::fault().await;
        janitor.core.snapshots.drop_outlived(&janitor.core.store);
        while janitor.step().await {
            if *stopping.borrow() {
                return;
            }
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = tokio::time::sleep(LONGEST_WAIT) => {}
        }
    }
}

/// Whether an object was dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settled {
    Done,
    /// The object changed after the history that was read.
    AheadOfIndex,
    /// A portion of what it contains or owns was dealt with.
    InPart,
}

/// What must still be the same of an object for its deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unchanged {
    /// The object goes whatever it says by now.
    Uid,
    /// The object goes because of what it said.
    Version,
}

struct Janitor {
    core: Arc<Core>,
    /// The certificate of the authority, in PEM, if the hub has one.
    authority: Option<String>,
    turns: Turns,
    index: Index,
    /// Everything up to here is in the index.
    revision: u64,
    queue: Queue,
    /// A ClusterRole changed, and others may gather its rules.
    roles_changed: bool,
}

impl Janitor {
    async fn new(core: Arc<Core>, authority: Option<String>) -> Self {
        let mut janitor = Self {
            turns: core.supervision.turns(NAME),
            core,
            authority,
            index: Index::default(),
            revision: 0,
            queue: Queue::default(),
            roles_changed: true,
        };
        janitor.reload().await;
        janitor
    }

    /// Starts over from the current state.
    async fn reload(&mut self) {
        let range = self.core.store.range("");
        self.index = Index::default();
        self.queue = Queue::default();
        self.revision = range.revision;
        self.roles_changed = true;
        for object in &range.objects {
            let concerned = about(object, || self.index.put(object, None));
            self.enqueue(concerned, object.concerns_others()).await;
        }
    }

    /// Takes in whom a change concerns. Clients decide what that costs, so each change is a turn, and after one with owners
    /// others get to run; nearly all changes have none and cost nothing.
    async fn enqueue(&mut self, concerned: Vec<Key>, had_owners: bool) {
        for key in concerned {
            self.queue.push(key);
        }
        self.turns.turn();
        if had_owners {
            tokio::task::yield_now().await;
        }
    }

    /// Takes a batch of changes and settles a portion of what they concern. False when there is nothing to do.
    async fn step(&mut self) -> bool {
        let before = self.revision;
        match self.core.store.events("", self.revision, BATCH) {
            Ok((events, revision)) => {
                for event in events {
                    let key = event.object.key();
                    self.roles_changed |= (key.group(), key.plural()) == (rbac::GROUP, "clusterroles");
                    let concerned = about(&event.object, || {
                        if event.deleted {
                            self.index.remove(&event.object)
                        } else {
                            self.index.put(&event.object, event.previous.as_deref())
                        }
                    });
                    let previous = event.previous.as_deref();
                    let had_owners =
                        event.object.concerns_others() || previous.is_some_and(Stored::concerns_others);
                    self.enqueue(concerned, had_owners).await;
                }
                self.revision = revision;
            }
            Err(_) => self.reload().await,
        }
        if std::mem::take(&mut self.roles_changed) {
            self.gather_rules().await;
        }
        if self.queue.is_empty() {
            // A whole batch may concern nobody, and what comes after it still waits.
            return self.revision != before;
        }
        let keys = self.queue.take(PORTION);
        let settled = self.each(&keys, |key| self.settle(key)).await;
        for (key, settled) in keys.into_iter().zip(settled) {
            if settled != Settled::Done {
                self.queue.push(key);
            }
        }
        true
    }

    /// Writes what ClusterRoles gather of others into them, for people to read; decisions do not wait for it.
    async fn gather_rules(&self) {
        self.each(self.core.aggregated_roles(), |(name, rules)| async move {
            let key = Key::new(rbac::GROUP, "clusterroles", "", &name);
            self.edit(&key, |role| role["rules"] = rules.clone()).await;
        })
        .await;
    }

    async fn settle(&self, key: &Key) -> Settled {
        let Some(object) = self.core.store.get(key) else {
            return Settled::Done;
        };
        let meta = about(&object, || object.meta());
        if meta.deletion_timestamp.is_none() {
            if (key.group(), key.plural()) == ("", "namespaces") {
                self.furnish(key).await;
            }
            if self.is_homeless(key) {
                self.delete(&object, None, Unchanged::Uid).await;
            } else if !meta.owner_references.is_empty() {
                return self.check_owners(&object).await;
            }
            return Settled::Done;
        }
        let emptied = match (key.group(), key.plural()) {
            ("", "namespaces") => self.empty_namespace(key).await,
            (definition::GROUP, definition::PLURAL) => self.empty_definition(&object).await,
            _ => Settled::Done,
        };
        match self.release_dependents(&object).await {
            Settled::Done => emptied,
            unsettled => unsettled,
        }
    }

    /// Written while its namespace went away.
    fn is_homeless(&self, key: &Key) -> bool {
        let namespace = key.namespace();
        !namespace.is_empty()
            && self
                .core
                .store
                .get(&Key::new("", "namespaces", "", namespace))
                .is_none()
    }

    fn resource(&self, key: &Key) -> Option<Arc<Resource>> {
        self.core
            .registry()
            .for_storage(key.group(), key.plural())
            .cloned()
    }

    /// Deletes the object that was judged, and no later one of its name. Failures are of objects that went or changed
    /// meanwhile; their change brings them back here.
    async fn delete(&self, object: &Stored, propagation: Option<Propagation>, unchanged: Unchanged) {
        let key = object.key();
        if let Some(resource) = self.resource(key) {
            let options = DeleteOptions {
                propagation,
                uid: Some(object.meta().uid.clone()),
                resource_version: (unchanged == Unchanged::Version).then(|| object.revision().to_string()),
                ..DeleteOptions::default()
            };
            let _ = with(object, self.core.delete(&resource, key, &options)).await;
        }
    }

    /// Changes an object as the server itself, and takes it away if that was what held it.
    async fn edit(&self, key: &Key, change: impl Fn(&mut Value)) {
        let Some(resource) = self.resource(key) else {
            return;
        };
        while let Some(stored) = self.core.store.get(key) {
            let changed = about(&stored, || {
                let before = stored.value();
                let mut object = before.clone();
                change(&mut object);
                (object != before).then_some(object)
            });
            let Some(object) = changed else { return };
            let gone = stored.meta().deletion_timestamp.is_some() && is_free(&resource, &object);
            let change = if gone {
                Change::Delete(object)
            } else {
                Change::Put(object)
            };
            let write = Write {
                key: key.clone(),
                expect: Expect::Revision(stored.revision()),
                change,
            };
            match with(&stored, self.core.commit(write)).await {
                Err(WriteError::Conflict { .. }) => {}
                _ => break,
            }
        }
        if resource.group == definition::GROUP {
            self.core.establish(key).await;
        }
    }
}

#[cfg(test)]
mod tests;
