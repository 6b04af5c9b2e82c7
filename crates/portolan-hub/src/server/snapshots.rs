//! The objects that a watch begins with, until the client has read them.
//!
//! A snapshot keeps objects alive that have changed since. Many clients that begin to watch at different times and do not read
//! would each keep a state of their own. So a snapshot lasts no longer than the history: once that has moved past it, the
//! watch could not go on after it anyway, and the objects are let go whether the client reads or not.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

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
}

impl Snapshots {
    /// What is there at a revision.
    pub(crate) fn take(&self, objects: Vec<Arc<Stored>>, revision: u64) -> Snapshot {
        let objects = Arc::new(Mutex::new(Some(objects.into())));
        let mut all = lock(&self.0);
        all.retain(|(_, objects)| objects.strong_count() > 0);
        all.push((revision, Arc::downgrade(&objects)));
        Snapshot {
            revision,
            objects: Some(objects),
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
        lock(self.objects.as_ref()?).as_mut()?.pop_front()
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
