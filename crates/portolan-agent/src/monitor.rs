//! What an agent says about itself: whether it does its work, and what it counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_api::cluster::ManagedCluster;
use portolan_api::count::counted;
use portolan_api::labels::conditions;
use portolan_runtime::failure::shortened;
use portolan_runtime::logging::{ChangeLog, FailureLog};
use portolan_runtime::tasks::Tasks;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use crate::spoke::Problem;
use crate::work::{Status, Work, WorkKey, WorkKind};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Works {
    kind: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Applies {
    result: &'static str,
}

/// How an agent is. Cheap to clone; all clones are of the same agent.
#[derive(Clone, Debug)]
pub struct Monitor {
    known: Arc<Mutex<Known>>,
    pub(crate) tasks: Tasks,
    /// Failures of requests to the hub.
    pub(crate) hub: FailureLog,
    /// Failures of requests to the member cluster.
    pub(crate) spoke: FailureLog,
    changes: Arc<Mutex<ChangeLog>>,
    applies: Family<Applies, Counter>,
}

#[derive(Debug)]
struct Known {
    /// What is said about each work.
    works: BTreeMap<WorkKey, &'static str>,
    /// Kinds of which not all works are known.
    unknown: BTreeSet<WorkKind>,
    /// Kinds that the hub does not serve.
    unserved: BTreeSet<WorkKind>,
    /// Whether the member cluster has a place for the records of a kind, as far as it has said so.
    records: BTreeMap<WorkKind, bool>,
    /// Whether the hub gave an answer when it was last asked; nothing before that.
    reachable: Option<bool>,
    /// What the hub said when it refused the last heartbeat.
    refused: Option<String>,
    /// That the hub has no ManagedCluster for this agent.
    no_cluster: Option<String>,
    /// That another agent runs for the same cluster.
    other_agent: Option<String>,
    /// When the Lease was last renewed, or the agent started.
    renewed: Instant,
    /// Whether it was ready once.
    was_ready: bool,
}

impl Known {
    /// Definitions that are missing, or not known to be there, without which no work can be applied.
    fn missing_definitions(&self) -> Vec<String> {
        let served = WorkKind::ALL
            .into_iter()
            .filter(|kind| !self.unserved.contains(kind));
        let served: Vec<WorkKind> = served.collect();
        if served.is_empty() {
            let [first, second] = WorkKind::ALL.map(WorkKind::resource);
            return vec![format!(
                "the hub serves neither {first} nor {second}; install their CustomResourceDefinitions on the hub (portolan crds \
                 | kubectl apply -f -)"
            )];
        }
        let has_records = |kind: &WorkKind| self.records.get(kind) == Some(&true);
        // Where one kind has its records, the other is needed only by works of its own.
        let is_needed = |kind: &WorkKind| {
            !served.iter().any(has_records) || self.works.keys().any(|work| work.kind == *kind)
        };
        let missing = served.iter().filter(|kind| !has_records(kind) && is_needed(kind));
        let said = missing.map(|kind| match self.records.get(kind) {
            Some(_) => kind.missing_definition(),
            None => format!(
                "the member cluster has not said yet whether it serves {}",
                kind.record_resource()
            ),
        });
        said.collect()
    }
}

impl Monitor {
    /// Of the agent of a cluster.
    pub(crate) fn of(cluster: &str) -> Monitor {
        let renewal = format!(
            "the token has ended, or the cluster left the hub: portolan join {cluster} writes a new kubeconfig, which the agent \
             reads by itself; without one, stop the agent: applied objects stay"
        );
        Monitor {
            hub: FailureLog::advising("the hub", renewal),
            ..Monitor::new()
        }
    }

    pub(crate) fn new() -> Monitor {
        let known = Known {
            works: BTreeMap::new(),
            unknown: BTreeSet::from(WorkKind::ALL),
            unserved: BTreeSet::new(),
            records: BTreeMap::new(),
            reachable: None,
            refused: None,
            no_cluster: None,
            other_agent: None,
            renewed: Instant::now(),
            was_ready: false,
        };
        Monitor {
            tasks: Tasks::default(),
            hub: FailureLog::new("the hub"),
            spoke: FailureLog::new("the member cluster"),
            changes: Arc::default(),
            known: Arc::new(Mutex::new(known)),
            applies: Family::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This is said about a work.
    pub(crate) fn told(&self, work: &Work, status: &Status) {
        let mut applied = status.conditions.iter();
        let applied = applied.find(|condition| condition.type_ == conditions::APPLIED);
        let state = match applied.map(|condition| condition.status.as_str()) {
            _ if work.deleting => "deleting",
            Some("True") => "applied",
            Some("False") => "failed",
            _ => "held",
        };
        self.known().works.insert(work.key.clone(), state);
    }

    pub(crate) fn gone(&self, key: &WorkKey) {
        self.known().works.remove(key);
    }

    /// Of these kinds not all works are known.
    pub(crate) fn lacks(&self, kinds: BTreeSet<WorkKind>) {
        self.known().unknown = kinds;
    }

    /// Whether the hub serves a kind of works.
    pub(crate) fn serves_works(&self, kind: WorkKind, is_served: bool) {
        let unserved = &mut self.known().unserved;
        match is_served {
            true => unserved.remove(&kind),
            false => unserved.insert(kind),
        };
    }

    /// Whether the member cluster has a place for records of works of a kind.
    pub(crate) fn keeps_records(&self, kind: WorkKind, is_served: bool) {
        self.known().records.insert(kind, is_served);
    }

    /// Whether all works are known and can be applied for the first time.
    pub(crate) fn is_ready_at_last(&self) -> bool {
        let mut known = self.known();
        let is_first = !known.was_ready && known.unknown.is_empty() && known.missing_definitions().is_empty();
        known.was_ready |= is_first;
        is_first
    }

    /// Says in the log what was done about a work; a burst is some lines and a count.
    pub(crate) fn say(&self, work: &WorkKey, what: &str) {
        if self.changes().changed(Instant::now()) {
            tracing::info!("{}: {what}", shortened(&work.to_string(), 200));
        }
    }

    /// Says the count of a burst that is over.
    pub(crate) fn say_burst(&self) {
        if let Some(more) = self.changes().unsaid(Instant::now()) {
            tracing::info!("{} changed", counted(more, "more work"));
        }
    }

    fn changes(&self) -> MutexGuard<'_, ChangeLog> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object was applied or made, or was not.
    pub(crate) fn applied<T>(&self, answer: &Result<T, Problem>) {
        let result = match answer {
            Ok(_) => "ok",
            Err(Problem::NotFound(_)) => "not_found",
            Err(Problem::Conflict(_)) => "conflict",
            Err(Problem::Refused(_)) => "refused",
            Err(Problem::Unanswered(_) | Problem::TooLarge(_)) => "error",
        };
        self.applies.get_or_create(&Applies { result }).inc();
    }

    /// The hub was asked for something. That it refused is an answer too.
    pub(crate) fn asked_hub<T>(&self, answer: &Result<T, Problem>) {
        self.known().reachable = Some(!matches!(answer, Err(Problem::Unanswered(_))));
    }

    /// The hub was asked to renew the Lease. Only that request says whether the hub still accepts this agent: a hub may
    /// refuse the status of a single work.
    pub(crate) fn renewed<T>(&self, answer: &Result<T, Problem>) {
        self.asked_hub(answer);
        let mut known = self.known();
        match answer {
            Ok(_) => {
                known.renewed = Instant::now();
                known.refused = None;
            }
            // A Lease that is not there is made; what is not there now is its namespace.
            Err(Problem::Refused(message) | Problem::NotFound(message)) => {
                known.refused = Some(message.clone());
            }
            Err(_) => {}
        }
    }

    /// The hub has a ManagedCluster of this name, or none.
    pub(crate) fn found_cluster(&self, name: &str, cluster: Option<&ManagedCluster>) {
        let note = cluster.is_none().then(|| {
            format!(
                "the hub has no ManagedCluster {name}, so that nothing is reported about this cluster; `portolan join {name}` \
                 makes the ManagedCluster, its namespace and the rights of the agent"
            )
        });
        let mut known = self.known();
        if let Some(note) = &note
            && known.no_cluster.is_none()
        {
            tracing::warn!("{note}");
        }
        known.no_cluster = note;
    }

    /// Another agent runs for the same cluster, or does not any more.
    pub(crate) fn other_agent(&self, warning: Option<String>) {
        self.known().other_agent = warning;
    }

    /// The task that died or the loop that stands still, if there is one. The agent is to be started again then.
    pub fn why_not_alive(&self) -> Option<String> {
        self.tasks.failure()
    }

    /// What is missing before it does its work, one reason each; nothing when it is ready.
    pub fn why_not_ready(&self) -> Vec<String> {
        let mut problems = self.hub.problems();
        let known = self.known();
        let unknown = known.unknown.iter().map(|kind| {
            let resource = kind.resource();
            let listing = || format!("{resource} are still being listed");
            let why = problems.remove(resource).unwrap_or_else(listing);
            format!("{why}; applied objects are kept")
        });
        let mut missing: Vec<String> = self.why_not_alive().into_iter().chain(unknown).collect();
        missing.extend(known.missing_definitions());
        if known.reachable == Some(false) {
            missing.push("the hub does not answer; applied objects are kept".to_owned());
        }
        // The watches of an account that is gone may go on for minutes; the heartbeat asks anew each time.
        missing.extend(known.refused.iter().map(|message| {
            format!("the hub refuses to renew the Lease of this cluster: {message}; applied objects are kept")
        }));
        missing
    }

    /// What is no reason not to be ready and still worth knowing: what cannot be read.
    pub fn notes(&self) -> Vec<String> {
        let mut problems = self.hub.problems();
        let known = self.known();
        known
            .unknown
            .iter()
            .for_each(|kind| drop(problems.remove(kind.resource())));
        problems.extend(self.spoke.problems());
        let more = [known.no_cluster.clone(), known.other_agent.clone()];
        let problems = problems.into_values().chain(self.hub.unreadable());
        problems.chain(more.into_iter().flatten()).collect()
    }

    /// What it counted, in OpenMetrics' text format.
    pub fn text(&self) -> String {
        let works = Family::<Works, Gauge>::default();
        let single = |value: bool| {
            let gauge: Gauge = Gauge::default();
            gauge.set(value.into());
            gauge
        };
        let age: Gauge<f64, std::sync::atomic::AtomicU64> = Gauge::default();
        let ready = single(self.why_not_ready().is_empty());
        let reachable = {
            let known = self.known();
            for (key, state) in &known.works {
                let kind = key.kind.to_string();
                works.get_or_create(&Works { kind, state }).inc();
            }
            age.set(known.renewed.elapsed().as_secs_f64());
            single(known.reachable == Some(true))
        };
        let mut registry = Registry::with_prefix("portolan_agent");
        registry.register("works", "Works by kind and by what is said about them", works);
        registry.register(
            "applies",
            "Requests that make an object or bring it up to date, by result",
            self.applies.clone(),
        );
        let since = "Seconds since the Lease was renewed, or since the start";
        registry.register("heartbeat_age_seconds", since, age);
        let answered = "1 when the hub answered the last time that something was written there";
        registry.register("hub_reachable", answered, reachable);
        registry.register("ready", "1 when /readyz says 200", ready);
        let unreadable: Family<[(&str, String); 1], Gauge> = Family::default();
        for (resource, count) in self.hub.count_unreadable() {
            let gauge = unreadable.get_or_create(&[("resource", resource)]);
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let what = "Works that are there and cannot be read, by resource";
        registry.register("unreadable_objects", what, unreadable);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
        text
    }
}

#[cfg(test)]
mod tests;
