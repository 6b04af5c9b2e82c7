//! ManagedClusters: availability taints and the default cluster set.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use portolan_api::cluster::{ManagedCluster, Taint, TaintEffect};
use portolan_api::labels::{conditions, ocm};

use super::heartbeat;
use crate::reconcile::{Labels, Version};

/// What is known about a ManagedCluster.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) version: Version,
    pub(super) labels: Labels,
    /// How long it may be silent.
    pub(super) patience: Duration,
    accepted: bool,
    deleting: bool,
    availability: Availability,
    taints: Box<[Taint]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Availability {
    Available,
    Unavailable,
    /// Unknown.
    Unreachable,
    /// Never reported.
    Unheard,
}

/// What a ManagedCluster lacks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClusterChange {
    /// It belongs to no exclusive set, and to `default` therefore.
    pub(crate) join_default_set: bool,
    /// All taints as they should be, when they are not.
    pub(crate) taints: Option<Vec<Taint>>,
}

impl Cluster {
    pub(super) fn of(object: &ManagedCluster) -> Cluster {
        let status = object.status.as_ref();
        Cluster {
            version: Version::of(&object.metadata),
            labels: Labels::new(object.metadata.labels.as_ref()),
            patience: heartbeat::patience(object),
            accepted: object.spec.hub_accepts_client,
            deleting: object.metadata.deletion_timestamp.is_some(),
            availability: availability(status.map_or(&[], |status| &status.conditions)),
            taints: object.spec.taints.as_slice().into(),
        }
    }

    /// Whether its silence would be worth a word: not when that was said, and not about a cluster that is on its way in
    /// or out.
    pub(super) fn is_counted_on(&self) -> bool {
        self.accepted && !self.deleting && self.availability != Availability::Unreachable
    }

    /// Whether nothing is to be changed.
    pub(super) fn is_settled(&self) -> bool {
        // The time only goes into what is changed, not into whether.
        self.change(Timestamp::UNIX_EPOCH).is_none()
    }

    /// What is to be changed, if anything.
    pub(super) fn change(&self, now: Timestamp) -> Option<ClusterChange> {
        if self.deleting {
            return None;
        }
        let change = ClusterChange {
            join_default_set: self.labels.get(ocm::CLUSTER_SET).unwrap_or_default().is_empty(),
            taints: self.wanted_taints(now),
        };
        (change.join_default_set || change.taints.is_some()).then_some(change)
    }

    /// The key of the availability taint that this controller is going to add.
    fn missing_taint(&self) -> Option<&'static str> {
        let wanted = match self.availability {
            Availability::Available => return None,
            Availability::Unavailable => ocm::TAINT_UNAVAILABLE,
            Availability::Unreachable | Availability::Unheard => ocm::TAINT_UNREACHABLE,
        };
        let is_there = self.taints.iter().any(|taint| is_ours(taint, wanted));
        (!is_there && !self.deleting).then_some(wanted)
    }

    fn wanted_taints(&self, now: Timestamp) -> Option<Vec<Taint>> {
        let unwanted: &[&str] = match self.availability {
            Availability::Available => &[ocm::TAINT_UNAVAILABLE, ocm::TAINT_UNREACHABLE],
            Availability::Unavailable => &[ocm::TAINT_UNREACHABLE],
            Availability::Unreachable | Availability::Unheard => &[ocm::TAINT_UNAVAILABLE],
        };
        let missing = self.missing_taint();
        let in_place = |taint: &&Taint| !unwanted.iter().any(|key| is_ours(taint, key));
        if missing.is_none() && self.taints.iter().all(|taint| in_place(&taint)) {
            return None;
        }
        let kept = self.taints.iter().filter(in_place).cloned();
        let added = missing.map(|key| Taint {
            key: key.to_owned(),
            value: None,
            effect: TaintEffect::NoSelect,
            time_added: Some(Time(now)),
        });
        Some(kept.chain(added).collect())
    }
}

/// `object` with the availability taint that this controller is going to add, or None when none is missing. Scheduling reads
/// this instead of the object: a cluster that just came, accepted or not, would be selected until its taint is written. The
/// effect is NoSelectIfNew, so that a cluster leaves a decision only on a taint that is stored.
pub(crate) fn with_missing_taint(object: &ManagedCluster) -> Option<ManagedCluster> {
    let key = Cluster::of(object).missing_taint()?;
    let mut object = object.clone();
    object.spec.taints.push(Taint {
        key: key.to_owned(),
        value: None,
        effect: TaintEffect::NoSelectIfNew,
        // None would be a taint whose tolerations have all expired.
        time_added: object.metadata.creation_timestamp.clone(),
    });
    Some(object)
}

fn availability(conditions: &[Condition]) -> Availability {
    let available = conditions
        .iter()
        .find(|condition| condition.type_ == conditions::AVAILABLE)
        .map(|condition| condition.status.as_str());
    match available {
        Some("True") => Availability::Available,
        Some("False") => Availability::Unavailable,
        Some(_) => Availability::Unreachable,
        None => Availability::Unheard,
    }
}

/// A taint with the same key that somebody gave a value or another effect is somebody's, not ours.
fn is_ours(taint: &Taint, key: &str) -> bool {
    taint.key == key
        && taint.effect == TaintEffect::NoSelect
        && taint.value.as_deref().unwrap_or_default().is_empty()
}
