//! A replica set, checked once when it is heard of.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use portolan_api::labels::{ocm, portolan};
use portolan_api::structural::is_label_value;
use portolan_api::work::{CascadeDeletionPolicy, ManifestWork, ManifestWorkReplicaSet, ManifestWorkSpec};
use portolan_api::{FieldError, semantic, shorten};
use portolan_rollout::{GroupKey, Strategy};
use serde_json::Value;

use super::key::SetKey;
use super::refusals;
use crate::reconcile::Version;

/// What a content hashes to. Only compared inside one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// Of a spec, whatever a server adds to the objects in it: a `creationTimestamp` of null.
    pub(super) fn of(spec: &ManifestWorkSpec) -> Fingerprint {
        Fingerprint::of_text(&as_written(spec))
    }

    fn of_text(text: &str) -> Fingerprint {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Fingerprint(hasher.finish())
    }
}

fn as_written(spec: &ManifestWorkSpec) -> String {
    let mut spec = serde_json::to_value(spec).unwrap_or_default();
    if let Some(Value::Array(manifests)) = spec.pointer_mut("/workload/manifests") {
        manifests.iter_mut().for_each(without_creation_time);
    }
    spec.to_string()
}

/// The value of the annotation [`portolan::ROLLOUT_ABORTED`] that means the template of a replica set as it is.
pub fn abortion(set: &ManifestWorkReplicaSet) -> String {
    abortion_of(&as_written(&set.spec.manifest_work_template))
}

fn abortion_of(template: &str) -> String {
    format!("template-{}", shorten::digest(template))
}

/// Whether the template of a replica set, which is written like this, goes no further. A number is the generation that was aborted.
fn is_aborted(set: &ManifestWorkReplicaSet, template: &str) -> bool {
    let annotations = set.metadata.annotations.as_ref();
    match annotations.and_then(|annotations| annotations.get(portolan::ROLLOUT_ABORTED)) {
        None => false,
        Some(said) if said == "true" => true,
        Some(said) => match said.parse::<i64>() {
            Ok(generation) => Some(generation) == set.metadata.generation,
            Err(_) => *said == abortion_of(template),
        },
    }
}

fn without_creation_time(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("creationTimestamp").is_some_and(Value::is_null) {
                fields.remove("creationTimestamp");
            }
            fields.values_mut().for_each(without_creation_time);
        }
        Value::Array(items) => items.iter_mut().for_each(without_creation_time),
        _ => {}
    }
}

/// Why a replica set cannot be rolled out as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mistake {
    /// The label that would name it on its works is no label.
    OwnerLabel(String),
    /// The template is no work.
    Template(Vec<FieldError>),
    /// A strategy cannot be read.
    Strategy(Vec<FieldError>),
}

/// One placement of a replica set and how to roll out to it.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) placement: String,
    pub(super) strategy: Strategy,
}

/// A replica set as last heard of.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) object: Arc<ManifestWorkReplicaSet>,
    pub(super) version: Version,
    pub(super) template: Fingerprint,
    is_aborted: bool,
    pub(super) references: Result<Vec<Reference>, Mistake>,
    /// The longest time that a success has to last, by any of the references.
    pub(super) longest_soak: Duration,
    /// What a server made of the template when it was written. Where that differs from the template itself, the
    /// difference is the server's and not somebody's edit.
    pub(super) accepted: Option<Fingerprint>,
    /// Clusters that its condition says refuse their work.
    pub(super) refused: BTreeSet<String>,
}

impl Set {
    pub(super) fn new(object: Arc<ManifestWorkReplicaSet>, before: Option<&Set>) -> Set {
        let written = as_written(&object.spec.manifest_work_template);
        let template = Fingerprint::of_text(&written);
        let references = references(&object);
        let soaks = references.iter().flatten();
        let soaks = soaks.map(|reference| reference.strategy.soak_time());
        let longest_soak = soaks.max().unwrap_or_default();
        Set {
            version: Version::of(&object.metadata),
            template,
            is_aborted: is_aborted(&object, &written),
            references,
            longest_soak,
            accepted: before
                .filter(|before| before.template == template)
                .and_then(|before| before.accepted),
            refused: object
                .status
                .iter()
                .flat_map(|status| refusals::read(&status.conditions).into_keys())
                .collect(),
            object,
        }
    }

    pub(super) fn key(&self) -> SetKey {
        SetKey::new(
            self.object.metadata.namespace.as_deref().unwrap_or_default(),
            self.object.metadata.name.as_deref().unwrap_or_default(),
        )
    }

