//! Works, as far as a rollout looks at them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::labels::{conditions, ocm, portolan};
use portolan_api::work::ManifestWork;
use portolan_rollout::{GroupKey, Status};
use portolan_runtime::failure::shortened;
use std::collections::BTreeMap;

use super::set::Fingerprint;
use crate::moment::{Moment, Since, status_written};
use crate::reconcile::Version;
use crate::sabotage::{Rule, sabotaged};

/// What is known of a work.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) version: Version,
    pub(super) uid: String,
    pub(super) placement: String,
    pub(super) content: Fingerprint,
    pub(super) labels: BTreeMap<String, String>,
    /// The group in which it got what it carries.
    pub(super) group: Option<GroupKey>,
    pub(super) is_leaving: bool,
    pub(super) report: Report,
    generation: Option<i64>,
    /// When its status was last written, by the hub's clock, where the state may be older than this process.
    recorded: Option<Timestamp>,
    /// Since when it is in the state that it reports. Nothing before somebody looked.
    seen: Option<Since>,
    /// The last success that has ended, until somebody looks.
    ended: Option<Success>,
}

/// A success of a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Success {
    /// What it was a success with.
    pub(super) content: Fingerprint,
    pub(super) since: Since,
}

/// Characters of an agent's message that are kept for each work. A message of an API server that names several fields
/// has a few hundred; the message of a condition may have 32,768 bytes, which is too much for each cluster of a fleet.
const LONGEST_MESSAGE: usize = 1_000;

/// Why a cluster has not succeeded, in the words of its agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Why {
    pub(super) reason: String,
    /// At most [`LONGEST_MESSAGE`] characters.
    pub(super) message: String,
}

/// What a work's status says about the generation that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) status: Status,
    /// When the state was reached, by the member's clock. Only compared with itself: nothing is counted from it.
    pub(super) changed: Option<Timestamp>,
    /// When the cluster was given what the work carries, by a controller's clock.
    pub(super) given: Option<Timestamp>,
    pub(super) is_applied: bool,
    /// Whether the agent reports that it could not apply the work.
    is_refused: bool,
    pub(super) is_available: bool,
    pub(super) is_degraded: bool,
    pub(super) is_progressing: bool,
    /// Nothing for a cluster that succeeded.
    pub(super) why: Option<Why>,
}

impl Report {
    /// Why the work failed, if the agent reports a failure: the agent could not apply the work, or the workload is degraded. A work
    /// without a report has not failed.
    pub(super) fn failure(&self) -> Option<&Why> {
        let is_failure = match self.status {
            Status::Failed => true,
            Status::ToApply => self.is_refused,
            _ => false,
        };
        self.why.as_ref().filter(|_| is_failure)
    }
}

impl Work {
    /// A work as the object shows it. The state that it reports may be older than this process if it `is_found`, which is
    /// before all works are known.
    pub(super) fn of(work: &ManifestWork, is_found: bool) -> Work {
        let metadata = &work.metadata;
        let labels = metadata.labels.clone().unwrap_or_default();
        let annotation = |key: &str| metadata.annotations.as_ref()?.get(key).map(String::as_str);
        let group = annotation(portolan::ROLLOUT_GROUP).and_then(|text| {
            let (index, name) = text.split_once('/')?;
            Some(GroupKey::new(name, index.parse().ok()?))
        });
        Work {
            version: Version::of(metadata),
            uid: metadata.uid.clone().unwrap_or_default(),
            placement: labels
                .get(ocm::REPLICA_SET_PLACEMENT)
                .cloned()
                .unwrap_or_default(),
            content: Fingerprint::of(&work.spec),
            labels,
            group,
            is_leaving: metadata.deletion_timestamp.is_some(),
            report: report(work),
            generation: metadata.generation,
            recorded: status_written(metadata).filter(|_| is_found),
            seen: None,
            ended: None,
        }
    }

    /// Goes on with what was known of the work, unless its state is another one. Until a cluster has succeeded, its state is
    /// what it reports of this generation and no time: an agent that writes new times would otherwise never run out of time, and
    /// keep a whole rollout waiting.
    pub(super) fn follow(&mut self, before: &Work) {
        let state = |work: &Work| {
            let Report {
                status,
                changed,
                given,
                ..
            } = work.report;
            let times = (status == Status::Succeeded).then_some((changed, given));
            (work.generation, status, times)
        };
        self.ended = before.ended;
        if self.uid == before.uid && state(self) == state(before) {
            self.seen = before.seen;
            self.recorded = before.recorded;
        } else if before.report.status == Status::Succeeded
            && let Some(since) = before.seen
        {
            let content = before.content;
            self.ended = Some(Success { content, since });
        }
    }

    /// Takes note that the work is in its state now, or since the time that the hub wrote down.
    pub(super) fn see(&mut self, now: Moment) {
        if self.seen.is_none() {
            self.seen = self.began(now);
        }
    }

    /// Since when it is in its state. Nothing before somebody looked.
    pub(super) fn seen(&self) -> Option<Since> {
        self.seen
    }

    /// The last success that has ended since somebody looked.
    pub(super) fn take_ended_success(&mut self) -> Option<Success> {
        self.ended.take()
    }

