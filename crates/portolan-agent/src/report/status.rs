//! Builds the status of a work from the results of its manifests.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::FieldError;
use portolan_api::count::{are, counted, part_are};
use portolan_api::labels::conditions;
use portolan_api::semantic::{ManifestPlace, options_without_effect};
use portolan_api::work::{ManifestCondition, ManifestResourceMeta};
use serde_json::{Value, json};

use super::conditions::{ConditionStatus, NewCondition, aggregate, dated, truth};
use super::finished::as_it_was;
use super::fitting::fit;
use super::manifest::manifest;
use super::manifest_result::{ApplyOutcome, ManifestResult, is_over};
use super::rule_reasons;
use super::rules::Rules;
use crate::cost::Cost;
use crate::work::{Before, Setting, Status, Work, WorkKind};

/// All manifests of a work were applied.
const WORK_APPLIED: &str = "AppliedManifestWorkComplete";
/// At least one was not.
const WORK_NOT_APPLIED: &str = "AppliedManifestWorkFailed";
/// The work is older than what was applied.
const HUB_WENT_BACK: &str = "HubWentBack";
/// The work cannot be read.
const UNREADABLE: &str = "UnreadableWork";
/// The hub does not take the status of the work.
const UNWRITABLE: &str = "StatusRefused";
/// It cannot be found out what the deletion of a work means.
const UNDECIDED: &str = "DefinitionUnknown";
/// Objects of a deleted work are still there.
const REMOVING: &str = "RemovingObjects";
/// The status of a work whose manifests were dealt with.
pub(crate) fn report(work: &Work, findings: &[ManifestResult], cost: &mut Cost, now: Timestamp) -> Status {
    let mut rules = Rules::new();
    let before = Before::of(&work.status);
    let manifests = findings.iter().enumerate().map(|(number, finding)| {
        cost.enter(number);
        let last = before.manifest(&finding.meta);
        manifest(work, finding, last, &mut rules, cost, now)
    });
    let manifests: Vec<ManifestCondition> = manifests.collect();
    let mut said = vec![
        with_idle_options(applied(findings), work, findings),
        available(&manifests),
    ];
    said.extend(from_rules(&manifests));
    let mut conditions = with_others(work, said, now);
    if is_over(findings) {
        conditions = as_it_was(conditions, &work.status.conditions);
        conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    }
    fit(Status {
        conditions,
        manifests,
    })
}

/// The status of a work that is older than what was applied: nothing is known to have changed.
pub(crate) fn held(work: &Work, applied: i64, now: Timestamp) -> Status {
    let why = format!(
        "generation {applied} of this work was applied here, and the hub now has generation {}: it may be an older copy \
         of itself. Nothing is changed or removed until the work is edited",
        work.generation
    );
    let said = vec![NewCondition::new(
        conditions::APPLIED,
        ConditionStatus::Unknown,
        HUB_WENT_BACK,
        why,
    )];
    instead(work, said, now)
}

/// The status of a work whose status the hub refuses. What was said before stays.
pub(crate) fn unwritable(work: &Work, problem: &str, now: Timestamp) -> Status {
    let why = format!("the hub refuses the status of this work: {problem}");
    let said = vec![NewCondition::new(
        conditions::APPLIED,
        ConditionStatus::Unknown,
        UNWRITABLE,
        why,
    )];
    instead(work, said, now)
}

/// The status of a work that cannot be read.
pub(crate) fn unreadable(work: &Work, why: &str, now: Timestamp) -> Status {
    let why = format!("the work cannot be read: {why}. Nothing is changed or removed");
    instead(
        work,
        vec![NewCondition::new(
            conditions::APPLIED,
            ConditionStatus::False,
            UNREADABLE,
            why,
        )],
        now,
    )
}

/// The status of a deleted work some of whose objects are still there.
pub(crate) fn waiting(work: &Work, left: &[String], now: Timestamp) -> Status {
    let why = format!(
        "{} {} still there: {}",
        counted(left.len(), "object"),
        are(left.len()),
        first(left)
    );
    instead(
        work,
        vec![NewCondition::new(
            conditions::DELETING,
            ConditionStatus::True,
            REMOVING,
            why,
        )],
        now,
    )
}

