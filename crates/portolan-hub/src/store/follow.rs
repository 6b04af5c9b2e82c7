//! Followers: readers of the events under a prefix, each woken by its own events alone.
//!
//! With one signal for the whole store every write would wake every watch, and the work of a fleet of agents would grow
//! with its square. It also follows that a watch which nothing concerns does not age: what it has not read begins with
//! the first event of its own, however many others there were.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::error::Compacted;
use super::state::Event;
use super::{Key, Shared, Store};

/// No event is waiting to be read.
const NONE: u64 = u64::MAX;

/// What a store knows of one follower.
#[derive(Debug)]
pub(super) struct Mark {
    /// The first event that was not read. It changes under the lock of the state: to be lowered to an event by whoever
    /// publishes it, to be taken by whoever reads up to the present.
    first: AtomicU64,
    signal: Notify,
}

impl Mark {
    /// Tells the follower. Not under the lock, which it is about to take.
    pub(super) fn wake(&self) {
        self.signal.notify_one();
    }
}

/// The followers of a store, by the prefix that they follow.
#[derive(Debug, Default)]
pub(super) struct Followers {
    by_prefix: Mutex<ByPrefix>,
}

type ByPrefix = HashMap<String, Vec<Arc<Mark>>>;

impl Followers {
    // A poisoned lock is taken anyway: a mark is there or it is not.
    fn lock(&self) -> MutexGuard<'_, ByPrefix> {
        self.by_prefix.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks an event for those whom it concerns, and says who they are.
    pub(super) fn mark(&self, events: &[Arc<Event>]) -> Vec<Arc<Mark>> {
        let by_prefix = self.lock();
        let mut marked = Vec::new();
        for event in events {
            for prefix in prefixes(event.object.key()) {
                for mark in by_prefix.get(prefix).into_iter().flatten() {
                    if mark.first.fetch_min(event.revision, Ordering::Relaxed) == NONE {
                        marked.push(mark.clone());
                    }
                }
            }
        }
        marked
    }
}

/// What an object can be followed by: its kind, or its kind in its namespace. The same as [`Key::prefix`] makes.
fn prefixes(key: &Key) -> impl Iterator<Item = &str> {
    let text = key.as_str();
    let ends = text.match_indices('/').skip(1).take(2);
    ends.map(|(at, slash)| &text[..at + slash.len()])
}

/// A reader of the events under a prefix.
#[derive(Debug)]
pub(crate) struct Follower {
    shared: Arc<Shared>,
    prefix: String,
    mark: Arc<Mark>,
    /// Everything up to here was read.
    revision: u64,
}

impl Store {
    /// Follows the events of a kind, or of a kind in one namespace, from now on.
    pub(crate) fn follow(&self, prefix: &str) -> Follower {
        let mark = Arc::new(Mark {
            first: AtomicU64::new(NONE),
            signal: Notify::new(),
        });
        let mut by_prefix = self.shared.followers.lock();
        by_prefix.entry(prefix.to_owned()).or_default().push(mark.clone());
        Follower {
            shared: self.shared.clone(),
            prefix: prefix.to_owned(),
            mark,
            revision: 0,
        }
    }
}

impl Follower {
    /// Goes on after a revision: forward to one that was read elsewhere, or back to what was not used after all.
    pub(crate) fn go_to(&mut self, revision: u64) {
        self.revision = revision;
        self.mark
            .first
            .fetch_min(revision.saturating_add(1), Ordering::Relaxed);
        self.mark.wake();
    }

    /// Everything up to here was read.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Up to `limit` events that come next. If there are more, [`Self::changed`] says so at once.
    pub(crate) fn read(&mut self, limit: usize) -> Result<Vec<Arc<Event>>, Compacted> {
        let mut events = Vec::new();
        let mut rest = None;
        let shared = self.shared.clone();
        let state = shared.read();
        let first = self.mark.first.swap(NONE, Ordering::Relaxed);
        if first != NONE {
            // Nothing before the first of ours is missed if the history has lost it.
            let from = self.revision.max(first.saturating_sub(1));
            let ours = |event: &&Arc<Event>| event.object.key().as_str().starts_with(&self.prefix);
            for event in state.since(from)?.filter(ours) {
                if events.len() == limit {
                    rest = Some(event.revision - 1);
                    break;
                }
                events.push(event.clone());
            }
        }
        match rest {
            Some(revision) => self.go_to(revision),
            None => self.revision = self.revision.max(state.revision()),
        }
        Ok(events)
    }

