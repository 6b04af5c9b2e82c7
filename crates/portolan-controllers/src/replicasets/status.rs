//! What a replica set's status says.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::FieldError;
use portolan_api::conditions::{self as setting, ConditionDraft};
use portolan_api::count;
use portolan_api::labels::{conditions, reasons};
use portolan_api::work::{ManifestWorkReplicaSetStatus, PlacementSummary, Summary};

use super::failures;
use super::refusals;
use super::set::{Mistake, OWNER_LABEL, Set};
use super::verdict::{PlacementTally, Tally};

/// Errors, or clusters, that a message repeats.
const LISTED: usize = 5;

/// The status that a tally amounts to, if it differs from the one that there is.
pub(super) fn status(set: &Set, tally: &Tally, now: Timestamp) -> Option<ManifestWorkReplicaSetStatus> {
    let before = set.object.status.clone().unwrap_or_default();
    let mut status = before.clone();
    let mut write = Conditions {
        list: &mut status.conditions,
        generation: set.object.metadata.generation,
        now,
    };
    if let Some(mistake) = &tally.mistake {
        let (type_, reason, message) = mistaken(mistake);
        // Counts stay as they were: nothing was touched.
        write.set(type_, "False", reason, message);
    } else {
        let (ok, reason, message) = verified(tally);
        write.set(conditions::PLACEMENT_VERIFIED, ok, reason, message);
        let (ok, reason, mut message) = rolled_out(set, tally);
        for warning in tally.strategy_warnings.iter().take(LISTED) {
            message.push_str(&format!("; {}", warning.statement()));
        }
        write.set(conditions::PLACEMENT_ROLLED_OUT, ok, reason, message);
        let counted = tally.placements.iter().map(|placement| &placement.summary);
        status.summary = total(counted.chain(still_counted(set, tally, &before.placement_summary)));
        // Placements that cannot be read now keep the figures that they had.
        let summaries = set.object.spec.placement_refs.iter().filter_map(|reference| {
            let counted = tally
                .placements
                .iter()
                .find(|placement| placement.name == reference.name);
            let kept = || {
                before
                    .placement_summary
                    .iter()
                    .find(|summary| summary.name == reference.name)
                    .cloned()
            };
            counted.map(summary).or_else(kept)
        });
        status.placement_summary = summaries.collect();
        let (ok, reason, message) = applied(&status.summary, tally);
        let mut write = Conditions {
            list: &mut status.conditions,
            generation: set.object.metadata.generation,
            now,
        };
        write.set(conditions::MANIFESTWORK_APPLIED, ok, reason, message);
        match refused(tally) {
            Some((reason, message)) => write.set(conditions::WORKS_REFUSED, "True", reason, message),
            None => write.remove(conditions::WORKS_REFUSED),
        }
    }
    (set.object.status.is_none() || status != before).then_some(status)
}

/// Whether a status says something new, and not only other figures.
pub(super) fn is_news(
    before: Option<&ManifestWorkReplicaSetStatus>,
    after: &ManifestWorkReplicaSetStatus,
) -> bool {
    let gist = |status: &ManifestWorkReplicaSetStatus| -> Vec<(String, String, String, Option<i64>)> {
        let gist = |condition: &Condition| {
            let Condition {
                type_,
                status,
                reason,
                observed_generation,
                ..
            } = condition.clone();
            (type_, status, reason, observed_generation)
        };
        status.conditions.iter().map(gist).collect()
    };
    before.is_none_or(|before| gist(before) != gist(after))
}

struct Conditions<'a> {
    list: &'a mut Vec<Condition>,
    generation: Option<i64>,
    now: Timestamp,
}

impl Conditions<'_> {
    fn set(&mut self, type_: &str, status: &str, reason: &str, message: String) {
        let draft = ConditionDraft::new(type_, status, reason, message);
        setting::set(self.list, draft, self.generation, self.now);
    }

    fn remove(&mut self, type_: &str) {
        self.list.retain(|condition| condition.type_ != type_);
    }
}

