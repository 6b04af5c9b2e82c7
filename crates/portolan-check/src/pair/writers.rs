//! Which writer may write which object, and when no writer may write.

use std::collections::BTreeSet;

use portolan_api::multicluster;

use crate::{
    CheckId, Cluster, DecisionId, Object, ObjectKey, Report, State, finding::listed, labels,
    object::slice_clusters,
};

/// Rule 2: after a verdict of misconfigured or error, or on any doubt, the decision still lists what it listed.
pub fn kept(before: &State, after: &State, id: &DecisionId) -> Report {
    let mut report = Report::new();
    let Some(had) = before.decision(id) else {
        return report;
    };
    let Some(has) = after.decision(id) else {
        let message = format!("the last decision ({} clusters) is gone", had.clusters().len());
        report.add(CheckId::Rule2, id, message);
        return report;
    };
    let (had, has) = (had.clusters(), has.clusters());
    let lost: Vec<&Cluster> = had.difference(&has).collect();
    let gained: Vec<&Cluster> = has.difference(&had).collect();
    if !lost.is_empty() {
        report.add(
            CheckId::Rule2,
            id,
            format!("lost from the last decision: {}", listed(lost)),
        );
    }
    if !gained.is_empty() {
        report.add(
            CheckId::Rule2,
            id,
            format!("added to the last decision: {}", listed(gained)),
        );
    }
    report
}

/// Rule 3 (C33, C39): the answer is the same on both sides, so no object was written. Decision objects of both kinds
/// and placements are compared, resource versions included.
pub fn untouched(before: &State, after: &State) -> Report {
    let mut report = Report::new();
    for (object, problem) in differences(before, after, |object| !matches!(object, Object::Profile(_))) {
        report.add(
            CheckId::Rule3,
            &object,
            format!("the answer is the same, but the object {problem}"),
        );
    }
    report
}

/// C31: no live slice changes its decision-key.
pub fn key_stable(before: &State, after: &State) -> Report {
    let mut report = Report::new();
    for (key, had, has) in changed_labels(before, after, labels::DECISION_KEY) {
        // A decision may start without a key and take one when it grows.
        if let Some(had) = had {
            let has = has.unwrap_or_else(|| "none".to_owned());
            report.add(CheckId::C31, key, format!("decision-key was {had}, is {has}"));
        }
    }
    report
}

/// C10: the labels of the KEP's first revision are present and never change on a live object.
pub fn first_revision_labels_fixed(before: &State, after: &State) -> Report {
    let mut report = Report::new();
    for label in [labels::R1_PLACEMENT, labels::R1_SCHEDULER] {
        for (key, had, has) in changed_labels(before, after, label) {
            let told = |value: Option<String>| value.unwrap_or_else(|| "missing".to_owned());
            report.add(
                CheckId::C10,
                key,
                format!("label {label} was {}, is {}", told(had), told(has)),
            );
        }
    }
    report
}

/// C40: a profile that was there before and is gone is in no decision of a state at rest.
pub fn profiles_deleted(before: &State, after: &State) -> Report {
    let mut report = Report::new();
    let gone = |cluster: &Cluster| {
        let place = (cluster.namespace.clone(), cluster.name.clone());
        before.profiles.contains_key(&place) && !after.profiles.contains_key(&place)
    };
    for decision in after.kep() {
        let dangling: Vec<Cluster> = decision.clusters().into_iter().filter(gone).collect();
        if !dangling.is_empty() {
            report.add(
                CheckId::C40,
                &decision.id,
                format!("deleted profiles are still listed: {}", listed(dangling)),
            );
        }
    }
    report
}

/// C41: slices that do not carry `scheduler` as their schedulerName are none of its business: they are the same on
/// both sides, down to the resource version.
pub fn foreign_untouched(before: &State, after: &State, scheduler: &str) -> Report {
    let mut report = Report::new();
    let foreign = |object: &Object| match object {
        Object::Slice(slice) => slice.scheduler_name.as_deref() != Some(scheduler),
        _ => false,
    };
    // Only objects that were there before can be somebody else's.
    for (object, problem) in differences(before, after, foreign) {
        if before
            .slices
            .contains_key(&(object.namespace.clone(), object.name.clone()))
        {
            report.add(
                CheckId::C41,
                &object,
                format!("does not belong to {scheduler}, but {problem}"),
            );
        }
    }
    report
}

