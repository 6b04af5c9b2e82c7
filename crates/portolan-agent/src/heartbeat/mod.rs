//! The heartbeat of the cluster, and what it says about itself: its Lease, and the status of its ManagedCluster.
//!
//! The Lease is renewed twice in the time that `spec.leaseDurationSeconds` gives, so that one lost renewal is no news.
//! The status is written only when it would change. A hub without a ManagedCluster for this cluster, as one that knows
//! ClusterProfiles alone, gets the Lease and nothing else.

mod facts;
mod health;
mod quantity;
mod status;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::ocm;
use serde_json::json;
use tokio::sync::watch;

use crate::monitor::Monitor;
use crate::settings::Settings;
use crate::spoke::{Objects, Problem};
use facts::Facts;

const MANAGER: &str = "portolan-agent";
/// How often a Lease is to be renewed where nothing says so.
const DEFAULT_DURATION: i32 = 60;
/// The first wait after an error.
const SHORTEST: Duration = Duration::from_millis(500);

/// Beats until it is told to stop.
pub(crate) async fn beat(
    (hub, spoke): (Client, Client),
    settings: Settings,
    monitor: Monitor,
    mut stop: watch::Receiver<bool>,
) {
    let heart = Heart {
        clusters: Api::all(hub.clone()),
        leases: Api::namespaced(hub, &settings.cluster),
        objects: Objects::new(spoke.clone()),
        spoke,
        settings,
        monitor,
    };
    let mut wait = SHORTEST;
    while !*stop.borrow() {
        let (duration, done) = heart.once().await;
        let period = Duration::from_secs(duration.max(1).unsigned_abs().into()) / 2;
        wait = match done {
            Ok(()) => period,
            Err(problem) => {
                let cluster = &heart.settings.cluster;
                tracing::warn!(cluster, error = %problem, "the cluster could not be reported to the hub and is tried again");
                (wait * 2).min(period).min(heart.settings.longest_backoff)
            }
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            // Nobody holds the agent any more.
            changed = stop.changed() => if changed.is_err() { return },
        }
        if wait == period {
            wait = SHORTEST;
        }
    }
}

struct Heart {
    clusters: Api<ManagedCluster>,
    leases: Api<Lease>,
    objects: Objects,
    spoke: Client,
    settings: Settings,
    monitor: Monitor,
}

impl Heart {
    /// Renews the Lease and brings the status up to date. For how long the Lease is good, and whether all went well.
    async fn once(&self) -> (i32, Result<(), Problem>) {
        let cluster = match self.clusters.get_opt(&self.settings.cluster).await {
            Ok(cluster) => cluster,
            // A hub may be without ManagedClusters at all, or not let us see ours; it still gets the heartbeat.
            Err(error) => match Problem::of(&error) {
                Problem::NotFound(_) | Problem::Refused(_) => None,
                problem => {
                    let failed = Err(problem);
                    self.monitor.asked_hub(&failed);
                    return (DEFAULT_DURATION, failed);
                }
            },
        };
        let duration = cluster
            .as_ref()
            .and_then(|cluster| cluster.spec.lease_duration_seconds)
            .unwrap_or(DEFAULT_DURATION);
        let renewed = self.renew(duration).await;
        self.monitor.asked_hub(&renewed);
        if renewed.is_ok() {
            self.monitor.renewed();
        }
        let reported = match &cluster {
            Some(cluster) => self.report(cluster).await,
            None => Ok(()),
        };
        (duration, renewed.and(reported))
    }

    async fn renew(&self, duration: i32) -> Result<(), Problem> {
        let now = format!("{:.6}", self.settings.clock.now());
        let spec = json!({ "leaseDurationSeconds": duration, "renewTime": now, "holderIdentity": self.settings.cluster });
        let how = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({ "spec": spec }));
        match self.leases.patch(ocm::CLUSTER_LEASE, &how, &patch).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            answer => return answer.map(drop).map_err(|error| Problem::of(&error)),
        }
        let lease = json!({ "metadata": { "name": ocm::CLUSTER_LEASE }, "spec": spec });
        let lease: Lease =
            serde_json::from_value(lease).map_err(|error| Problem::Refused(error.to_string()))?;
        let how = PostParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PostParams::default()
        };
        let made = self.leases.create(&how, &lease).await;
        made.map(drop).map_err(|error| Problem::of(&error))
    }

    async fn report(&self, cluster: &ManagedCluster) -> Result<(), Problem> {
        let gathered = Facts::gather(&self.spoke, &self.objects, &self.settings).await;
        // A cluster that does not answer is not well, and that is all that is known about it.
        let is_well = gathered.is_ok() && health::is_well(&self.spoke).await;
        let (facts, problem) = match gathered {
            Ok(facts) => (facts, Ok(())),
            Err(problem) => (Facts::default(), Err(problem)),
        };
        let Some(patch) = status::patch(cluster, &facts, is_well, self.settings.clock.now()) else {
            return problem;
        };
        let how = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let name = &self.settings.cluster;
        let answer = self.clusters.patch_status(name, &how, &Patch::Merge(patch)).await;
        match answer.map_err(|error| Problem::of(&error)) {
            Ok(_) => problem,
            // Somebody else writes there too; the next beat reads it anew.
            Err(Problem::Conflict(why)) => {
                tracing::debug!(
                    why,
                    "the status of the cluster was written by somebody else meanwhile"
                );
                Ok(())
            }
            Err(problem) => Err(problem),
        }
    }
}
