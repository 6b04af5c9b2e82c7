//! Reads a slice from whatever the server stores under the kind.
//!
//! The whole object is never refused: a list with one odd object in it must not hide the others. What cannot be read is
//! a [`Problem`]; fields and labels that are not known are not looked at.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::decision::{self, UnreadableIndex};
use portolan_api::labels::{multicluster as labels, portolan};
use portolan_api::multicluster::PlacementDecision;
use portolan_api::reading::Unreadable;
use serde_json::Value;

use super::{Revision, Slice};
use crate::{Chosen, Cluster, GroupKey, Problem};

impl Slice {
    /// Reads an object of the standard kind.
    pub fn of(object: &PlacementDecision) -> Slice {
        let mut reader = Reader::new(&object.metadata);
        let own = reader.slice.namespace.clone();
        for (place, entry) in object.decisions.iter().enumerate() {
            let (namespace, name) = entry.profile(&own).unwrap_or_default();
            let cluster = Cluster::new(namespace, name);
            let as_json = || serde_json::to_string(entry).unwrap_or_default();
            reader.entry(place, cluster, entry.reason.clone(), as_json);
        }
        reader.finish(object.scheduler_name.clone())
    }

    /// A slice of which nothing but the metadata can be read. It may name any cluster.
    pub fn unreadable(object: &Unreadable) -> Slice {
        let mut reader = Reader::new(&object.metadata);
        let (field, problem) = (object.field.as_str(), object.problem.clone());
        reader.problem(
            field,
            problem,
            "keeps the object from being read",
            "a PlacementDecision",
            true,
        );
        reader.finish(None)
    }

    /// Reads an object that may have any shape: `body` is all of it, or all but the metadata.
    pub fn read(metadata: &ObjectMeta, body: &Value) -> Slice {
        let mut reader = Reader::new(metadata);
        match &body["decisions"] {
            Value::Array(entries) => {
                for (place, entry) in entries.iter().enumerate() {
                    reader.raw(place, entry);
                }
            }
            other => reader.problem(
                "decisions",
                other.to_string(),
                "is no list",
                "a list, which may be empty",
                true,
            ),
        }
        reader.finish(text(&body["schedulerName"]))
    }
}

struct Reader<'a> {
    metadata: &'a ObjectMeta,
    slice: Slice,
    scores: BTreeMap<String, i64>,
    group: Option<GroupKey>,
}

impl<'a> Reader<'a> {
    fn new(metadata: &'a ObjectMeta) -> Reader<'a> {
        let label = |key: &str| of_map(metadata.labels.as_ref(), key);
        let slice = Slice {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            decision_key: label(labels::DECISION_KEY),
            placement_key: label(labels::PLACEMENT_KEY),
            placement: label(labels::PLACEMENT),
            scheduler: None,
            index: None,
            revision: label(labels::DECISION_REVISION).as_deref().map(Revision::of),
            slice_count: None,
            chosen: Vec::new(),
            problems: Vec::new(),
        };
        let mut reader = Reader {
            metadata,
            slice,
            scores: BTreeMap::new(),
            group: None,
        };
        reader.slice.index = reader.number(labels::DECISION_INDEX);
        reader.slice.slice_count = reader.number(labels::DECISION_SLICE_COUNT);
        reader.scores = reader.annotated_scores();
        reader.group = reader.labelled_group();
        reader
    }

    fn finish(mut self, scheduler: Option<String>) -> Slice {
        let label = || of_map(self.metadata.labels.as_ref(), labels::SCHEDULER);
        self.slice.scheduler = scheduler.filter(|name| !name.is_empty()).or_else(label);
        self.slice
    }

    /// An entry of unknown shape.
    fn raw(&mut self, place: usize, entry: &Value) {
        let reference = &entry["clusterProfileRef"];
        let cluster = if reference.is_null() {
            Cluster::new(
                self.slice.namespace.clone(),
                text(&entry["clusterName"]).unwrap_or_default(),
            )
        } else {
            let namespace = text(&reference["namespace"]);
            Cluster::new(
                namespace.unwrap_or_else(|| self.slice.namespace.clone()),
                text(&reference["name"]).unwrap_or_default(),
            )
        };
        self.entry(place, cluster, text(&entry["reason"]), || entry.to_string());
    }

    fn entry(
        &mut self,
        place: usize,
        cluster: Cluster,
        reason: Option<String>,
        as_json: impl Fn() -> String,
    ) {
        if cluster.name.is_empty() {
            let accepted = "clusterProfileRef.name, or clusterName of the first revision";
            self.problem(
                format!("decisions[{place}]"),
                as_json(),
                "names no cluster",
                accepted,
                true,
            );
            return;
        }
        self.slice.chosen.push(Chosen {
            score: self.scores.get(&cluster.name).copied(),
            group: self.group.clone(),
            cluster,
            reason: reason.filter(|reason| !reason.is_empty()),
        });
    }

    fn number(&mut self, label: &'static str) -> Option<u64> {
        let value = of_map(self.metadata.labels.as_ref(), label)?;
        // Leading zeros are not what the draft asks for, and still say which slice comes first.
        let number = value.parse().ok();
        if number.is_none() {
            let (field, value) = (label_path(label), Value::String(value).to_string());
            self.problem(field, value, "is no number", "a decimal number from 0", false);
        }
        number
    }

    fn annotated_scores(&mut self) -> BTreeMap<String, i64> {
        let Some(value) = of_map(self.metadata.annotations.as_ref(), portolan::SCORES) else {
            return BTreeMap::new();
        };
        serde_json::from_str(&value).unwrap_or_else(|_| {
            let field = format!("metadata.annotations[{}]", portolan::SCORES);
            let accepted = "a JSON object of cluster names and whole numbers";
            self.problem(field, value, "cannot be read", accepted, false);
            BTreeMap::new()
        })
    }

    fn labelled_group(&mut self) -> Option<GroupKey> {
        decision::group(self.metadata).unwrap_or_else(|UnreadableIndex { label, value }| {
            let value = Value::String(value).to_string();
            self.problem(
                label_path(label),
                value,
                "is no number",
                UnreadableIndex::ACCEPTED,
                false,
            );
            None
        })
    }

    fn problem(
        &mut self,
        field: impl Into<String>,
        value: String,
        wrong: &'static str,
        accepted: &'static str,
        hides_a_cluster: bool,
    ) {
        self.slice.problems.push(Problem {
            object: format!("{}/{}", self.slice.namespace, self.slice.name),
            field: field.into(),
            value: cut(value),
            wrong,
            accepted,
            hides_a_cluster,
        });
    }
}

fn label_path(label: &str) -> String {
    format!("metadata.labels[{label}]")
}

/// An empty value says as much as none.
fn of_map(map: Option<&BTreeMap<String, String>>, key: &str) -> Option<String> {
    map?.get(key).filter(|value| !value.is_empty()).cloned()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A problem is for people and logs; an entry can be a megabyte.
fn cut(mut value: String) -> String {
    const LONGEST: usize = 120;
    if value.len() > LONGEST {
        let mut end = LONGEST;
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        value.truncate(end);
        value.push('…');
    }
    value
}
