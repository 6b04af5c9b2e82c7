//! The index of roles, and how it follows the store.
//!
//! The writer of a role or a binding brings the index up to date before the write is answered, so a role that was taken away
//! counts for nothing from the moment its removal was answered. Requests take the index as it is: a tenant chooses how large
//! its roles are, and no request of another user waits until they are read.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::watch;

use super::Core;
use super::apart::apart_always;
use crate::access::rbac::{self, Kind, Rbac};
use crate::store::{Event, Follower, Key, Store, Stored, Write, WriteError};

/// Names the task.
pub(crate) const NAME: &str = "roles";
const PLURALS: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];
/// Events that are read at a time.
const BATCH: usize = 64;

/// The roles as requests see them, and as they are read.
#[derive(Debug)]
pub(super) struct Roles {
    current: RwLock<Arc<Rbac>>,
    reading: Mutex<Followed>,
}

/// An index that follows the store. A copy shares all but what changes afterwards.
#[derive(Debug)]
struct Followed {
    index: Rbac,
    events: Vec<Follower>,
}

fn follow(store: &Store) -> Vec<Follower> {
    let prefixes = PLURALS.map(|plural| Key::prefix(rbac::GROUP, plural, None));
    prefixes.iter().map(|prefix| store.follow(prefix)).collect()
}

impl Roles {
    /// What the store has now. It is followed from here.
    pub(super) fn of(store: &Store) -> Self {
        let mut reading = Followed {
            index: Rbac::default(),
            events: follow(store),
        };
        reading.reload(store);
        Self {
            current: RwLock::new(Arc::new(reading.index.clone())),
            reading: Mutex::new(reading),
        }
    }

    /// The roles that count now. What is decided from them keeps no other request waiting.
    pub(super) fn current(&self) -> Arc<Rbac> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Reads what was written since.
    fn catch_up(&self, store: &Store) {
        let (mut reading, is_whole) = match self.reading.lock() {
            Ok(reading) => (reading, true),
            // A panic in the middle: what was read last may not be in the index.
            Err(poisoned) => (poisoned.into_inner(), false),
        };
        if !is_whole {
            reading.reload(store);
            self.reading.clear_poison();
        }
        if reading.catch_up(store) || !is_whole {
            let index = Arc::new(reading.index.clone());
            *self.current.write().unwrap_or_else(PoisonError::into_inner) = index;
        }
    }
}

impl Followed {
    /// Whether there was anything to read.
    fn catch_up(&mut self, store: &Store) -> bool {
        let mut changed = false;
        for follower in &mut self.events {
            loop {
                let Ok(events) = follower.read(BATCH) else {
                    // The history has moved past what was read last.
                    self.reload(store);
                    return true;
                };
                if events.is_empty() {
                    break;
                }
                changed = true;
                events.iter().for_each(|event| apply(&mut self.index, event));
            }
        }
        changed
    }

    /// Reads everything, one object at a time: as parsed trees all of them would take many times their size.
    fn reload(&mut self, store: &Store) {
        let mut objects: Vec<Arc<Stored>> = Vec::new();
        for (follower, plural) in self.events.iter_mut().zip(PLURALS) {
            let range = store.range(&Key::prefix(rbac::GROUP, plural, None));
            follower.go_to(range.revision);
            objects.extend(range.objects);
        }
        self.index = Rbac::of(objects.iter().map(|object| object.value()));
    }
}

fn apply(index: &mut Rbac, event: &Event) {
    let key = event.object.key();
    match Kind::from_plural(key.plural()) {
        Some(kind) if event.deleted => index.remove(kind, key.namespace(), key.name()),
        _ => index.apply(&event.object.value()),
    }
}

impl Core {
    /// Commits a write. What it says of roles counts when this returns.
    pub(crate) async fn commit(&self, write: Write) -> Result<Arc<Stored>, WriteError> {
        let is_about_roles = write.key.group() == rbac::GROUP;
        let outcome = self.store.write(write).await;
        if is_about_roles && outcome.is_ok() {
            self.read_roles();
        }
        outcome
    }