    /// The placements that it refers to. One that cannot be rolled out as it is written follows none.
    pub(super) fn placements(&self) -> BTreeSet<&str> {
        let references = self.references.iter().flatten();
        references.map(|reference| reference.placement.as_str()).collect()
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    pub(super) fn finalizers(&self) -> &[String] {
        self.object.metadata.finalizers.as_deref().unwrap_or_default()
    }

    pub(super) fn waits_for_works(&self) -> bool {
        self.object.spec.cascade_deletion_policy == Some(CascadeDeletionPolicy::Foreground)
    }

    /// Whether a work with this content has the template.
    pub(super) fn is_current(&self, content: Fingerprint) -> bool {
        content == self.template || Some(content) == self.accepted
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.object
            .metadata
            .annotations
            .as_ref()?
            .get(key)
            .map(String::as_str)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.annotation(portolan::ROLLOUT_PAUSED) == Some("true")
    }

    /// Whether this template goes no further. A new one rolls out again.
    pub(super) fn is_aborted(&self) -> bool {
        self.is_aborted
    }

    /// The labels of a work for a placement: those of the replica set, and whose it is.
    pub(super) fn labels(&self, placement: &str) -> BTreeMap<String, String> {
        let mut labels = self.object.metadata.labels.clone().unwrap_or_default();
        labels.insert(ocm::REPLICA_SET.to_owned(), self.key().label());
        labels.insert(ocm::REPLICA_SET_PLACEMENT.to_owned(), placement.to_owned());
        labels
    }

    /// The work for a cluster, as of now.
    pub(super) fn work(
        &self,
        cluster: &str,
        name: Option<&str>,
        placement: &str,
        group: &GroupKey,
        since: String,
    ) -> ManifestWork {
        // A name of its own makes a creation whose answer was lost fail when it is repeated, instead of adding a second.
        let default = self.key().label();
        let mut work = ManifestWork::new(
            name.unwrap_or(&default),
            self.object.spec.manifest_work_template.clone(),
        );
        work.metadata.namespace = Some(cluster.to_owned());
        work.metadata.labels = Some(self.labels(placement));
        let group = format!("{}/{}", group.group_index, group.group_name);
        work.metadata.annotations = Some(BTreeMap::from([
            (portolan::ROLLOUT_GROUP.to_owned(), group),
            (portolan::ROLLOUT_SINCE.to_owned(), since),
        ]));
        work
    }
}

/// Everything that keeps a replica set from being rolled out as it is written, whatever its placements decide.
pub fn mistakes(object: &ManifestWorkReplicaSet) -> Vec<FieldError> {
    let label = owner_label(object).err();
    let label = label.map(|label| {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let problem = format!(
            "works would carry the label value {label:?} of {} characters",
            label.len()
        );
        FieldError::of_text("metadata.name", name, problem, OWNER_LABEL)
    });
    let strategies = strategies(object).err().unwrap_or_default();
    label
        .into_iter()
        .chain(template_mistakes(object))
        .chain(strategies)
        .collect()
}

/// What an owner label takes, for errors.
pub(super) const OWNER_LABEL: &str =
    "a namespace and a name that together with a dot have at most 63 characters";

fn references(object: &ManifestWorkReplicaSet) -> Result<Vec<Reference>, Mistake> {
    owner_label(object).map_err(Mistake::OwnerLabel)?;
    let template = template_mistakes(object);
    if !template.is_empty() {
        return Err(Mistake::Template(template));
    }
    strategies(object).map_err(Mistake::Strategy)
}

/// The label that would name it on its works, when that is none.
fn owner_label(object: &ManifestWorkReplicaSet) -> Result<(), String> {
    let key = SetKey::new(
        object.metadata.namespace.as_deref().unwrap_or_default(),
        object.metadata.name.as_deref().unwrap_or_default(),
    );
    let label = key.label();
    if is_label_value(&label) {
        Ok(())
    } else {
        Err(label)
    }
}

fn template_mistakes(object: &ManifestWorkReplicaSet) -> Vec<FieldError> {
    let mut whole = serde_json::to_value(object).unwrap_or_default();
    let workload = whole.pointer_mut("/spec/manifestWorkTemplate/workload");
    if let Some(workload) = workload.and_then(Value::as_object_mut) {
        // The type leaves an empty list out, so that it would pass for a missing one.
        workload
            .entry("manifests")
            .or_insert_with(|| Value::Array(Vec::new()));
    }
    semantic::errors(&whole)
        .into_iter()
        .filter(|error| error.path.starts_with("spec.manifestWorkTemplate"))
        .collect()
}

/// Most references to Placements in one replica set. Each costs a visit of all clusters of its decision whenever one of them
/// changes, and an entry in the status.
const MOST_REFERENCES: usize = 256;

fn strategies(object: &ManifestWorkReplicaSet) -> Result<Vec<Reference>, Vec<FieldError>> {
    let number = object.spec.placement_refs.len();
    if number > MOST_REFERENCES {
        return Err(vec![FieldError::of_text(
            "spec.placementRefs",
            &format!("{number} references"),
            "too many for one replica set",
            format!("at most {MOST_REFERENCES} references"),
        )]);
    }
    let mut references = Vec::new();
    let mut errors = Vec::new();
    for (position, reference) in object.spec.placement_refs.iter().enumerate() {
        let path = format!("spec.placementRefs[{position}].rolloutStrategy");
        let strategy = reference.rollout_strategy.clone().unwrap_or_default();
        match Strategy::new(&strategy, &path) {
            Ok(strategy) => references.push(Reference {
                placement: reference.name.clone(),
                strategy,
            }),
            Err(found) => errors.extend(found),
        }
    }
    if errors.is_empty() {
        Ok(references)
    } else {
        Err(errors)
    }
}