/// The status of a deleted work whose objects stay until it is known whether somebody deleted it.
pub(crate) fn undecided(work: &Work, problem: &str, now: Timestamp) -> Status {
    let why = format!(
        "the hub does not tell whether this work alone is deleted or its whole kind, and nothing is removed before that: \
         {problem}. Accepted: an agent that may get /apis/*, as everybody may who has the role system:discovery"
    );
    instead(
        work,
        vec![NewCondition::new(
            conditions::DELETING,
            ConditionStatus::True,
            UNDECIDED,
            why,
        )],
        now,
    )
}

/// The status as it was, but for what is said now.
fn instead(work: &Work, said: Vec<NewCondition>, now: Timestamp) -> Status {
    let types: BTreeSet<&str> = said.iter().map(|said| said.r#type.as_str()).collect();
    let before = work.status.conditions.iter();
    let mut conditions: Vec<Condition> = before
        .filter(|condition| !types.contains(condition.type_.as_str()))
        .cloned()
        .collect();
    conditions.extend(dated(said, &work.status.conditions, work.generation, now));
    conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    Status {
        conditions,
        manifests: work.status.manifests.clone(),
    }
}

fn applied(findings: &[ManifestResult]) -> NewCondition {
    let failed: Vec<String> = findings
        .iter()
        .filter_map(|finding| match &finding.applied {
            ApplyOutcome::Done | ApplyOutcome::Finished => None,
            ApplyOutcome::Failed { message, .. } => Some(format!("{}: {message}", named(&finding.meta))),
        })
        .collect();
    match failed.as_slice() {
        [] => NewCondition::new(
            conditions::APPLIED,
            ConditionStatus::True,
            WORK_APPLIED,
            "all manifests are applied",
        ),
        failed => NewCondition::new(
            conditions::APPLIED,
            ConditionStatus::False,
            WORK_NOT_APPLIED,
            format!(
                "{} not applied: {}",
                part_are(failed.len(), findings.len(), "manifest"),
                first(failed)
            ),
        ),
    }
}

/// Identifiers of options and of objects that stay, times manifests. A work with more of them is not looked through for mistakes:
/// it would keep its agent busy.
const MOST_COMPARED: usize = 100_000;

/// The same, with the options of the work that have no effect. Others read reason and status, so only the message says so. While
/// the place of a manifest is not known, an option may mean that one.
fn with_idle_options(mut said: NewCondition, work: &Work, findings: &[ManifestResult]) -> NewCondition {
    let Ok(desired) = &work.desired else { return said };
    let places: Option<Vec<ManifestPlace<'_>>> = findings.iter().map(place).collect();
    let Some(places) = places else { return said };
    let orphans = desired.delete_option.selectively_orphans.as_ref();
    let orphans = orphans.map_or(0, |orphans| orphans.orphaning_rules.len());
    let pairs = (desired.settings.len() + orphans).saturating_mul(places.len());
    if desired.excess.is_some() || pairs > MOST_COMPARED {
        return said;
    }
    let options: Vec<_> = desired.settings.iter().map(Setting::option).collect();
    let idle = options_without_effect(&options, Some(&desired.delete_option), &places, "spec");
    if !idle.is_empty() {
        let idle: Vec<String> = idle.iter().map(FieldError::statement).collect();
        said.message.push_str(&format!("; {}", first(&idle)));
    }
    said
}

fn place(finding: &ManifestResult) -> Option<ManifestPlace<'_>> {
    let target = finding.target.as_ref()?;
    Some(ManifestPlace {
        group: &target.id.group,
        kind: &target.kind,
        resource: target.id.resource.as_str().into(),
        namespace: &target.id.namespace,
        name: &target.id.name,
        is_certain: true,
    })
}

