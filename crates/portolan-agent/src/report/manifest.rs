//! The conditions and values of one manifest.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::labels::conditions;
use portolan_api::work::{ManifestCondition, StatusFeedback};

use super::conditions::{ConditionStatus, NewCondition, dated};
use super::feedback::feedback;
use super::finished::as_it_was;
use super::manifest_result::{ApplyOutcome, ManifestResult, ObservedObject};
use super::rules::Rules;
use crate::cost::Cost;
use crate::work::{Work, WorkKind};

/// A manifest was applied.
const APPLIED: &str = "AppliedManifestComplete";
/// Type of the condition that says whether all asked-for values were read back.
pub(super) const FEEDBACK_SYNCED: &str = "StatusFeedbackSynced";
/// Why nothing is said about the content of an object.
const HIDDEN: &str = "the executor of the work may not get the object";

/// The conditions and values of a manifest, with the times of those that stay as they were.
pub(super) fn manifest<'f>(
    work: &Work,
    finding: &'f ManifestResult,
    last: Option<&ManifestCondition>,
    rules: &mut Rules<'f>,
    cost: &mut Cost,
    now: Timestamp,
) -> ManifestCondition {
    let before = last.map_or(&[][..], |manifest| &manifest.conditions);
    let mut said = vec![applied(finding), available(finding)];
    let mut values = None;
    if let (Some(target), ObservedObject::There(object)) = (&finding.target, &finding.found) {
        by_rules(&mut said, rules.conditions(target, object, cost));
        if !target.config.feedback.is_empty() {
            let (found, problems) = feedback(target, object, cost);
            said.push(match problems.as_slice() {
                [] => NewCondition::new(FEEDBACK_SYNCED, ConditionStatus::True, "StatusFeedbackSynced", ""),
                problems => NewCondition::new(
                    FEEDBACK_SYNCED,
                    ConditionStatus::False,
                    "StatusFeedbackSyncFailed",
                    problems.join("; "),
                ),
            });
            values = Some(StatusFeedback { values: found });
        }
    }
    if let (Some(target), ObservedObject::Hidden) = (&finding.target, &finding.found) {
        by_rules(&mut said, rules.unknown(target, HIDDEN, cost));
        if !target.config.feedback.is_empty() {
            said.push(NewCondition::new(
                FEEDBACK_SYNCED,
                ConditionStatus::False,
                "StatusFeedbackSyncFailed",
                HIDDEN,
            ));
        }
    }
    if finding
        .target
        .as_ref()
        .is_some_and(|target| target.config.feedback.is_empty())
        && work.key.kind == WorkKind::ManifestWork
    {
        said.push(NewCondition::new(
            FEEDBACK_SYNCED,
            ConditionStatus::True,
            "NoStatusFeedbackSynced",
            "",
        ));
    }
    // This one dates the values.
    let read = |feedback: Option<&StatusFeedback>| {
        let values = feedback.map(|feedback| feedback.values.clone());
        values.unwrap_or_default()
    };
    let is_same = last.is_some_and(|last| read(last.status_feedback.as_ref()) == read(values.as_ref()));
    let is_dated = |condition: &&Condition| condition.type_ != FEEDBACK_SYNCED || is_same;
    let before_now: Vec<Condition> = before.iter().filter(is_dated).cloned().collect();
    let mut conditions = dated(said, &before_now, work.generation, now);
    if finding.applied == ApplyOutcome::Finished {
        conditions = as_it_was(conditions, before);
    }
    ManifestCondition {
        resource_meta: finding.meta.clone(),
        status_feedback: values,
        conditions,
    }
}

fn applied(finding: &ManifestResult) -> NewCondition {
    match &finding.applied {
        // What was said when it was finished takes the place of this.
        ApplyOutcome::Done | ApplyOutcome::Finished => NewCondition::new(
            conditions::APPLIED,
            ConditionStatus::True,
            APPLIED,
            "the manifest is applied",
        ),
        ApplyOutcome::Failed { reason, message } => NewCondition::new(
            conditions::APPLIED,
            ConditionStatus::False,
            reason,
            message.clone(),
        ),
    }
}

fn available(finding: &ManifestResult) -> NewCondition {
    let (truth, reason, message) = match &finding.found {
        ObservedObject::There(_) | ObservedObject::Hidden => {
            (ConditionStatus::True, "ResourceAvailable", "the object is there")
        }
        ObservedObject::Missing => (
            ConditionStatus::False,
            "ResourceNotAvailable",
            "the object is not there",
        ),
        ObservedObject::Unknown(why) => (ConditionStatus::Unknown, "FetchingResourceFailed", why.as_str()),
    };
    NewCondition::new(conditions::WORK_AVAILABLE, truth, reason, message)
}

/// Adds what rules say. A work that has its own idea of what Available means says it in place of the agent: the hub refuses a
/// status that has a type twice.
fn by_rules(said: &mut Vec<NewCondition>, ruled: Vec<NewCondition>) {
    if ruled.iter().any(|said| said.r#type == conditions::WORK_AVAILABLE) {
        said.retain(|said| said.r#type != conditions::WORK_AVAILABLE);
    }
    said.extend(ruled);
}
