//! What differs between two answers. Pure: both sides were evaluated against their own state before.
//!
//! Clusters are compared as consumers see them, by what the decisions hold in the end: a placement that becomes
//! misconfigured keeps its decision and so loses no cluster.

use std::collections::BTreeMap;

use portolan_api::decision;
use portolan_engine::conditions::Condition;
use portolan_engine::status::Code;
use serde::Serialize;
use serde_json::Value;

use super::report::{PlacementReport, Report, Verdict};

/// Every placement that differs, by namespace and name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    pub(crate) placements: Vec<PlacementDifference>,
    /// How many placements are the same on both sides.
    pub(crate) unchanged: usize,
    /// Those among them that the question is about and that do not get what they ask for, and why; for people.
    #[serde(skip)]
    pub(crate) unsatisfied: Vec<String>,
    /// How many others among them do not get what they ask for.
    #[serde(skip)]
    pub(crate) others_unsatisfied: usize,
}

/// How one placement differs. Every list is there even when it is empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlacementDifference {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// None when the change adds the placement.
    pub(crate) before: Option<Summary>,
    /// None when the change removes the placement.
    pub(crate) after: Option<Summary>,
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
    pub(crate) moved: Vec<Move>,
    pub(crate) objects: Vec<ObjectChange>,
}

/// One side of a placement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub(crate) status: Code,
    pub(crate) message: String,
    /// Reason of the condition `PlacementSatisfied`.
    pub(crate) reason: String,
    pub(crate) satisfied: bool,
    /// Clusters in the decision.
    pub(crate) clusters: usize,
    /// Conditions that are there only when there is something to say: type and message.
    pub(crate) warnings: Vec<String>,
    /// The status, why it is so, and the number of clusters, for people.
    #[serde(skip)]
    pub(crate) words: Words,
}

/// What plain `simulate` says about a placement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Words {
    pub(crate) verdict: Verdict,
    pub(crate) complaint: Option<String>,
    /// Where fewer clusters are selected than are asked for, of how many.
    pub(crate) wanted: Option<usize>,
}

/// A cluster that stays and changes its decision group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Move {
    pub(crate) cluster: String,
    pub(crate) from: Group,
    pub(crate) to: Group,
}

/// A decision group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Group {
    pub(crate) decision_group_index: i64,
    pub(crate) decision_group_name: String,
}

/// An object that is written because of the change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObjectChange {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) change: Change,
}

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Change {
    Created,
    Changed,
    Deleted,
}

/// Compares two answers, placement by placement. `is_asked` says which placements the question is about.
pub(crate) fn difference(
    before: &Report,
    after: &Report,
    is_asked: impl Fn(&PlacementReport) -> bool,
) -> Difference {
    let mut pairs: BTreeMap<(&str, &str), [Option<&PlacementReport>; 2]> = BTreeMap::new();
    for (side, report) in [before, after].into_iter().enumerate() {
        for placement in &report.placements {
            pairs.entry((&placement.namespace, &placement.name)).or_default()[side] = Some(placement);
        }
    }
    let total = pairs.len();
    let mut placements = Vec::new();
    let (mut unsatisfied, mut others_unsatisfied) = (Vec::new(), 0);
    for ((namespace, name), [before, after]) in pairs {
        let difference = compare(namespace, name, before, after);
        if !is_same(before, after, &difference) {
            placements.push(difference);
        } else if let Some(after) = after.filter(|after| !after.is_satisfied()) {
            if !is_asked(after) {
                others_unsatisfied += 1;
                continue;
            }
            let why = after.complaint();
            let why = why.or_else(|| after.remarks().next().map(|remark| remark.message.clone()));
            unsatisfied.push(format!("{namespace}/{name}: {}", why.unwrap_or_default()));
        }
    }
    Difference {
        unchanged: total - placements.len(),
        placements,
        unsatisfied,
        others_unsatisfied,
    }
}

fn is_same(
    before: Option<&PlacementReport>,
    after: Option<&PlacementReport>,
    difference: &PlacementDifference,
) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    difference.before == difference.after
        && before.conditions == after.conditions
        && difference.added.is_empty()
        && difference.removed.is_empty()
        && difference.moved.is_empty()
        && difference.objects.is_empty()
}

