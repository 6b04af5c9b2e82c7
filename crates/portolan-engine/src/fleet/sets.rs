//! ManagedClusterSets, their members, and the namespaces they are bound to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_api::FieldError;
use portolan_api::cluster::ManagedClusterSet;
use portolan_api::labels;

use super::bits::Clusters;
use crate::selector::{Operator, Requirement, Selector, preview};

/// The members of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Membership {
    Selector(Selector),
    /// A label selector that is not there selects nothing, unlike an empty one.
    Nobody,
    /// The set cannot be evaluated; a placement that needs it keeps what it has.
    Invalid(String),
}

#[derive(Debug)]
pub(crate) struct ClusterSet {
    pub(crate) membership: Membership,
    pub(crate) members: Clusters,
}

#[derive(Debug, Default)]
pub(crate) struct Sets {
    pub(crate) sets: BTreeMap<String, ClusterSet>,
    /// Names of the bindings of each namespace. A binding is valid when a set of its name exists.
    pub(crate) bindings: BTreeMap<String, BTreeSet<String>>,
    /// What `spec.clusterSet` names, of bindings that have another name: by namespace, then by name. It binds nothing, and
    /// messages show it.
    pub(crate) misnamed: BTreeMap<String, BTreeMap<String, String>>,
}

/// Which sets a placement may choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eligibility {
    /// Sets that exist and are bound to the placement's namespace, sorted.
    pub bound: Vec<String>,
    /// Those of them that the placement asks for: all of them when it names none.
    pub eligible: Vec<String>,
}

impl Sets {
    pub(crate) fn eligibility(&self, namespace: &str, wanted: &[String]) -> Eligibility {
        let bound: Vec<String> = self
            .bindings
            .get(namespace)
            .into_iter()
            .flatten()
            .filter(|name| self.sets.contains_key(*name))
            .cloned()
            .collect();
        let eligible = match wanted {
            [] => bound.clone(),
            wanted => bound
                .iter()
                .filter(|name| wanted.contains(name))
                .cloned()
                .collect(),
        };
        Eligibility { bound, eligible }
    }
}

/// Where a set has its selector.
const SELECTOR: &str = "spec.clusterSelector.labelSelector";

/// Why the label selector of a set cannot be evaluated. A set that does not go by it has no such mistake.
pub fn set_mistake(set: &ManagedClusterSet) -> Option<FieldError> {
    let selector = &set.spec.cluster_selector;
    if selector.selector_type.as_deref() != Some("LabelSelector") {
        return None;
    }
    Selector::from_labels(selector.label_selector.as_ref(), SELECTOR).err()
}

pub(crate) fn membership(set: &ManagedClusterSet) -> Membership {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let selector = &set.spec.cluster_selector;
    match selector.selector_type.as_deref().unwrap_or_default() {
        "" | "ExclusiveClusterSetLabel" => Membership::Selector(Selector {
            requirements: vec![Requirement {
                key: Arc::from(labels::ocm::CLUSTER_SET),
                operator: Operator::In,
                values: vec![name.into()],
            }],
        }),
        "LabelSelector" => match &selector.label_selector {
            None => Membership::Nobody,
            Some(labels) => match Selector::from_labels(Some(labels), SELECTOR) {
                Ok(selector) => Membership::Selector(selector),
                Err(error) => Membership::Invalid(format!("ManagedClusterSet {name}: {}", error.statement())),
            },
        },
        other => Membership::Invalid(format!(
            "ManagedClusterSet {name}: spec.clusterSelector.selectorType {:?} is unknown; accepted: ExclusiveClusterSetLabel, LabelSelector",
            preview(other)
        )),
    }
}
