//! Whether the controllers do their work, for probes and people.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::metrics::Metrics;

/// Readiness of the controllers, and what else one should know of them, shared.
#[derive(Clone, Debug)]
pub struct Health(Arc<Mutex<Said>>);

#[derive(Debug)]
struct Said {
    missing: Vec<String>,
    notes: BTreeMap<&'static str, Vec<String>>,
}

impl Default for Health {
    fn default() -> Self {
        Health(Arc::new(Mutex::new(Said {
            missing: vec!["the controllers are starting".to_owned()],
            notes: BTreeMap::new(),
        })))
    }
}

impl Health {
    /// Whether every cache is complete and the first decisions are written.
    pub fn is_ready(&self) -> bool {
        self.lock().missing.is_empty()
    }

    /// What decisions wait for.
    pub fn why_not_ready(&self) -> Vec<String> {
        self.lock().missing.clone()
    }

    /// What is no reason not to be ready and still worth knowing: an output that is off, a field that the server lacks, a
    /// decision that is kept.
    pub fn notes(&self) -> Vec<String> {
        self.lock().notes.values().flatten().cloned().collect()
    }

    pub(crate) fn set(&self, reasons: Vec<String>) {
        self.lock().missing = reasons;
    }

    /// Replaces what is said about a topic.
    pub(crate) fn note(&self, topic: &'static str, notes: Vec<String>) {
        self.lock().notes.insert(topic, notes);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where it is said whether an output is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs {
    pub(crate) health: Health,
    pub(crate) metrics: Metrics,
}

impl Outputs {
    /// OCM's decisions.
    pub(crate) const OCM_DECISIONS: &str = "ocm-decisions";
    /// Slices.
    pub(crate) const SLICES: &str = "slices";
    /// ClusterProfiles.
    pub(crate) const CLUSTER_PROFILES: &str = "cluster-profiles";

    /// The output is written.
    pub(crate) fn on(&self, output: &'static str) {
        self.metrics.output(output, true);
        self.health.note(output, Vec::new());
    }

    /// The output is not written.
    pub(crate) fn off(&self, output: &'static str, why: &str) {
        self.metrics.output(output, false);
        self.health
            .note(output, vec![format!("the output {output} is off: {why}")]);
    }

    /// The output is not written because it is not wanted.
    pub(crate) fn unwanted(&self, output: &'static str) {
        let why = format!("--{output}=off");
        tracing::info!(output, "the output is off: {why}");
        self.off(output, &why);
    }
}

/// Why an output is off that is wanted.
pub(crate) const UNSERVED: &str = "its CustomResourceDefinition is not served";
