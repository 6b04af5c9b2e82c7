//! Whether the controllers do their work, for probes and people.

use std::sync::{Arc, Mutex, PoisonError};

/// Readiness of the controllers, shared.
#[derive(Clone, Debug)]
pub struct Health(Arc<Mutex<Vec<String>>>);

impl Default for Health {
    fn default() -> Self {
        Health(Arc::new(Mutex::new(vec![
            "the controllers are starting".to_owned(),
        ])))
    }
}

impl Health {
    /// Whether every cache is complete and the first decisions are written.
    pub fn is_ready(&self) -> bool {
        self.lock().is_empty()
    }

    /// What decisions wait for.
    pub fn why_not_ready(&self) -> Vec<String> {
        self.lock().clone()
    }

    pub(crate) fn set(&self, reasons: Vec<String>) {
        *self.lock() = reasons;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
