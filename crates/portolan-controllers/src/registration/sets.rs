//! ManagedClusterSets and their bindings: built-in sets and conditions.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use portolan_api::cluster::{ManagedClusterSelector, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_api::labels::{conditions, ocm, reasons};
use tokio::time::Instant;

use super::message::Write;
use crate::moment::Moment;
use crate::reconcile::{Action, Membership, Version, WantedCondition, with_condition};

/// How often the number of clusters in a condition is refreshed while the status of the condition stays the same.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// The sets that every hub has.
pub(super) const BUILT_IN: [&str; 2] = [ocm::DEFAULT_CLUSTER_SET, ocm::GLOBAL_CLUSTER_SET];

/// What is known about a ManagedClusterSet.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub(super) version: Version,
    pub(super) membership: Membership,
    /// How many clusters it has, those that are being deleted included.
    pub(super) members: usize,
    deleting: bool,
    /// Only of a built-in set: whether its selector is to be put right.
    drifted: bool,
    conditions: Vec<Condition>,
    /// When the condition was last written from here.
    written: Option<Instant>,
}

impl Set {
    /// The set as the object shows it, with what was known before.
    pub(super) fn of(object: &ManagedClusterSet, before: Option<&Set>) -> Set {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let kept_as_edited = object.metadata.annotations.as_ref().is_some_and(|annotations| {
            annotations
                .get(ocm::AUTO_UPDATE)
                .is_some_and(|value| value == "false")
        });
        let selector = ManagedClusterSelector::built_in(name);
        Set {
            version: Version::of(&object.metadata),
            membership: Membership::of(object),
            members: before.map_or(0, |before| before.members),
            deleting: object.metadata.deletion_timestamp.is_some(),
            drifted: !kept_as_edited
                && selector.is_some_and(|selector| !is_same(&selector, &object.spec.cluster_selector)),
            conditions: object
                .status
                .as_ref()
                .map_or_else(Vec::new, |status| status.conditions.clone()),
            written: before.and_then(|before| before.written),
        }
    }

    pub(super) fn decide(&mut self, name: &str, counted: bool, now: Moment) -> Action<Write> {
        if self.deleting {
            return Action::AwaitChange;
        }
        if self.drifted {
            return Action::Write(Write::RepairSet {
                name: name.to_owned(),
                version: self.version.clone(),
            });
        }
        // The members of an invalid set are unknown, so its conditions stay unchanged.
        if !counted || self.membership.is_invalid() {
            return Action::AwaitChange;
        }
        let wanted = self.condition();
        let Some(conditions) = with_condition(&self.conditions, &wanted, now.wall) else {
            return Action::AwaitChange;
        };
        let only_the_count = self
            .conditions
            .iter()
            .any(|condition| condition.type_ == wanted.type_ && condition.status == wanted.status);
        if let Some(again) = self.written.map(|written| written + COUNT_INTERVAL)
            && only_the_count
            && again > now.instant
        {
            return Action::RequeueAt(again);
        }
        self.written = Some(now.instant);
        Action::Write(Write::SetStatus {
            name: name.to_owned(),
            version: self.version.clone(),
            conditions,
        })
    }

    /// In OCM's words.
    fn condition(&self) -> WantedCondition {
        let (status, reason, message) = match self.members {
            0 => (
                "True",
                reasons::NO_CLUSTER_MATCHED,
                "No ManagedCluster selected".to_owned(),
            ),
            members => (
                "False",
                reasons::CLUSTERS_SELECTED,
                format!("{members} ManagedClusters selected"),
            ),
        };
        WantedCondition {
            type_: conditions::CLUSTER_SET_EMPTY,
            status,
            reason,
            message,
        }
    }
}

/// What is known about a ManagedClusterSetBinding.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) version: Version,
    deleting: bool,
    /// The set it says it binds, when that is not its own name.
    misnamed: Option<Box<str>>,
    conditions: Vec<Condition>,
}

impl Binding {
    pub(super) fn of(object: &ManagedClusterSetBinding) -> Binding {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let said = object.spec.cluster_set.as_str();
        Binding {
            version: Version::of(&object.metadata),
            deleting: object.metadata.deletion_timestamp.is_some(),
            misnamed: (!said.is_empty() && said != name).then(|| said.into()),
            conditions: object
                .status
                .as_ref()
                .map_or_else(Vec::new, |status| status.conditions.clone()),
        }
    }

    pub(super) fn decide(&self, namespace: &str, name: &str, bound: bool, now: Timestamp) -> Action<Write> {
        if self.deleting {
            return Action::AwaitChange;
        }
        let (status, reason) = match bound {
            true => ("True", reasons::CLUSTER_SET_BOUND),
            false => ("False", reasons::CLUSTER_SET_NOT_FOUND),
        };
        let misnamed = self.misnamed.as_ref().map(|said| {
            format!("spec.clusterSet is {said:?}, but a binding binds the set of its own name, {name:?}")
        });
        let missing = (!bound).then(|| {
            format!("the ManagedClusterSetBinding has no effect: there is no ManagedClusterSet {name:?}")
        });
        let said: Vec<String> = misnamed.into_iter().chain(missing).collect();
        let message = said.join("; ");
        let wanted = WantedCondition {
            type_: conditions::BOUND,
            status,
            reason,
            message,
        };
        match with_condition(&self.conditions, &wanted, now) {
            None => Action::AwaitChange,
            Some(conditions) => Action::Write(Write::BindingStatus {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                version: self.version.clone(),
                conditions,
            }),
        }
    }
}

/// Whether two selectors mean the same: a type that is not there is the default, and an empty list is no list.
fn is_same(wanted: &ManagedClusterSelector, observed: &ManagedClusterSelector) -> bool {
    let kind = |selector: &ManagedClusterSelector| match selector.selector_type.as_deref() {
        None | Some("") => "ExclusiveClusterSetLabel".to_owned(),
        Some(other) => other.to_owned(),
    };
    let plain = |selector: &ManagedClusterSelector| {
        selector.label_selector.clone().map(|selector| LabelSelector {
            match_labels: selector.match_labels.filter(|labels| !labels.is_empty()),
            match_expressions: selector
                .match_expressions
                .filter(|expressions| !expressions.is_empty()),
        })
    };
    kind(wanted) == kind(observed) && plain(wanted) == plain(observed)
}
