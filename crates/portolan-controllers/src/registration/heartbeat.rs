//! Heartbeats: the Lease that a cluster's agent renews, and when it has stopped doing so.
//!
//! Silence is measured by the hub's own clock, from the moment a renewal was heard of. A member whose clock is wrong is
//! not silent, and a hub that was down does not find a silent fleet when it comes back.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::{conditions, ocm, reasons};
use serde_json::{Value, json};

use crate::upkeep::{Version, Wanted, with_condition};

/// What agents call the Lease in the cluster's own namespace.
pub(super) const LEASE: &str = ocm::CLUSTER_LEASE;
/// A cluster is silent after this many lease durations without a renewal.
const MISSED: i64 = 5;
/// In seconds, where the cluster says nothing usable.
const DEFAULT_DURATION: i64 = 60;

/// What is known about the Lease of a cluster.
#[derive(Clone, Debug)]
pub(super) struct Heartbeat {
    pub(super) version: Version,
    /// As the agent says; only compared with itself.
    renewed: Option<Timestamp>,
    /// When that was heard of. Nothing until it is looked at for the first time.
    heard: Option<Timestamp>,
    /// When it is looked at again without being touched.
    timer: Option<Timestamp>,
}

/// How a heartbeat looks at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pulse {
    /// It beats, and a timer will see when it stops.
    Beats,
    /// It beats, and is to be looked at then.
    BeatsUntil(Timestamp),
    /// It has stopped.
    Silent,
}

impl Heartbeat {
    /// The heartbeat as the object shows it, with what was known before.
    pub(super) fn of(object: &Lease, before: Option<&Heartbeat>) -> Heartbeat {
        let spec = object.spec.as_ref();
        let renewed = spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
        let same = before.filter(|before| before.renewed == renewed);
        Heartbeat {
            version: Version::of(&object.metadata),
            renewed,
            heard: same.and_then(|before| before.heard),
            timer: before.and_then(|before| before.timer),
        }
    }

    /// Whether a renewal was heard of that nobody has looked at yet.
    pub(super) fn is_new(&self) -> bool {
        self.heard.is_none()
    }

    /// Starts over: nobody listened for a while, so that nothing was heard means nothing.
    pub(super) fn forgive(&mut self, now: Timestamp) {
        self.heard = Some(now);
    }

    /// Looks at it. A renewal that nobody has looked at yet was heard of now.
    pub(super) fn look(&mut self, duration: SignedDuration, now: Timestamp) -> Pulse {
        let silent = *self.heard.get_or_insert(now) + duration;
        if silent <= now {
            self.timer = None;
            return Pulse::Silent;
        }
        // One timer a cluster: most renewals find one that is early enough, and leave it.
        if self.timer.is_some_and(|timer| now < timer && timer <= silent) {
            return Pulse::Beats;
        }
        self.timer = Some(silent);
        Pulse::BeatsUntil(silent)
    }
}

/// How long a cluster may be silent.
pub(super) fn patience(cluster: &ManagedCluster) -> SignedDuration {
    let seconds = match cluster.spec.lease_duration_seconds {
        Some(seconds) if seconds > 0 => i64::from(seconds),
        _ => DEFAULT_DURATION,
    };
    SignedDuration::from_secs(MISSED * seconds)
}

/// The status of a silent cluster, in OCM's words. Nothing when it says so already.
pub(super) fn silenced(cluster: &ManagedCluster, now: Timestamp) -> Option<Value> {
    let conditions = cluster
        .status
        .as_ref()
        .map_or(&[][..], |status| &status.conditions);
    let wanted = Wanted {
        type_: conditions::AVAILABLE,
        status: "Unknown",
        reason: reasons::LEASE_UPDATE_STOPPED,
        message: "Registration agent stopped updating its lease.".to_owned(),
    };
    let conditions = with_condition(conditions, &wanted, now)?;
    let version = Version::of(&cluster.metadata);
    Some(json!({
        "metadata": {"resourceVersion": version.as_str()},
        "status": {"conditions": conditions},
    }))
}