fn compare(
    namespace: &str,
    name: &str,
    before: Option<&PlacementReport>,
    after: Option<&PlacementReport>,
) -> PlacementDifference {
    let (old, new) = (groups(before), groups(after));
    let missing = |from: &BTreeMap<String, Group>, other: &BTreeMap<String, Group>| {
        from.keys()
            .filter(|cluster| !other.contains_key(*cluster))
            .cloned()
            .collect()
    };
    let moved = old.iter().filter_map(|(cluster, from)| {
        let to = new.get(cluster).filter(|to| *to != from)?;
        Some(Move {
            cluster: cluster.clone(),
            from: from.clone(),
            to: to.clone(),
        })
    });
    PlacementDifference {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        before: before.map(|report| summary(report, old.len())),
        after: after.map(|report| summary(report, new.len())),
        added: missing(&new, &old),
        removed: missing(&old, &new),
        moved: moved.collect(),
        objects: object_changes(before, after),
    }
}

fn summary(report: &PlacementReport, clusters: usize) -> Summary {
    Summary {
        status: report.status,
        message: report.message.clone(),
        reason: report
            .satisfied()
            .map(|condition| condition.reason.clone())
            .unwrap_or_default(),
        satisfied: report.is_satisfied(),
        clusters,
        warnings: report.remarks().map(remark).collect(),
        words: Words {
            verdict: report.verdict(),
            complaint: report.complaint(),
            wanted: (report.unscheduled > 0).then_some(report.selected.len() + report.unscheduled),
        },
    }
}

fn remark(condition: &Condition) -> String {
    format!("{}: {}", condition.type_, condition.message)
}

/// Each cluster of the final decision with its group.
fn groups(report: Option<&PlacementReport>) -> BTreeMap<String, Group> {
    let mut groups = BTreeMap::new();
    for object in report.iter().flat_map(|report| &report.placement_decisions) {
        // The report's own objects: their indexes can be read.
        let key = decision::group(&object.metadata)
            .ok()
            .flatten()
            .unwrap_or_default();
        let group = Group {
            decision_group_index: key.index.into(),
            decision_group_name: key.name,
        };
        for entry in decision::clusters(object) {
            groups
                .entry(entry.cluster_name.clone())
                .or_insert_with(|| group.clone());
        }
    }
    groups
}

fn object_changes(before: Option<&PlacementReport>, after: Option<&PlacementReport>) -> Vec<ObjectChange> {
    let (old, new) = (objects(before), objects(after));
    let mut changes = Vec::new();
    for (id, object) in &old {
        match new.get(id) {
            None => changes.push(object_change(id, Change::Deleted)),
            Some(other) if other != object => changes.push(object_change(id, Change::Changed)),
            Some(_) => {}
        }
    }
    changes.extend(
        new.keys()
            .filter(|id| !old.contains_key(*id))
            .map(|id| object_change(id, Change::Created)),
    );
    changes.sort_by(|a, b| {
        (&a.api_version, number(&a.name), &a.name).cmp(&(&b.api_version, number(&b.name), &b.name))
    });
    changes
}

type ObjectId = (String, String, String);

fn object_change((api_version, kind, name): &ObjectId, change: Change) -> ObjectChange {
    ObjectChange {
        api_version: api_version.clone(),
        kind: kind.clone(),
        name: name.clone(),
        change,
    }
}

/// The objects of both kinds, as they are written.
fn objects(report: Option<&PlacementReport>) -> BTreeMap<ObjectId, Value> {
    let decisions = report
        .iter()
        .flat_map(|report| &report.placement_decisions)
        .map(serde_json::to_value);
    let slices = report
        .iter()
        .flat_map(|report| &report.slices)
        .map(serde_json::to_value);
    let text = |object: &Value, pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let id = |object: &Value| {
        (
            text(object, "/apiVersion"),
            text(object, "/kind"),
            text(object, "/metadata/name"),
        )
    };
    decisions
        .chain(slices)
        .filter_map(Result::ok)
        .map(|object| (id(&object), object))
        .collect()
}

fn number(name: &str) -> Option<u64> {
    name.rsplit('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests;
