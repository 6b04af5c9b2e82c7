//! Heartbeats: the Lease that a cluster's agent renews, and when it has stopped doing so.
//!
//! Silence is measured by the hub's own monotonic clock, from the moment a renewal was heard of. A member whose clock is wrong is
//! not silent, and a hub that was down does not find a silent fleet when it comes back.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::{conditions, ocm, reasons};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::reconcile::{Version, WantedCondition, with_condition};

/// What agents call the Lease in the cluster's own namespace.
pub(super) const LEASE: &str = ocm::CLUSTER_LEASE;
/// A cluster is silent after this many lease durations without a renewal.
const MISSED: u32 = 5;
/// The longest duration in a Lease that counts. Agents renew their Lease within half of it, whatever their ManagedCluster says.
const LONGEST_ANNOUNCED: Duration = Duration::from_secs(600);
/// A loop that is this late did not run: the process was paused.
const ASLEEP: Duration = Duration::from_secs(30);

/// What is known about the Lease of a cluster.
#[derive(Clone, Debug)]
pub(super) struct Heartbeat {
    pub(super) version: Version,
    /// As the agent says; only compared with itself.
    renewed: Option<Timestamp>,
    /// When that was heard of. Nothing until it is looked at for the first time.
    heard: Option<Instant>,
    /// When it is looked at again without being touched.
    timer: Option<Instant>,
    /// How long a silence the agent has announced in the Lease.
    announced: Duration,
}

/// How a heartbeat looks at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pulse {
    /// It beats, and a timer will see when it stops.
    Beats,
    /// It beats, and is to be looked at then.
    BeatsUntil(Instant),
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
            announced: announced(object),
        }
    }

    /// Whether a renewal was heard of that nobody has looked at yet.
    pub(super) fn is_new(&self) -> bool {
        self.heard.is_none()
    }

    /// Starts over: nobody listened for a while, so that nothing was heard means nothing.
    pub(super) fn forgive(&mut self, now: Instant) {
        self.heard = Some(now);
    }

    /// Looks at it. A renewal that nobody has looked at yet was heard of now. An agent hears of a shorter duration with its
    /// next renewal; until then it is as late as it has announced.
    pub(super) fn look(&mut self, duration: Duration, now: Instant) -> Pulse {
        let silent = *self.heard.get_or_insert(now) + duration.max(self.announced);
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

/// How long a silence the duration in a Lease announces.
fn announced(object: &Lease) -> Duration {
    let seconds = object.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    MISSED * Duration::from_secs(seconds.unwrap_or_default()).min(LONGEST_ANNOUNCED)
}

/// How long a cluster may be silent.
pub(super) fn patience(cluster: &ManagedCluster) -> Duration {
    MISSED * lease_duration(cluster)
}

/// In what time the Lease is to be renewed.
fn lease_duration(cluster: &ManagedCluster) -> Duration {
    Duration::from_secs(cluster.lease_seconds().into())
}

/// How long a process may have listened to nobody without that being a reason to start over. A pause of a lease duration
/// is one missed renewal and says nothing; a longer one may be the end of what a cluster with short leases has.
pub(super) fn longest_pause(patience: Duration) -> Duration {
    (patience / MISSED).min(ASLEEP)
}

/// The status of a silent cluster, in OCM's words. Nothing when it says so already.
pub(super) fn silenced(cluster: &ManagedCluster, now: Timestamp) -> Option<Value> {
    let conditions = cluster
        .status
        .as_ref()
        .map_or(&[][..], |status| &status.conditions);
    let wanted = WantedCondition {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_duration_that_is_made_shorter_counts_from_the_next_renewal() {
        let lease = |seconds: i32| -> Lease {
            let spec = json!({"leaseDurationSeconds": seconds, "renewTime": "2026-01-01T00:00:00.000000Z"});
            serde_json::from_value(json!({"metadata": {"name": "l"}, "spec": spec})).unwrap()
        };
        let start = Instant::now();
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        let short = MISSED * Duration::from_secs(10);
        let mut beat = Heartbeat::of(&lease(600), None);
        beat.look(MISSED * Duration::from_secs(600), start);
        // The ManagedCluster says ten seconds now, and the agent sleeps for five minutes.
        assert_ne!(beat.look(short, after(300)), Pulse::Silent);
        let mut beat = Heartbeat::of(&lease(10), None);
        beat.look(short, after(300));
        assert_ne!(beat.look(short, after(349)), Pulse::Silent);
        assert_eq!(beat.look(short, after(350)), Pulse::Silent);
        // No Lease keeps a silent cluster available for ever.
        let mut beat = Heartbeat::of(&lease(i32::MAX), None);
        beat.look(short, start);
        assert_eq!(
            beat.look(short, start + MISSED * LONGEST_ANNOUNCED),
            Pulse::Silent
        );
    }
}