/// The clusters that count as failed because no work can be written for them.
fn refused(tally: &Tally) -> Option<(&'static str, String)> {
    let failed: BTreeMap<&str, refusals::Cause> = tally
        .refused
        .iter()
        .filter(|(_, refused)| refused.is_failed)
        .map(|(cluster, refused)| (cluster.as_str(), refused.cause))
        .collect();
    refusals::said(&failed)
}

/// The name of a replica set whose works could not carry the label that names their owner.
pub(super) fn too_long_a_name(label: &str) -> String {
    format!(
        "cannot accept metadata.name: works would carry the label value {label:?} of {} characters; accepted: {OWNER_LABEL}",
        label.len()
    )
}

type Said = (&'static str, &'static str, String);

fn mistaken(mistake: &Mistake) -> Said {
    let errors = |errors: &[FieldError]| {
        let shown: Vec<String> = errors.iter().take(LISTED).map(ToString::to_string).collect();
        format!("{}; the works are left as they are", shown.join("; "))
    };
    match mistake {
        Mistake::OwnerLabel(label) => (
            conditions::MANIFESTWORK_APPLIED,
            reasons::INVALID_MANIFEST_WORK_NAME,
            format!("{}; the works are left as they are", too_long_a_name(label)),
        ),
        Mistake::Template(found) => (
            conditions::MANIFESTWORK_APPLIED,
            reasons::INVALID_TEMPLATE,
            errors(found),
        ),
        Mistake::Strategy(found) => (
            conditions::PLACEMENT_ROLLED_OUT,
            reasons::INVALID_ROLLOUT_STRATEGY,
            errors(found),
        ),
    }
}

fn verified(tally: &Tally) -> Said {
    if !tally.missing.is_empty() {
        let names = tally.missing.join(", ");
        let message = format!("there is no Placement {names} in this namespace; {}", kept(tally));
        return ("False", reasons::PLACEMENT_DECISION_NOT_FOUND, message);
    }
    if let Some((name, why)) = tally.unsettled.first() {
        let message = format!(
            "the decision of {name} cannot be followed: {why}; {}",
            kept(tally)
        );
        return ("False", reasons::PLACEMENT_DECISION_UNSETTLED, message);
    }
    if desired(tally) == 0 {
        let message = format!("the placements select no cluster{}", absent(tally));
        return ("False", reasons::PLACEMENT_DECISION_EMPTY, message);
    }
    ("True", reasons::AS_EXPECTED, String::new())
}

/// What doubt spares.
fn kept(tally: &Tally) -> String {
    match tally.kept_on_doubt {
        0 => "its works are kept".to_owned(),
        count => format!("its works are kept, and {count} that no other placement wants"),
    }
}

/// Which works are kept though no decision names their clusters.
fn absent(tally: &Tally) -> String {
    let shown: Vec<&str> = tally.absent.iter().take(LISTED).map(String::as_str).collect();
    match (shown.as_slice(), tally.absent.len().saturating_sub(LISTED)) {
        ([], _) => String::new(),
        (shown, 0) => format!("; kept on clusters that cannot be reached: {}", shown.join(", ")),
        (shown, more) => format!(
            "; kept on clusters that cannot be reached: {} and {more} more",
            shown.join(", ")
        ),
    }
}

