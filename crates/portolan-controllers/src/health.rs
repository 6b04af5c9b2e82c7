//! Whether the controllers do their work, for probes and people.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use portolan_runtime::logging::FailureLog;
use portolan_runtime::tasks::Tasks;

use crate::metrics::Metrics;

/// Readiness of the controllers, and what else one should know of them, shared.
#[derive(Clone, Debug)]
pub struct Health {
    said: Arc<Mutex<Said>>,
    log: FailureLog,
    tasks: Tasks,
}

#[derive(Debug)]
struct Said {
    missing: Vec<Missing>,
    /// Every resource that decisions have waited for: without it they do not go on.
    needed: BTreeSet<Cow<'static, str>>,
    notes: BTreeMap<&'static str, Vec<String>>,
}

/// A reason why decisions are not made yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The resource that is waited for, if it is one: a failure to read it is the better reason.
    pub(crate) resource: Cow<'static, str>,
    pub(crate) text: String,
}

impl From<&str> for Missing {
    fn from(text: &str) -> Missing {
        Missing {
            resource: Cow::Borrowed(""),
            text: text.to_owned(),
        }
    }
}

impl Default for Health {
    fn default() -> Self {
        Health {
            said: Arc::new(Mutex::new(Said {
                missing: vec![Missing::from("the controllers are starting")],
                needed: BTreeSet::new(),
                notes: BTreeMap::new(),
            })),
            log: FailureLog::new("the hub"),
            tasks: Tasks::default(),
        }
    }
}

impl Health {
    /// Whether every cache is complete and kept up to date, the first decisions are written, the hub accepts the credentials
    /// and every task runs.
    pub fn is_ready(&self) -> bool {
        self.lock().missing.is_empty()
            && self.why_not_alive().is_none()
            && self.log.refusal().is_none()
            && self.lost().is_empty()
    }

    /// What decisions are made of and can no longer be read, and why, by resource.
    fn lost(&self) -> BTreeMap<String, String> {
        let mut lost = self.log.lasting_problems();
        let said = self.lock();
        lost.retain(|resource, _| said.needed.contains(resource.as_str()));
        lost
    }

    /// The task that died or the loop that stands still, if there is one. The controllers are to be started again then.
    pub fn why_not_alive(&self) -> Option<String> {
        self.tasks.failure()
    }

    /// What decisions wait for: for each resource the right that is missing or why it cannot be read, if that is so.
    pub fn why_not_ready(&self) -> Vec<String> {
        let mut problems = self.log.problems();
        let mut lost = self.lost();
        let missing = self.lock().missing.clone();
        missing
            .iter()
            .for_each(|missing| drop(lost.remove(&*missing.resource)));
        let missing = missing
            .into_iter()
            .map(|missing| problems.remove(&*missing.resource).unwrap_or(missing.text));
        let missing = missing.chain(lost.into_values()).chain(self.log.refusal());
        self.why_not_alive().into_iter().chain(missing).collect()
    }

    /// What is no reason not to be ready and still worth knowing: an output that is off, a field that the server lacks, a
    /// decision that is kept, a resource that decisions do not depend on and that cannot be read, an object that cannot be
    /// read.
    pub fn notes(&self) -> Vec<String> {
        let mut problems = self.log.problems();
        let lost = self.lost();
        let said = self.lock();
        said.missing
            .iter()
            .for_each(|missing| drop(problems.remove(&*missing.resource)));
        problems.retain(|resource, _| !lost.contains_key(resource));
        let notes = said.notes.values().flatten().cloned();
        notes
            .chain(problems.into_values())
            .chain(self.log.unreadable())
            .collect()
    }

    /// The tasks of the controllers.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Where failures of the controllers are logged.
    pub(crate) fn failures(&self) -> &FailureLog {
        &self.log
    }

    pub(crate) fn set(&self, reasons: Vec<Missing>) {
        let mut said = self.lock();
        let needed = reasons.iter().map(|missing| missing.resource.clone());
        said.needed.extend(needed.filter(|resource| !resource.is_empty()));
        said.missing = reasons;
    }

    /// Replaces what is said about a topic.
    pub(crate) fn note(&self, topic: &'static str, notes: Vec<String>) {
        self.lock().notes.insert(topic, notes);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use kube::runtime::watcher;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_hub_that_is_gone_for_long_makes_it_unready_until_the_hub_answers() {
        let health = Health::default();
        let resource = "placements.cluster.open-cluster-management.io";
        health.set(vec![Missing {
            resource: resource.into(),
            text: "Placement is still being listed".to_owned(),
        }]);
        health.set(Vec::new());
        assert!(health.is_ready());
        let gone = || {
            let refused = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "refused");
            watcher::Error::WatchStartFailed(kube::Error::Service(Box::new(refused)))
        };
        health.failures().watch_failed(resource, &gone());
        health
            .failures()
            .watch_failed("leases.coordination.k8s.io", &gone());
        assert!(health.is_ready(), "it may be back in a moment");
        tokio::time::sleep(std::time::Duration::from_secs(6)).await;
        assert!(!health.is_ready());
        let reasons = health.why_not_ready();
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        assert!(reasons[0].contains("the hub cannot be reached"), "{reasons:?}");
        assert_eq!(health.notes().len(), 1, "decisions do not depend on leases");
        health.failures().answered();
        assert!(health.is_ready());
        assert_eq!(health.notes(), [""; 0]);
    }

    #[tokio::test]
    async fn a_missing_right_is_named_instead_of_a_list_that_is_under_way() {
        let health = Health::default();
        let resource = "placements.cluster.open-cluster-management.io";
        health.set(vec![
            Missing {
                resource: resource.into(),
                text: "Placement is still being listed".to_owned(),
            },
            Missing::from("the first decisions are being written"),
        ]);
        assert_eq!(health.why_not_ready()[0], "Placement is still being listed");
        let forbidden = Status::failure("User \"eve\" cannot list", "Forbidden").with_code(403);
        let error = watcher::Error::InitialListFailed(kube::Error::Api(Box::new(forbidden)));
        health.failures().watch_failed(resource, &error);
        health
            .failures()
            .watch_failed("leases.coordination.k8s.io", &error);
        let reasons = health.why_not_ready();
        assert!(
            reasons[0].contains("list is forbidden for eve; grant"),
            "{reasons:?}"
        );
        assert_eq!(reasons.len(), 2);
        // What decisions do not depend on is worth knowing, and no reason.
        let notes = health.notes();
        assert!(notes.len() == 1 && notes[0].starts_with("leases"), "{notes:?}");
    }
}
