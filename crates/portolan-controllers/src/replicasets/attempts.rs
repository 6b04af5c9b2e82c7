//! For how long each cluster has tried to run the template of a replica set, whatever becomes of its work meanwhile.
//!
//! A member may patch its own works. If the time of a cluster were counted from its work alone, a member that edits the work
//! again and again would begin anew each time, and the slot of the cluster would never be free for another one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use portolan_rollout::Status;

use super::key::WorkKey;
use super::set::{Fingerprint, Set};
use super::works::Work;
use crate::moment::{Moment, Since};

/// What a cluster has made of a template so far. An attempt ends with a success that has lasted for the time of the soak.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    /// When the cluster was given the template. If a former work was still leaving: when it was the cluster's turn.
    begun: Since,
    /// Since when the agent reports on the template, whatever it said.
    first_report: Option<Since>,
    /// The longest success that has ended.
    longest_success: Option<Duration>,
}

impl Attempt {
    fn new(begun: Since) -> Attempt {
        Attempt {
            begun,
            first_report: None,
            longest_success: None,
        }
    }

    /// Whether the attempt has ended: what becomes of the workload later is another attempt.
    pub(super) fn has_soaked(&self, soak: Duration) -> bool {
        self.longest_success.is_some_and(|longest| longest >= soak)
    }

    /// When the cluster was given the template, on the wall clock as it goes now.
    pub(super) fn begun(&self, now: Moment) -> Timestamp {
        self.begun.wall(now)
    }

    pub(super) fn first_report(&self, now: Moment) -> Option<Timestamp> {
        Some(self.first_report?.wall(now))
    }

    /// Since when the rollout waits for a cluster that has not applied the template. The cluster may have applied it before, and
    /// somebody has edited the work since.
    pub(super) fn awaited(&self, now: Moment) -> Timestamp {
        self.first_report.unwrap_or(self.begun).wall(now)
    }
}

/// The attempts at the template of one replica set.
#[derive(Debug)]
pub(super) struct Attempts {
    template: Fingerprint,
    pub(super) clusters: BTreeMap<String, Attempt>,
}

impl Attempts {
    /// None has been made yet.
    pub(super) fn at(template: Fingerprint) -> Attempts {
        Attempts {
            template,
            clusters: BTreeMap::new(),
        }
    }

    /// Takes note of what the works of a replica set report now. Attempts at a former template count no more.
    pub(super) fn observe(&mut self, set: &Set, works: &mut BTreeMap<WorkKey, Work>, now: Moment) {
        if self.template != set.template {
            *self = Attempts::at(set.template);
        }
        let soak = set.longest_soak;
        for (key, work) in works {
            work.see(now);
            self.note(set, soak, &key.cluster, work, now);
        }
    }

    fn note(&mut self, set: &Set, soak: Duration, cluster: &str, work: &mut Work, now: Moment) {
        let ended = work.take_ended_success();
        let ended = ended.filter(|success| set.is_current(success.content));
        if let Some(success) = ended
            && let Some(attempt) = self.clusters.get_mut(cluster)
        {
            attempt.longest_success = attempt.longest_success.max(Some(success.since.age(now)));
        }
        if work.is_leaving || !set.is_current(work.content) {
            return;
        }
        let given = work.report.given;
        let given = given.map_or_else(|| Since::now(now), |given| Since::recorded(given, now));
        let attempt = self.clusters.entry(cluster.to_owned());
        let attempt = attempt.or_insert_with(|| Attempt::new(given));
        let status = work.report.status;
        if status != Status::Succeeded && attempt.has_soaked(soak) {
            *attempt = Attempt::new(Since::now(now));
        }
        if status != Status::ToApply && attempt.first_report.is_none() {
            attempt.first_report = work.seen();
        }
    }

    /// The turn of these clusters has come, and their former works are still leaving: a member that lets none go must not be waited
    /// for without an end. Whether that is news.
    pub(super) fn begin(&mut self, clusters: &[String], now: Moment) -> bool {
        let known = self.clusters.len();
        for cluster in clusters {
            let attempt = self.clusters.entry(cluster.clone());
            attempt.or_insert_with(|| Attempt::new(Since::now(now)));
        }
        self.clusters.len() > known
    }

    /// Forgets clusters that no decision names any more.
    pub(super) fn keep(&mut self, selected: &BTreeSet<String>) {
        self.clusters.retain(|cluster, _| selected.contains(cluster));
    }
}
