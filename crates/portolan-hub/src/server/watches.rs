//! How many watches are open, by resource: what shows that clients that vanished left nothing behind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

type Counts = Arc<Mutex<BTreeMap<String, usize>>>;

/// The counts. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watches(Counts);

/// One open watch; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenWatch {
    counts: Counts,
    resource: String,
}

impl Watches {
    pub(crate) fn open(&self, resource: &str) -> OpenWatch {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(resource.to_owned()).or_default() += 1;
        OpenWatch {
            counts: self.0.clone(),
            resource: resource.to_owned(),
        }
    }

    /// Resources that are watched or were, with how many watches are open now.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.resource) {
            *count = count.saturating_sub(1);
        }
    }
}
