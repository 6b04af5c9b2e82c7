//! What is decided for a placement, over all objects of both decision kinds.
//!
//! The two kinds say the same in different shapes, and while a decision is rewritten an object may say what another one
//! says too. Here a cluster is decided once, with everything that any object says about it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{Placement, PlacementDecision};
use portolan_api::decision::{self, GroupKey};
use portolan_api::labels::{SCHEDULER_NAME, multicluster as kep, ocm, portolan};
use portolan_api::multicluster;
use portolan_engine::placement::PlacementKey;
use serde::Serialize;

use crate::input::Manifests;

/// What one object says: its placement and the clusters it lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) placement: PlacementKey,
    pub(crate) group: Option<Group>,
    clusters: BTreeMap<String, Listed>,
}

/// A cluster in one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listed {
    /// Where the object lists it.
    position: usize,
    /// Its score, where the object has it.
    score: Option<i64>,
}

/// A decision group. They are ordered by index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Group {
    pub(crate) index: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
}

impl std::fmt::Display for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "{}", self.index),
            name => write!(f, "{} {name}", self.index),
        }
    }
}

/// Where a cluster stands in a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// More than one only while it is being moved.
    pub(crate) groups: BTreeSet<Group>,
    pub(crate) score: Option<i64>,
    /// The objects that list it: kind and name.
    pub(crate) objects: Vec<String>,
}

/// The clusters of a decision.
pub(crate) type Decided = BTreeMap<String, Standing>;

impl Said {
    /// The clusters that the object lists.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &str> {
        self.clusters.keys().map(String::as_str)
    }

    /// The same, each with its position in the object.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (&str, usize)> {
        let clusters = self.clusters.iter();
        clusters.map(|(name, listed)| (name.as_str(), listed.position))
    }

    /// What an OCM decision object says. Nothing when it names no placement.
    pub(crate) fn by_decision(decision: &PlacementDecision) -> Option<Said> {
        let metadata = &decision.metadata;
        let name = full(metadata, ocm::PLACEMENT, portolan::PLACEMENT_NAME)?;
        let listed = decision::clusters(decision);
        Some(Said {
            placement: key(metadata, name),
            group: group(metadata),
            clusters: listed_in_order(listed.map(|entry| (entry.cluster_name.as_str(), Some(entry.score)))),
        })
    }

    /// What a slice of ours says. Nothing when it is another scheduler's.
    pub(crate) fn by_slice(slice: &multicluster::PlacementDecision) -> Option<Said> {
        let metadata = &slice.metadata;
        if slice.scheduler_name.as_deref() != Some(SCHEDULER_NAME) {
            return None;
        }
        let name = full(metadata, kep::DECISION_KEY, portolan::DECISION_KEY)?;
        let own = metadata.namespace.as_deref().unwrap_or_default();
        let annotations = metadata.annotations.as_ref();
        let scores: BTreeMap<String, i64> = annotations
            .and_then(|all| serde_json::from_str(all.get(portolan::SCORES)?).ok())
            .unwrap_or_default();
        let listed = slice.decisions.iter().filter_map(|entry| entry.profile(own));
        Some(Said {
            placement: key(metadata, name),
            group: group(metadata),
            clusters: listed_in_order(listed.map(|(_, name)| (name, scores.get(name).copied()))),
        })
    }
}

/// Whether no controller has evaluated a Placement: it has no condition, and no object decides for it.
pub(crate) fn is_undecided(manifests: &Manifests, key: &PlacementKey) -> bool {
    let mut placements = manifests.placements();
    let Some(placement) = placements.find(|placement| PlacementKey::of(placement) == *key) else {
        return false;
    };
    let decisions = manifests.decisions().filter_map(Said::by_decision);
    let slices = manifests.slices().filter_map(Said::by_slice);
    has_no_condition(placement) && !decisions.chain(slices).any(|said| said.placement == *key)
}

/// Whether no controller has written a condition into the status of a Placement.
pub(crate) fn has_no_condition(placement: &Placement) -> bool {
    let status = placement.status.as_ref();
    status.is_none_or(|status| status.conditions.is_empty())
}

/// The note about a Placement that no controller has evaluated, and the command that says more.
pub(crate) fn no_decision_yet(key: &PlacementKey) -> String {
    format!(
        "the hub has no decision yet: no controller has evaluated this Placement; `portolan doctor {key}` says why"
    )
}