/// What to call a manifest, which may lack everything.
fn named(meta: &ManifestResourceMeta) -> String {
    let kind = if meta.kind.is_empty() {
        "manifest"
    } else {
        meta.kind.as_str()
    };
    match (meta.namespace.as_str(), meta.name.as_str()) {
        (_, "") => format!("{kind} number {}", meta.ordinal),
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}

/// The first few of a list, in words.
fn first(items: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = items.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
    if items.len() > SHOWN {
        text.push_str(&format!("; and {} more", items.len() - SHOWN));
    }
    text
}

fn truths(manifests: &[ManifestCondition], r#type: &str) -> Vec<ConditionStatus> {
    manifests
        .iter()
        .flat_map(|manifest| &manifest.conditions)
        .filter(|condition| condition.type_ == r#type)
        .map(truth)
        .collect()
}

fn available(manifests: &[ManifestCondition]) -> NewCondition {
    let truth = aggregate(
        conditions::WORK_AVAILABLE,
        &truths(manifests, conditions::WORK_AVAILABLE),
    );
    let (reason, message) = match truth {
        ConditionStatus::True => ("ResourcesAvailable", "all objects are available".to_owned()),
        ConditionStatus::False => ("ResourcesNotAvailable", absent(manifests)),
        ConditionStatus::Unknown => (
            "ResourcesStatusUnknown",
            "it is not known whether all objects are available".to_owned(),
        ),
    };
    NewCondition::new(conditions::WORK_AVAILABLE, truth, reason, message)
}

fn absent(manifests: &[ManifestCondition]) -> String {
    let missing: Vec<String> = manifests
        .iter()
        .filter(|manifest| {
            let mut conditions = manifest.conditions.iter();
            conditions
                .any(|condition| condition.type_ == conditions::WORK_AVAILABLE && condition.status == "False")
        })
        .map(|manifest| named(&manifest.resource_meta))
        .collect();
    format!(
        "{} not available: {}",
        part_are(missing.len(), manifests.len(), "object"),
        first(&missing)
    )
}

/// Conditions of the work from those that rules gave its manifests. An Available of a rule is one of the manifest alone.
fn from_rules(manifests: &[ManifestCondition]) -> Vec<NewCondition> {
    let mut by_type: BTreeMap<&str, Vec<(&ManifestCondition, &Condition)>> = BTreeMap::new();
    let mut ruled = BTreeSet::new();
    for manifest in manifests {
        for condition in &manifest.conditions {
            let r#type = condition.type_.as_str();
            by_type.entry(r#type).or_default().push((manifest, condition));
            if condition.reason.starts_with(rule_reasons::PREFIX)
                && ![conditions::APPLIED, conditions::WORK_AVAILABLE].contains(&r#type)
            {
                ruled.insert(r#type);
            }
        }
    }
    let ruled = ruled.into_iter().map(|r#type| {
        let given = by_type.get(r#type).map_or(&[][..], Vec::as_slice);
        let truths: Vec<ConditionStatus> = given.iter().map(|(_, condition)| truth(condition)).collect();
        let truth = aggregate(r#type, &truths);
        let deciding = given
            .iter()
            .filter(|(_, condition)| condition.status == truth.word())
            .filter(|(_, condition)| !condition.message.is_empty());
        let said: Vec<String> = deciding
            .map(|(manifest, condition)| format!("{}: {}", named(&manifest.resource_meta), condition.message))
            .collect();
        NewCondition::new(r#type, truth, "ConditionRulesAggregated", first(&said))
    });
    ruled.collect()
}

/// With the conditions of other writers, which are not ours to take away.
fn with_others(work: &Work, said: Vec<NewCondition>, now: Timestamp) -> Vec<Condition> {
    let types: BTreeSet<&str> = said.iter().map(|said| said.r#type.as_str()).collect();
    let others = work.status.conditions.iter().filter(|condition| {
        !types.contains(condition.type_.as_str()) && !condition.reason.starts_with(rule_reasons::PREFIX)
    });
    let mut conditions: Vec<Condition> = others.cloned().collect();
    conditions.extend(dated(said, &work.status.conditions, work.generation, now));
    conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    conditions
}

/// The status in the words of the kind. Lists are always there, since a merge patch leaves alone what is not.
pub(crate) fn to_json(kind: WorkKind, status: &Status) -> Value {
    match kind {
        WorkKind::ManifestWork => json!({
            "conditions": status.conditions,
            "resourceStatus": { "manifests": status.manifests },
        }),
        WorkKind::Work => {
            let manifests = status.manifests.iter().map(|manifest| {
                let mut identifier = json!({ "ordinal": manifest.resource_meta.ordinal });
                let meta = &manifest.resource_meta;
                for (field, text) in [
                    ("group", &meta.group),
                    ("version", &meta.version),
                    ("kind", &meta.kind),
                    ("resource", &meta.resource),
                    ("namespace", &meta.namespace),
                    ("name", &meta.name),
                ] {
                    if !text.is_empty() {
                        identifier[field] = text.as_str().into();
                    }
                }
                json!({ "identifier": identifier, "conditions": manifest.conditions })
            });
            json!({ "conditions": status.conditions, "manifestConditions": manifests.collect::<Vec<_>>() })
        }
    }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