    /// Waits until there may be something to read.
    pub(crate) async fn changed(&self) {
        self.mark.signal.notified().await;
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut by_prefix = self.shared.followers.lock();
        if let Some(marks) = by_prefix.get_mut(&self.prefix) {
            marks.retain(|mark| !Arc::ptr_eq(mark, &self.mark));
            if marks.is_empty() {
                by_prefix.remove(&self.prefix);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use serde_json::json;

    use super::super::{Change, Expect, History, Write};
    use super::*;

    async fn put(store: &Store, namespace: &str, name: &str) -> u64 {
        let write = Write {
            key: Key::new("apps", "deployments", namespace, name),
            expect: Expect::Absent,
            change: Change::Put(json!({"metadata": {"name": name}})),
        };
        store.write(write).await.unwrap();
        store.revision()
    }

    fn store(events: usize) -> Store {
        Store::in_memory(History {
            events,
            bytes: 1 << 20,
        })
    }

    fn names(events: &[Arc<Event>]) -> Vec<&str> {
        events.iter().map(|event| event.object.key().name()).collect()
    }

    fn is_woken(follower: &Follower) -> bool {
        follower.changed().now_or_never().is_some()
    }

    #[tokio::test]
    async fn a_follower_is_woken_by_its_own_events_alone() {
        let store = store(100);
        let kind = Key::prefix("apps", "deployments", None);
        let (mut east, mut all, other) = (
            store.follow(&Key::prefix("apps", "deployments", Some("east"))),
            store.follow(&kind),
            store.follow(&Key::prefix("apps", "daemonsets", None)),
        );
        put(&store, "west", "a").await;
        assert!(!is_woken(&east) && is_woken(&all) && !is_woken(&other));
        assert_eq!(names(&all.read(10).unwrap()), ["a"]);
        put(&store, "east", "b").await;
        assert!(is_woken(&east) && is_woken(&all) && !is_woken(&other));
        assert_eq!(names(&east.read(10).unwrap()), ["b"]);
        assert_eq!(names(&all.read(10).unwrap()), ["b"]);
        assert!(east.read(10).unwrap().is_empty() && !is_woken(&east));
    }

    #[tokio::test]
    async fn one_that_nothing_concerned_for_longer_than_the_history_has_missed_nothing() {
        let store = store(4);
        let mut east = store.follow(&Key::prefix("apps", "deployments", Some("east")));
        east.go_to(store.revision());
        assert!(east.read(10).unwrap().is_empty());
        for number in 0..20 {
            put(&store, "west", &number.to_string()).await;
        }
        put(&store, "east", "mine").await;
        assert_eq!(names(&east.read(10).unwrap()), ["mine"]);
    }

    #[tokio::test]
    async fn one_that_did_not_read_its_own_events_in_time_is_told() {
        let store = store(4);
        let mut east = store.follow(&Key::prefix("apps", "deployments", Some("east")));
        put(&store, "east", "lost").await;
        for number in 0..20 {
            put(&store, "west", &number.to_string()).await;
        }
        assert!(east.read(10).is_err());
    }

    #[tokio::test]
    async fn what_did_not_fit_is_there_the_next_time_and_what_was_read_can_be_read_again() {
        let store = store(100);
        let mut all = store.follow(&Key::prefix("apps", "deployments", None));
        let first = put(&store, "east", "a").await;
        for name in ["b", "c"] {
            put(&store, "west", name).await;
        }
        assert!(is_woken(&all));
        assert_eq!(names(&all.read(2).unwrap()), ["a", "b"]);
        assert!(is_woken(&all), "there is more");
        assert_eq!(names(&all.read(2).unwrap()), ["c"]);
        assert_eq!(all.revision(), store.revision());
        all.go_to(first);
        assert_eq!(names(&all.read(10).unwrap()), ["b", "c"]);
    }

    #[tokio::test]
    async fn one_that_starts_in_the_future_hears_nothing_from_before() {
        let store = store(100);
        let mut all = store.follow(&Key::prefix("apps", "deployments", None));
        all.go_to(store.revision() + 1);
        put(&store, "east", "a").await;
        put(&store, "east", "b").await;
        assert_eq!(names(&all.read(10).unwrap()), ["b"]);
    }

    #[tokio::test]
    async fn a_follower_that_is_gone_leaves_nothing() {
        let store = store(100);
        drop(store.follow("apps/deployments/"));
        assert!(store.shared.followers.lock().is_empty());
    }
}