/// The clusters that any of the objects lists. Objects come with what they are called.
pub(crate) fn union<'a>(objects: impl IntoIterator<Item = (&'a str, &'a Said)>) -> Decided {
    let mut decided = Decided::new();
    for (object, said) in objects {
        for (cluster, listed) in &said.clusters {
            let standing = decided.entry(cluster.clone()).or_default();
            standing.groups.extend(said.group.clone());
            standing.score = standing.score.or(listed.score);
            standing.objects.push(object.to_owned());
        }
    }
    decided
}

fn listed_in_order<'a>(clusters: impl Iterator<Item = (&'a str, Option<i64>)>) -> BTreeMap<String, Listed> {
    let listed =
        |(position, (name, score)): (usize, (&str, _))| (name.to_owned(), Listed { position, score });
    clusters.enumerate().map(listed).collect()
}

fn key(metadata: &ObjectMeta, name: &str) -> PlacementKey {
    PlacementKey::new(metadata.namespace.as_deref().unwrap_or_default(), name)
}

/// The value of a label, or the annotation that has it whole when it had to be cut.
fn full<'a>(metadata: &'a ObjectMeta, label: &str, annotation: &str) -> Option<&'a str> {
    let whole = metadata.annotations.as_ref().and_then(|all| all.get(annotation));
    whole.or(metadata.labels.as_ref()?.get(label)).map(String::as_str)
}

fn group(metadata: &ObjectMeta) -> Option<Group> {
    // An index that cannot be read may be any.
    let GroupKey { index, name } = decision::group(metadata).ok()?.unwrap_or_default();
    Some(Group { index, name })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decision(index: u32, cluster: &str) -> Said {
        let object = json!({
            "metadata": { "namespace": "ns", "name": "p-decision-1", "labels": {
                ocm::PLACEMENT: "p", ocm::DECISION_GROUP_INDEX: index.to_string(), ocm::DECISION_GROUP_NAME: "" } },
            "status": { "decisions": [{ "clusterName": cluster, "reason": "", "score": 7 }] },
        });
        Said::by_decision(&serde_json::from_value(object).unwrap()).unwrap()
    }

    fn slice(scheduler: &str) -> Option<Said> {
        let object = json!({
            "metadata": { "namespace": "ns", "name": "p-decision-0",
                "labels": { kep::DECISION_KEY: "p" }, "annotations": { portolan::SCORES: "{\"c1\":7}" } },
            "schedulerName": scheduler,
            "decisions": [{ "clusterProfileRef": { "name": "c1", "namespace": "ns" } }],
        });
        Said::by_slice(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_cluster_in_both_kinds_is_decided_once() {
        let (ocm, kep) = (decision(0, "c1"), slice("portolan").unwrap());
        let decided = union([("a", &ocm), ("b", &kep)]);
        assert_eq!(decided.len(), 1);
        assert_eq!(decided["c1"].score, Some(7));
        assert_eq!(decided["c1"].objects, ["a", "b"]);
    }

    #[test]
    fn the_slices_of_another_scheduler_are_not_ours() {
        assert_eq!(slice("another"), None);
    }

    #[test]
    fn a_cluster_on_its_way_from_group_to_group_is_in_both() {
        let (from, to) = (decision(0, "c1"), decision(1, "c1"));
        let groups = &union([("a", &from), ("b", &to)])["c1"].groups;
        assert_eq!(groups.iter().map(|group| group.index).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_placement_without_condition_and_decision_is_undecided() {
        let placement = |status: serde_json::Value| {
            serde_json::json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
                "metadata": { "name": "p", "namespace": "ns" }, "spec": {}, "status": status })
        };
        let decision = serde_json::json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "PlacementDecision", "metadata": { "name": "p-decision-1", "namespace": "ns",
                "labels": { "cluster.open-cluster-management.io/placement": "p" } } });
        let condition = serde_json::json!({ "type": "PlacementSatisfied", "status": "True", "reason": "x",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let is_undecided = |objects: Vec<serde_json::Value>| {
            let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": objects });
            let manifests = crate::input::read_bytes("hub.json", list.to_string().into_bytes()).unwrap();
            super::is_undecided(&manifests, &PlacementKey::new("ns", "p"))
        };
        let plain = || placement(serde_json::json!({}));
        assert!(is_undecided(vec![plain()]));
        assert!(!is_undecided(vec![plain(), decision]));
        assert!(!is_undecided(vec![placement(
            serde_json::json!({ "conditions": [condition] })
        )]));
    }
}
