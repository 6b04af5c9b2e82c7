//! Logical decisions: the objects of either API that belong together.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::{cluster, multicluster};
use serde::{Deserialize, Serialize};

use crate::{
    Cluster, Object, ObjectKey, ObjectKind, labels,
    object::{decision_clusters, slice_clusters},
};

/// Which of the two APIs publishes a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    /// `multicluster.x-k8s.io`.
    Kep,
    /// `cluster.open-cluster-management.io`.
    Ocm,
}

/// Which logical decision: the set that all its slices together publish.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DecisionId {
    /// Which API publishes it.
    pub kind: DecisionKind,
    /// Namespace of its slices.
    pub namespace: String,
    /// KEP: the decision-key, or the common base of the names. OCM: the placement.
    pub key: String,
}

impl DecisionId {
    /// A decision of the KEP kind.
    pub fn kep(namespace: impl Into<String>, key: impl Into<String>) -> Self {
        Self {
            kind: DecisionKind::Kep,
            namespace: namespace.into(),
            key: key.into(),
        }
    }

    /// A decision of the OCM kind.
    pub fn ocm(namespace: impl Into<String>, placement: impl Into<String>) -> Self {
        Self {
            kind: DecisionKind::Ocm,
            namespace: namespace.into(),
            key: placement.into(),
        }
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            DecisionKind::Kep => "decision",
            DecisionKind::Ocm => "OCM decision",
        };
        write!(f, "{kind} {}/{}", self.namespace, self.key)
    }
}

/// One object of a decision, of either kind, with its clusters read out.
#[derive(Clone, Debug)]
pub struct Slice<'a> {
    /// Which object.
    pub key: ObjectKey,
    /// Its metadata.
    pub metadata: &'a ObjectMeta,
    /// Its clusters in its order.
    pub clusters: Vec<Cluster>,
    /// How many entries it has, those that name no cluster included.
    pub entries: usize,
    /// `schedulerName`; the OCM kind has none.
    pub scheduler: Option<&'a str>,
}

impl<'a> Slice<'a> {
    pub(crate) fn of_kep(object: &'a multicluster::PlacementDecision) -> Self {
        Self {
            key: key(ObjectKind::Slice, &object.metadata),
            metadata: &object.metadata,
            clusters: slice_clusters(object),
            entries: object.decisions.len(),
            scheduler: object.scheduler_name.as_deref(),
        }
    }

    pub(crate) fn of_ocm(object: &'a cluster::PlacementDecision) -> Self {
        Self {
            key: key(ObjectKind::Decision, &object.metadata),
            metadata: &object.metadata,
            clusters: decision_clusters(object),
            entries: object.status.as_ref().map_or(0, |status| status.decisions.len()),
            scheduler: None,
        }
    }

    /// Name of the object.
    pub fn name(&self) -> &str {
        &self.key.name
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&'a str> {
        label(self.metadata, key)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        self.metadata
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get(key))
            .map(String::as_str)
    }

    /// `decision-index`, if it is a number.
    pub fn index(&self) -> Option<u64> {
        self.label(labels::DECISION_INDEX).and_then(decimal)
    }

    /// `decision-revision`, if it is a number.
    pub fn revision(&self) -> Option<u64> {
        self.label(labels::DECISION_REVISION).and_then(decimal)
    }

    /// `decision-slice-count`, if it is a number.
    pub fn slice_count(&self) -> Option<u64> {
        self.label(labels::DECISION_SLICE_COUNT).and_then(decimal)
    }

    /// `portolan.dev/content`, the hash of group and clusters.
    pub fn content_hash(&self) -> Option<&'a str> {
        self.annotation(labels::CONTENT)
            .or_else(|| self.label(labels::CONTENT))
            .filter(|hash| !hash.is_empty())
    }

    /// The group index, whichever of the two labels carries it.
    pub fn group(&self) -> Option<&'a str> {
        self.label(labels::OCM_GROUP_INDEX)
            .or_else(|| self.label(labels::DECISION_GROUP_INDEX))
    }
}

