//! Works, as far as a rollout looks at them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::labels::{conditions, ocm, portolan};
use portolan_api::work::ManifestWork;
use portolan_rollout::{GroupKey, Status};
use std::collections::BTreeMap;

use super::set::Fingerprint;
use crate::sabotage::{Rule, broken};
use crate::upkeep::Version;

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
}

/// Characters of an agent's message that are kept.
const LONGEST_MESSAGE: usize = 200;

/// Why a cluster has not succeeded, in the words of its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Why {
    pub(super) reason: String,
    /// Cut.
    pub(super) message: String,
}

/// What a work's status says about the generation that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) status: Status,
    pub(super) since: Option<Timestamp>,
    /// When the cluster was given what the work carries.
    pub(super) given: Option<Timestamp>,
    pub(super) is_applied: bool,
    pub(super) is_available: bool,
    pub(super) is_degraded: bool,
    pub(super) is_progressing: bool,
    /// Nothing for a cluster that succeeded.
    pub(super) why: Option<Why>,
}

impl Work {
    pub(super) fn of(work: &ManifestWork) -> Work {
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
        }
    }
}

/// Whether a condition is about the generation that there is. One that does not say so is about none.
fn is_fresh(condition: &Condition, generation: Option<i64>) -> bool {
    broken(Rule::ObservedNotAssumed) || (generation.is_some() && condition.observed_generation == generation)
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
    let given = given(work);
    let (status, since) =
        if !is_true(applied) || is_stale(conditions::PROGRESSING) || is_stale(conditions::DEGRADED) {
            (Status::ToApply, given)
        } else {
            let (status, by) = match progressing {
                Some(progressing) => match (progressing.status.as_str(), is_true(degraded)) {
                    ("True", true) => (Status::Failed, degraded),
                    ("False", _) => (Status::Succeeded, Some(progressing)),
                    _ => (Status::Progressing, Some(progressing)),
                },
                None if is_true(degraded) => (Status::Failed, degraded),
                None if is_true(available) => (Status::Succeeded, available),
                None => (Status::Progressing, available.or(applied)),
            };
            // A condition that stayed as it was since before this template says nothing about how long this one has worked.
            (
                status,
                by.map(|condition| condition.last_transition_time.0).max(given),
            )
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
        since,
        given,
        is_applied: is_true(applied),
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
        message: cut(&said.message),
    }
}

fn not_reported() -> Why {
    Why {
        reason: "NotReported".to_owned(),
        message: "the cluster's agent has not reported on this version of the ManifestWork".to_owned(),
    }
}

fn cut(message: &str) -> String {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
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
