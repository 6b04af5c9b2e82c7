//! The objects that a watch begins with, until the client has read them.
//!
//! A snapshot keeps objects alive that have changed since. Many clients that begin to watch at different times and do not read
//! would each keep a state of their own. So a snapshot lasts no longer than the history: once that has moved past it, the
//! watch could not go on after it anyway, and the objects are let go whether the client reads or not.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::in_flight::Counted;
use crate::store::{Compacted, Store, Stored};

/// The snapshots that are being sent.
#[derive(Debug, Default)]
pub(crate) struct Snapshots(Mutex<Vec<(u64, Weak<Objects>)>>);

type Objects = Mutex<Option<VecDeque<Arc<Stored>>>>;

/// The objects that one watch begins with.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    revision: u64,
    /// None for a watch that begins without.
    objects: Option<Arc<Objects>>,
    /// Counts what it takes until all of it was sent.
    held: Counted,
}

/// What the list of the objects takes. The objects themselves are in the store, or in its history.
pub(super) fn bytes_of(objects: &[Arc<Stored>]) -> u64 {
    size_of_val(objects) as u64
}

impl Snapshots {
    /// What is there at a revision.
    pub(super) fn take(&self, objects: Vec<Arc<Stored>>, revision: u64, held: Counted) -> Snapshot {
        let objects = Arc::new(Mutex::new(Some(objects.into())));
        let mut all = lock(&self.0);
        all.retain(|(_, objects)| objects.strong_count() > 0);
        all.push((revision, Arc::downgrade(&objects)));
        Snapshot {
            revision,
            objects: Some(objects),
            held,
        }
    }

    /// Lets the objects of snapshots go that the history has moved past.
    pub(crate) fn drop_outlived(&self, store: &Store) {
        let outlived: Vec<Weak<Objects>> = {
            let mut all = lock(&self.0);
            all.retain(|(_, objects)| objects.strong_count() > 0);
            let outlived = all.extract_if(.., |(revision, _)| store.compacted(*revision).is_some());
            outlived.map(|(_, objects)| objects).collect()
        };
        for objects in outlived.iter().filter_map(Weak::upgrade) {
            let mut objects = lock(&objects);
            // A watch that has sent all of them goes on.
            if objects.as_ref().is_some_and(|objects| !objects.is_empty()) {
                objects.take();
            }
        }
    }
}

impl Snapshot {
    /// The next object to send.
    pub(super) fn next(&mut self) -> Option<Arc<Stored>> {
        let next = lock(self.objects.as_ref()?).as_mut()?.pop_front();
        if next.is_none() {
            (self.objects, self.held) = (None, None);
        }
        next
    }

    /// Whether everything was sent.
    pub(super) fn is_empty(&self) -> bool {
        let objects = self.objects.as_ref();
        objects.is_none_or(|objects| lock(objects).as_ref().is_none_or(VecDeque::is_empty))
    }

    /// Why the rest cannot be sent any more, if the history has moved past it.
    pub(super) fn outlived(&self, store: &Store) -> Option<Compacted> {
        let is_dropped = lock(self.objects.as_ref()?).is_none();
        is_dropped.then(|| store.compacted(self.revision)).flatten()
    }
}

/// A poisoned lock is safe to reuse: no code panics between two changes.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::access::Identity;
    use crate::server::ClientLimits;
    use crate::server::in_flight::InFlight;
    use crate::store::{Change, Expect, Key, Write};

    #[tokio::test]
    async fn a_watch_that_has_sent_everything_takes_nothing() {
        let store = Store::in_memory(crate::hub::HISTORY);
        let write = Write {
            key: Key::new("", "configmaps", "default", "a"),
            expect: Expect::Absent,
            change: Change::Put(json!({"metadata": {"name": "a"}})),
        };
        store.write(write).await.unwrap();
        let in_flight = InFlight::new(ClientLimits {
            answer_bytes_per_user: 1,
            ..ClientLimits::default()
        });
        let ann = Identity::authenticated("ann", std::iter::empty::<String>());
        let range = store.range("");
        let held = in_flight.answer(&ann, bytes_of(&range.objects)).unwrap();
        let mut snapshot = Snapshots::default().take(range.objects, range.revision, held);
        assert!(in_flight.answer(&ann, 1).is_err());
        assert!(snapshot.next().is_some() && snapshot.next().is_none() && snapshot.is_empty());
        assert!(in_flight.answer(&ann, 1).is_ok());
    }
}