    /// Since when it is in its state, by what a controller saw or the hub wrote down, never by the member's clock: one that
    /// is behind would end a soak early, one that is ahead would never end it.
    fn began(&self, now: Moment) -> Option<Since> {
        if sabotaged(Rule::CountFromWhatTheHubSaw) {
            return Some(Since::recorded(self.report.changed.max(self.report.given)?, now));
        }
        match self.report.status {
            // What it was given it has had since then.
            Status::ToApply => Some(Since::recorded(self.report.given?, now)),
            _ => Some(match self.recorded {
                Some(recorded) => Since::recorded(
                    self.report.given.map_or(recorded, |given| given.max(recorded)),
                    now,
                ),
                None => Since::now(now),
            }),
        }
    }

    /// How many seconds the cluster took from the template to its state, for an estimate. The member's own time is closer than
    /// the hub's, which moves with every report; it counts as far as the hub's bounds let it.
    pub(super) fn took(&self, now: Moment) -> Option<i64> {
        let given = self.report.given?;
        let reached = self.report.changed?.min(self.since(now)?);
        Some(reached.duration_since(given).as_secs().max(0))
    }

    /// Since when the work is in its state, on the wall clock as it goes now.
    pub(super) fn since(&self, now: Moment) -> Option<Timestamp> {
        let seen = self.seen.or_else(|| self.began(now))?;
        Some(seen.wall(now))
    }
}

/// Whether a condition is about the generation that there is. One that does not say so is about none.
fn is_fresh(condition: &Condition, generation: Option<i64>) -> bool {
    sabotaged(Rule::ObservedNotAssumed)
        || (generation.is_some() && condition.observed_generation == generation)
}

/// How far a cluster is. Nothing but what was reported about this generation counts: an older success is none.
///
/// `Progressing` decides where something produces it. Nothing does by default, and then `Available` has to do.
fn report(work: &ManifestWork) -> Report {
    let generation = work.metadata.generation;
    let list = work.status.iter().flat_map(|status| &status.conditions);
    let find = |type_: &str| list.clone().find(|condition| condition.type_ == type_);
    let fresh = |type_: &str| find(type_).filter(|condition| is_fresh(condition, generation));
    let is_true =
        |condition: Option<&Condition>| condition.is_some_and(|condition| condition.status == "True");
    let (applied, available) = (fresh(conditions::APPLIED), fresh(conditions::WORK_AVAILABLE));
    let (progressing, degraded) = (fresh(conditions::PROGRESSING), fresh(conditions::DEGRADED));
    let is_stale = |type_: &str| find(type_).is_some() && fresh(type_).is_none();
    let (status, by) =
        if !is_true(applied) || is_stale(conditions::PROGRESSING) || is_stale(conditions::DEGRADED) {
            (Status::ToApply, None)
        } else {
            match progressing {
                Some(progressing) => match (progressing.status.as_str(), is_true(degraded)) {
                    ("True", true) => (Status::Failed, degraded),
                    ("False", _) => (Status::Succeeded, Some(progressing)),
                    _ => (Status::Progressing, Some(progressing)),
                },
                None if is_true(degraded) => (Status::Failed, degraded),
                None if is_true(available) => (Status::Succeeded, available),
                None => (Status::Progressing, available.or(applied)),
            }
        };
    let decisive = match status {
        Status::Succeeded => None,
        Status::ToApply if !is_true(applied) => applied,
        Status::ToApply => None,
        _ if is_true(degraded) => degraded,
        _ => progressing.or(available),
    };
    let why = (status != Status::Succeeded).then(|| decisive.map_or_else(not_reported, |by| why(work, by)));
    Report {
        why,
        is_progressing: is_true(progressing),
        status,
        changed: by.map(|condition| condition.last_transition_time.0),
        given: given(work),
        is_applied: is_true(applied),
        is_refused: applied.is_some_and(|condition| condition.status == "False"),
        is_available: is_true(available),
        is_degraded: is_true(degraded),
    }
}

/// The reason of a condition of a work. What one of its manifests says is more exact where that does not hold, too.
fn why(work: &ManifestWork, condition: &Condition) -> Why {
    let manifests = work
        .status
        .iter()
        .filter_map(|status| status.resource_status.as_ref())
        .flat_map(|resources| &resources.manifests);
    let exact = manifests
        .flat_map(|manifest| &manifest.conditions)
        .find(|said| said.type_ == condition.type_ && said.status == condition.status);
    let said = exact
        .filter(|said| is_fresh(said, work.metadata.generation))
        .unwrap_or(condition);
    Why {
        reason: said.reason.clone(),
        message: shortened(&said.message, LONGEST_MESSAGE),
    }
}

fn not_reported() -> Why {
    Why {
        reason: "NotReported".to_owned(),
        message: "the cluster's agent has not reported on this version of the ManifestWork".to_owned(),
    }
}

/// When the cluster was given what the work carries, as far as that can be told.
fn given(work: &ManifestWork) -> Option<Timestamp> {
    let annotations = work.metadata.annotations.as_ref();
    let noted = annotations.and_then(|annotations| annotations.get(portolan::ROLLOUT_SINCE)?.parse().ok());
    noted.or_else(|| {
        let is_first = work.metadata.generation == Some(1);
        work.metadata
            .creation_timestamp
            .as_ref()
            .filter(|_| is_first)
            .map(|time| time.0)
    })
}