/// C42: between `before` and `edited` someone who may not write edited slices; `after` is what the scheduler made of it.
/// An edited slice is as before or as edited, and no other slice lists anything else because of it.
pub fn not_adopted(before: &State, edited: &State, after: &State) -> Report {
    let mut report = Report::new();
    let places: BTreeSet<_> = before
        .slices
        .keys()
        .chain(edited.slices.keys())
        .chain(after.slices.keys())
        .collect();
    for place in places {
        let lists = |state: &State| state.slices.get(place).map(slice_clusters);
        let (was, edit, is) = (lists(before), lists(edited), lists(after));
        if is != was && (edit == was || is != edit) {
            let count = |clusters: &Option<Vec<Cluster>>| clusters.as_ref().map_or(0, Vec::len);
            let message = format!(
                "listed {} clusters before the edit, {} after it",
                count(&was),
                count(&is)
            );
            report.add(
                CheckId::C42,
                format_args!("PlacementDecision {}/{}", place.0, place.1),
                message,
            );
        }
    }
    report
}

/// The content hash of OCM objects follows group and clusters: one changed while the other did not.
pub fn content_follows(before: &State, after: &State, id: &DecisionId) -> Report {
    let mut report = Report::new();
    let (Some(had), Some(has)) = (before.decision(id), after.decision(id)) else {
        return report;
    };
    for object in &has.slices {
        let Some(old) = had.slices.iter().find(|old| old.key == object.key) else {
            continue;
        };
        let (Some(old_hash), Some(hash)) = (old.content_hash(), object.content_hash()) else {
            continue;
        };
        let set = |clusters: &[Cluster]| clusters.iter().cloned().collect::<BTreeSet<_>>();
        let same = set(&old.clusters) == set(&object.clusters) && old.group() == object.group();
        if same != (old_hash == hash) {
            let what = if same {
                "changed without group or clusters"
            } else {
                "stayed though group or clusters changed"
            };
            report.add(
                CheckId::OcmContent,
                &object.key,
                format!("the content hash {hash} {what}"),
            );
        }
    }
    report
}

fn differences(before: &State, after: &State, which: impl Fn(&Object) -> bool) -> Vec<(ObjectKey, String)> {
    let index = |state: &State| -> std::collections::BTreeMap<ObjectKey, Object> {
        state
            .objects()
            .filter(&which)
            .map(|object| (object.key(), object))
            .collect()
    };
    let (had, has) = (index(before), index(after));
    let keys: BTreeSet<&ObjectKey> = had.keys().chain(has.keys()).collect();
    let different = keys.into_iter().filter(|key| had.get(key) != has.get(key));
    different
        .map(|key| (key.clone(), change(had.get(key), has.get(key))))
        .collect()
}

fn change(had: Option<&Object>, has: Option<&Object>) -> String {
    match (had, has) {
        (None, _) => "was created".to_owned(),
        (_, None) => "was deleted".to_owned(),
        (Some(had), Some(has)) => {
            let version = |object: &Object| object.metadata().resource_version.clone().unwrap_or_default();
            let what = if had.content() == has.content() {
                "rewritten with the same content"
            } else {
                "changed"
            };
            format!(
                "was {what} (resourceVersion {:?} to {:?})",
                version(had),
                version(has)
            )
        }
    }
}

fn changed_labels(
    before: &State,
    after: &State,
    key: &str,
) -> Vec<(ObjectKey, Option<String>, Option<String>)> {
    let value = |slice: &multicluster::PlacementDecision| -> Option<String> {
        slice
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(key))
            .cloned()
    };
    let pairs = before
        .slices
        .iter()
        .filter_map(|(place, had)| Some((had, after.slices.get(place)?)));
    // A name that was deleted and created again is another object.
    let same = pairs.filter(|(had, has)| had.metadata.uid == has.metadata.uid);
    let changed = same.filter(|(had, has)| value(had) != value(has));
    changed
        .map(|(had, has)| (Object::from(has.clone()).key(), value(had), value(has)))
        .collect()
}
