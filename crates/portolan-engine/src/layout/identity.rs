//! What every object of one placement's decision carries: names, labels, owner.
//!
//! It never looks at clusters. Layout builds objects with it, and the write plan reads it back from a final
//! object, so both agree on what belongs to a placement.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use portolan_api::{
    cluster::{self, Placement},
    labels::multicluster::MAX_SLICES,
    shorten,
};

/// API version of the Placement that owns a decision.
const PLACEMENT_API_VERSION: &str = "cluster.open-cluster-management.io/v1beta1";
/// Kind of the owner of a decision.
const PLACEMENT_KIND: &str = "Placement";

/// The placement that a set of decision objects belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) namespace: String,
    pub(crate) placement: String,
    /// Empty when unknown, which is usual for objects read from files.
    pub(crate) uid: String,
}

impl Identity {
    pub(crate) fn of_placement(placement: &Placement) -> Self {
        Self {
            namespace: placement.metadata.namespace.clone().unwrap_or_default(),
            placement: placement.metadata.name.clone().unwrap_or_default(),
            uid: placement.metadata.uid.clone().unwrap_or_default(),
        }
    }

    /// The identity that a final object was built with.
    pub(crate) fn of_object(metadata: &ObjectMeta) -> Option<Self> {
        let mut owners = metadata.owner_references.iter().flatten();
        let owner = owners.find(|owner| is_placement(owner) && owner.controller == Some(true))?;
        Some(Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            placement: owner.name.clone(),
            uid: owner.uid.clone(),
        })
    }

    /// Name of the decision object with this number. OCM counts from 1, the KEP from 0.
    pub(crate) fn object_name(&self, number: usize) -> String {
        shorten::object_name(&format!("{}-decision-{number}", self.placement)).into_owned()
    }

    /// The number that `name` has in the naming scheme, if it is of the scheme at all.
    ///
    /// A name that had to be cut ends in a hash, and the way back is to try every number. `likely` is tried first; it
    /// comes from a label and need not be right.
    pub(crate) fn number_of(&self, name: &str, likely: Option<usize>) -> Option<usize> {
        let never_cut = shorten::MAX_OBJECT_NAME - format!("-decision-{MAX_SLICES}").len();
        if self.placement.len() > never_cut {
            return likely
                .into_iter()
                .chain(0..=MAX_SLICES)
                .find(|number| self.object_name(*number) == name);
        }
        name.strip_prefix(&self.placement)?
            .strip_prefix("-decision-")
            .and_then(parse_number)
    }

    /// The placement's name as a label value.
    pub(crate) fn label_value(&self) -> String {
        shorten::label_value(&self.placement).into_owned()
    }

    pub(crate) fn is_in_namespace(&self, metadata: &ObjectMeta) -> bool {
        metadata.namespace.as_deref().unwrap_or_default() == self.namespace
    }

    /// Whether the owner of an object rules out that it is ours: it belongs to a placement with another name. One that was
    /// made anew, or restored, has another uid and takes over what it had.
    pub(crate) fn has_other_owner(&self, metadata: &ObjectMeta) -> bool {
        let mut known = metadata
            .owner_references
            .iter()
            .flatten()
            .filter(|owner| is_placement(owner))
            .peekable();
        known.peek().is_some() && known.all(|owner| owner.name != self.placement)
    }

    /// Metadata for the object `name`: everything observed stays except for `managed`, which is set or removed.
    pub(crate) fn metadata(&self, name: &str, observed: Option<&ObjectMeta>, managed: Managed) -> ObjectMeta {
        let mut metadata = observed.cloned().unwrap_or_default();
        metadata.name = Some(name.to_owned());
        metadata.namespace = Some(self.namespace.clone());
        metadata.owner_references = Some(self.owners(metadata.owner_references.take()));
        if managed.labels_are_exact {
            metadata.labels = None;
        }
        metadata.labels = merge(metadata.labels.take(), managed.labels);
        metadata.annotations = merge(metadata.annotations.take(), managed.annotations);
        metadata
    }

    /// Our owner reference in place of any to a placement of this name; other owners stay.
    fn owners(&self, observed: Option<Vec<OwnerReference>>) -> Vec<OwnerReference> {
        let mut owners = observed.unwrap_or_default();
        let ours = |owner: &OwnerReference| is_placement(owner) && owner.name == self.placement;
        let known = owners
            .iter()
            .find(|owner| ours(owner))
            .map(|owner| owner.uid.clone());
        let place = owners.iter().position(ours).unwrap_or(owners.len());
        owners.retain(|owner| !ours(owner));
        // Only ours were removed, and none of them was in front of the first.
        owners.insert(
            place,
            OwnerReference {
                api_version: PLACEMENT_API_VERSION.to_owned(),
                kind: PLACEMENT_KIND.to_owned(),
                name: self.placement.clone(),
                uid: if self.uid.is_empty() {
                    known.unwrap_or_default()
                } else {
                    self.uid.clone()
                },
                controller: Some(true),
                block_owner_deletion: Some(true),
            },
        );
        owners
    }
}

/// The labels and annotations of an object that are ours to set (`Some`) or to keep away (`None`).
#[derive(Default)]
pub(crate) struct Managed {
    pub(crate) labels: BTreeMap<String, Option<String>>,
    pub(crate) annotations: BTreeMap<String, Option<String>>,
    /// Whether labels of others are removed, as OCM does on its own kind.
    pub(crate) labels_are_exact: bool,
}

impl Managed {
    pub(crate) fn label(mut self, key: &str, value: impl Into<Option<String>>) -> Self {
        self.labels.insert(key.to_owned(), value.into());
        self
    }

    pub(crate) fn annotation(mut self, key: &str, value: impl Into<Option<String>>) -> Self {
        self.annotations.insert(key.to_owned(), value.into());
        self
    }

    /// A label whose value is cut when it is too long, with the full value in an annotation then.
    pub(crate) fn shortened(self, label: &str, annotation: &str, value: Option<&str>) -> Self {
        let short = value.map(|value| shorten::label_value(value).into_owned());
        let full = value
            .filter(|value| short.as_deref() != Some(value))
            .map(str::to_owned);
        self.label(label, short).annotation(annotation, full)
    }
}

/// A decimal number without sign or leading zeros, the only form that labels and names use.
pub(crate) fn parse_number(text: &str) -> Option<usize> {
    let plain = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    plain.then(|| text.parse().ok()).flatten()
}

pub(crate) fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

fn is_placement(owner: &OwnerReference) -> bool {
    owner.kind == PLACEMENT_KIND && owner.api_version.split('/').next() == Some(cluster::GROUP)
}

fn merge(
    observed: Option<BTreeMap<String, String>>,
    managed: BTreeMap<String, Option<String>>,
) -> Option<BTreeMap<String, String>> {
    let mut merged = observed.unwrap_or_default();
    for (key, value) in managed {
        match value {
            Some(value) => merged.insert(key, value),
            None => merged.remove(&key),
        };
    }
    (!merged.is_empty()).then_some(merged)
}