/// A logical decision with its slices by index, then by name. Slices without an index come last.
#[derive(Clone, Debug)]
pub struct Decision<'a> {
    /// Which decision.
    pub id: DecisionId,
    /// Its slices.
    pub slices: Vec<Slice<'a>>,
}

impl<'a> Decision<'a> {
    pub(crate) fn new(id: DecisionId, mut slices: Vec<Slice<'a>>) -> Self {
        slices.sort_by(|a, b| {
            let place = |slice: &Slice<'_>| {
                (
                    slice.index().unwrap_or(u64::MAX),
                    number_at_end(slice.name()).map(|n| n.1),
                )
            };
            place(a).cmp(&place(b)).then_with(|| a.name().cmp(b.name()))
        });
        Self { id, slices }
    }

    /// The union of the slices: what a reader without revisions acts on.
    pub fn clusters(&self) -> BTreeSet<Cluster> {
        self.slices
            .iter()
            .flat_map(|slice| slice.clusters.iter().cloned())
            .collect()
    }

    /// The clusters in the order in which a reader that sorts slices by index meets them.
    pub fn in_order(&self) -> Vec<&Cluster> {
        self.slices.iter().flat_map(|slice| &slice.clusters).collect()
    }
}

/// Finds the decision an object belongs to.
///
/// A decision needs no key while it has one slice, so a slice without a key belongs to the keyed decision whose slices
/// have the same name base, if there is one. Otherwise dropping the key of one slice would hide it from the very check
/// that looks for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    by_base: BTreeMap<(String, String), String>,
}

impl Keys {
    pub(crate) fn of<'o>(slices: impl IntoIterator<Item = &'o ObjectMeta>) -> Self {
        let mut keys = Self::default();
        for metadata in slices {
            if let Some(key) = label(metadata, labels::DECISION_KEY) {
                let namespace = metadata.namespace.clone().unwrap_or_default();
                let base = base(metadata.name.as_deref().unwrap_or_default()).to_owned();
                keys.by_base
                    .entry((namespace, base))
                    .or_insert_with(|| key.to_owned());
            }
        }
        keys
    }

    pub(crate) fn kep(&self, metadata: &ObjectMeta) -> DecisionId {
        let namespace = metadata.namespace.clone().unwrap_or_default();
        if let Some(key) = label(metadata, labels::DECISION_KEY) {
            return DecisionId::kep(namespace, key);
        }
        let base = base(metadata.name.as_deref().unwrap_or_default()).to_owned();
        let place = (namespace, base);
        let key = self.by_base.get(&place).cloned();
        let (namespace, base) = place;
        DecisionId::kep(namespace, key.unwrap_or(base))
    }

    /// The decision of any object that lists clusters.
    pub(crate) fn id(&self, object: &Object) -> Option<DecisionId> {
        match object {
            Object::Slice(slice) => Some(self.kep(&slice.metadata)),
            Object::Decision(decision) => ocm_id(&decision.metadata),
            Object::Placement(_) | Object::Profile(_) => None,
        }
    }
}

/// The decision of an OCM object: its placement label says, and an object without one belongs to nobody.
pub(crate) fn ocm_id(metadata: &ObjectMeta) -> Option<DecisionId> {
    let placement = label(metadata, labels::OCM_PLACEMENT)?;
    Some(DecisionId::ocm(
        metadata.namespace.clone().unwrap_or_default(),
        placement,
    ))
}

/// A decimal number without sign and without leading zeros.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

/// Splits `<base>-<number>`.
pub(crate) fn number_at_end(name: &str) -> Option<(&str, u64)> {
    let (base, number) = name.rsplit_once('-')?;
    Some((base, decimal(number)?))
}

fn base(name: &str) -> &str {
    number_at_end(name).map_or(name, |(base, _)| base)
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(key))
        .map(String::as_str)
}

fn key(kind: ObjectKind, metadata: &ObjectMeta) -> ObjectKey {
    ObjectKey {
        kind,
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
    }
}