fn rolled_out(set: &Set, tally: &Tally) -> Said {
    let sum = |count: fn(&PlacementTally) -> usize| -> usize { tally.placements.iter().map(count).sum() };
    let (all, done) = (desired(tally), sum(|placement| placement.done));
    let is_certain = tally.missing.is_empty() && tally.unsettled.is_empty();
    if is_certain && all == 0 {
        let message = format!("the placements select no cluster{}", absent(tally));
        return ("True", reasons::NO_CLUSTERS, message);
    }
    if is_certain && all == done {
        let message = format!("{} done{}", count::all_are(all, "cluster"), absent(tally));
        return ("True", reasons::COMPLETE, message);
    }
    let mut message = format!("{} done", count::part_are(done, all, "cluster"));
    for (count, what) in [
        (sum(|placement| placement.failed), "failed"),
        (sum(|placement| placement.offline), "offline and caught up later"),
    ] {
        if count > 0 {
            message.push_str(&format!(", {count} {what}"));
        }
    }
    message.push_str(&absent(tally));
    message.push_str(&not_written(tally));
    if set.is_aborted() {
        message.push_str("; aborted: no further cluster gets this template");
        return ("False", reasons::ABORTED, message);
    }
    if set.is_paused() {
        message.push_str("; paused");
        return ("False", reasons::PAUSED, message);
    }
    if tally.placements.iter().any(|placement| placement.is_over_budget) {
        message
            .push_str("; more failed than maxFailures or a mandatory group allows, nothing new is started");
        return ("False", reasons::MAX_FAILURES_EXCEEDED, message);
    }
    ("False", reasons::PROGRESSING, message)
}

/// The clusters without a work, each with the cause.
fn not_written(tally: &Tally) -> String {
    let mut clusters: Vec<String> = tally
        .refused
        .iter()
        .take(LISTED)
        .map(|(cluster, refused)| format!("{cluster} ({})", refused.cause.about(cluster)))
        .collect();
    match tally.refused.len().saturating_sub(LISTED) {
        0 if clusters.is_empty() => return String::new(),
        0 => {}
        more => clusters.push(format!("and {more} more")),
    }
    format!("; no work can be written for {}", clusters.join(", "))
}

fn applied(summary: &Summary, tally: &Tally) -> Said {
    let Summary {
        total,
        available,
        degraded,
        ..
    } = *summary;
    let in_progress = tally.placements.iter().any(|placement| placement.in_progress > 0);
    let mut message = format!("{} available", count::part_are(available, total, "work"));
    if degraded > 0 {
        message.push_str(&format!(", {degraded} degraded"));
    }
    message.push_str(&failures::said(&tally.failures));
    if total == 0 {
        let reason = match desired(tally) {
            0 => reasons::PLACEMENT_DECISION_EMPTY,
            _ => reasons::NOT_AS_EXPECTED,
        };
        return ("False", reason, message);
    }
    if available == total && !in_progress && degraded == 0 {
        return ("True", reasons::AS_EXPECTED, message);
    }
    match in_progress && degraded == 0 {
        true => ("False", reasons::PROCESSING, message),
        false => ("False", reasons::NOT_AS_EXPECTED, message),
    }
}

fn desired(tally: &Tally) -> usize {
    let desired = tally
        .placements
        .iter()
        .map(|placement| placement.summary.desired_total);
    usize::try_from(desired.sum::<i32>()).unwrap_or_default()
}

/// The figures of placements that cannot be read now, as they were: their works are kept.
fn still_counted<'a>(
    set: &Set,
    tally: &Tally,
    before: &'a [PlacementSummary],
) -> impl Iterator<Item = &'a Summary> {
    let references = set.object.spec.placement_refs.iter();
    let unread: BTreeSet<&str> = references
        .map(|reference| reference.name.as_str())
        .filter(|name| tally.placements.iter().all(|placement| placement.name != *name))
        .collect();
    let kept: BTreeMap<&str, &Summary> = before
        .iter()
        .map(|placement| (placement.name.as_str(), &placement.summary))
        .filter(|(name, _)| unread.contains(name))
        .collect();
    kept.into_values()
}

fn total<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Summary {
    summaries.fold(Summary::default(), |sum, one| Summary {
        total: sum.total + one.total,
        progressing: sum.progressing + one.progressing,
        available: sum.available + one.available,
        degraded: sum.degraded + one.degraded,
        applied: sum.applied + one.applied,
        desired_total: sum.desired_total + one.desired_total,
        updated: sum.updated + one.updated,
    })
}

fn summary(tally: &PlacementTally) -> PlacementSummary {
    PlacementSummary {
        name: tally.name.clone(),
        available_decision_groups: format!(
            "{} ({} / {} clusters applied)",
            tally.groups, tally.summary.updated, tally.summary.desired_total
        ),
        summary: tally.summary,
    }
}