    fn read_roles(&self) {
        apart_always(|| self.gate.roles.catch_up(&self.store));
    }
}

/// Reads what was written by clients that did not wait for the end of their requests. Runs until the hub stops.
pub(crate) async fn run(core: Arc<Core>, mut stopping: watch::Receiver<bool>) {
    let mut followers = follow(&core.store);
    loop {
        core.read_roles();
        let changes = followers.iter().map(|follower| Box::pin(follower.changed()));
        tokio::select! {
            _ = futures::future::select_all(changes) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        for follower in &mut followers {
            // Only whether there is anything: the index reads the events itself.
            let _ = follower.read(usize::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::access::Identity;
    use crate::store::{Change, Expect};

    fn role(name: &str, verb: &str) -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": name, "namespace": "ns", "uid": name},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}],
        })
    }

    fn binding() -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "b", "namespace": "ns", "uid": "b"},
            "roleRef": {"apiGroup": rbac::GROUP, "kind": "Role", "name": "r"},
            "subjects": [{"apiGroup": rbac::GROUP, "kind": "User", "name": "ann"}],
        })
    }

    fn created(plural: &str, object: Value) -> Write {
        Write {
            key: Key::new(
                rbac::GROUP,
                plural,
                "ns",
                object["metadata"]["name"].as_str().unwrap(),
            ),
            expect: Expect::Absent,
            change: Change::Put(object),
        }
    }

    fn may_get_pods(core: &Core) -> bool {
        let ann = Identity::authenticated("ann", std::iter::empty::<String>());
        let target = rbac::Target::Resource {
            group: "",
            resource: "pods",
            subresource: "",
            namespace: "ns",
            name: "p",
        };
        core.authorize(&ann, "get", target).is_ok()
    }

    #[tokio::test]
    async fn no_request_waits_until_the_roles_of_another_user_are_read() {
        let core = Core::in_memory();
        core.commit(created("roles", role("r", "get"))).await.unwrap();
        core.commit(created("rolebindings", binding())).await.unwrap();
        // A role is being read.
        let reading = core.gate.roles.reading.lock().unwrap();
        let (answer, answered) = mpsc::channel();
        let asking = core.clone();
        std::thread::spawn(move || answer.send(may_get_pods(&asking)));
        assert_eq!(answered.recv_timeout(Duration::from_secs(30)), Ok(true));
        drop(reading);
    }

    #[tokio::test]
    async fn a_role_counts_when_its_write_is_answered_also_where_the_history_is_over() {
        let core = Core::in_memory();
        core.commit(created("rolebindings", binding())).await.unwrap();
        core.commit(created("roles", role("r", "get"))).await.unwrap();
        assert!(may_get_pods(&core));
        // These are not read, and the history ends before them.
        let removed = Write {
            key: Key::new(rbac::GROUP, "roles", "ns", "r"),
            expect: Expect::Revision(core.store.revision()),
            change: Change::Delete(role("r", "get")),
        };
        core.store.write(removed).await.unwrap();
        assert!(may_get_pods(&core), "the removal was not answered");
        for number in 0..=crate::hub::HISTORY.events {
            let object = json!({"metadata": {"name": number.to_string(), "uid": number.to_string()}});
            let key = Key::new("", "configmaps", "ns", &number.to_string());
            let (expect, change) = (Expect::Absent, Change::Put(object));
            core.store.write(Write { key, expect, change }).await.unwrap();
        }
        core.commit(created("roles", role("other", "list")))
            .await
            .unwrap();
        assert!(!may_get_pods(&core));
    }

    #[tokio::test]
    async fn a_role_counts_although_its_writer_went_away() {
        let core = Core::in_memory();
        let (stop, stopping) = watch::channel(false);
        let task = tokio::spawn(run(core.clone(), stopping));
        core.commit(created("rolebindings", binding())).await.unwrap();
        core.store
            .write(created("roles", role("r", "get")))
            .await
            .unwrap();
        let counts = async {
            while !may_get_pods(&core) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), counts)
            .await
            .unwrap();
        stop.send_replace(true);
        task.await.unwrap();
    }
}
