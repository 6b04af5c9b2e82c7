//! The heartbeat of the cluster, and what it says about itself: its Lease, and the status of its ManagedCluster.
//!
//! The Lease is renewed twice in the time that `spec.leaseDurationSeconds` gives, so that one lost renewal is no news.
//! The status is written only when it would change. A hub without a ManagedCluster for this cluster, as one that knows
//! ClusterProfiles alone, gets the Lease and nothing else.

mod facts;
mod health;
mod quantity;
mod rival;
mod status;

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{Fuse, FusedFuture};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::ocm;
use portolan_runtime::logging::{FailureLog, Operation};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::monitor::Monitor;
use crate::sabotage::{Rule, sabotaged};
use crate::settings::Settings;
use crate::spoke::{Objects, Problem};
use facts::Facts;
use rival::Rival;

const MANAGER: &str = "portolan-agent";
/// How long to wait, in seconds, where it is not known how often the Lease is to be renewed.
const UNKNOWN_DURATION: u32 = 60;
/// The longest time between two renewals.
const LONGEST_PERIOD: Duration = Duration::from_secs(300);
/// How long the member cluster may take to say what it has.
const GATHERING_LIMIT: Duration = Duration::from_secs(60);
/// The first wait after an error.
const SHORTEST: Duration = Duration::from_millis(500);

/// Beats until it is told to stop.
pub(crate) async fn beat(
    (hub, spoke): (Client, Client),
    settings: Settings,
    monitor: Monitor,
    mut stop: watch::Receiver<bool>,
) {
    let heart = Heart::new(hub, spoke, settings, monitor);
    let tasks = heart.monitor.tasks.clone();
    let mut duration = UNKNOWN_DURATION;
    let mut pause = SHORTEST;
    // A member cluster that takes its time must not keep the Lease from being renewed: a report goes on beside the beats.
    let mut reporting = pin!(Fuse::terminated());
    // An agent that does not do its work must not say that the cluster is looked after.
    while !*stop.borrow() && (heart.monitor.why_not_alive().is_none() || sabotaged(Rule::DeadAgentIsSilent)) {
        let beat = heart.once(duration).await;
        duration = beat.duration;
        // However long the Lease is good, a change of its duration is to be heard of.
        let period = (Duration::from_secs(duration.into()) / 2).min(LONGEST_PERIOD);
        let longest = period.min(heart.settings.longest_backoff);
        if let Some(cluster) = beat.cluster
            && reporting.is_terminated()
        {
            reporting.set(heart.report(cluster).fuse());
        }
        // Nothing is reported where the hub shows no ManagedCluster, so the renewal alone says that all is well.
        if beat.renewed.is_ok() && reporting.is_terminated() {
            pause = SHORTEST;
        }
        // The error was logged where the request failed.
        let is_well = beat.renewed.is_ok();
        let wait = if is_well {
            period
        } else {
            longer(&mut pause, longest)
        };
        let mut until = Instant::now() + wait;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => break,
                reported = &mut reporting, if !reporting.is_terminated() => match reported {
                    Ok(()) if is_well => pause = SHORTEST,
                    Ok(()) => {}
                    Err(_) => until = until.min(Instant::now() + longer(&mut pause, longest)),
                },
                _ = tasks.failed(), if !sabotaged(Rule::DeadAgentIsSilent) => break,
                // The sender is dropped with the agent.
                changed = stop.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
            }
        }
    }
}

/// The next pause after an error.
fn longer(pause: &mut Duration, longest: Duration) -> Duration {
    *pause = (*pause * 2).min(longest);
    *pause
}

/// What came of one beat.
struct Beat {
    /// For how many seconds the Lease is good.
    duration: u32,
    /// The ManagedCluster, where the hub has shown it.
    cluster: Option<ManagedCluster>,
    renewed: Result<(), Silence>,
}

/// Which of the two servers has not done what was asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Silence {
    Hub(Problem),
    Member(Problem),
}

struct Heart {
    clusters: Api<ManagedCluster>,
    leases: Api<Lease>,
    objects: Objects,
    spoke: Client,
    settings: Settings,
    monitor: Monitor,
    rival: Mutex<Rival>,
}

impl Heart {
    fn new(hub: Client, spoke: Client, settings: Settings, monitor: Monitor) -> Heart {
        Heart {
            clusters: Api::all(hub.clone()),
            leases: Api::namespaced(hub, &settings.cluster),
            objects: Objects::new(spoke.clone()),
            spoke,
            settings,
            monitor,
            rival: Mutex::default(),
        }
    }

    fn rival(&self) -> MutexGuard<'_, Rival> {
        self.rival.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the ManagedCluster and renews the Lease; for as long as the `last` time where the ManagedCluster cannot be
    /// read.
    async fn once(&self, last: u32) -> Beat {
        let name = &self.settings.cluster;
        let found = self.clusters.get_opt(name).await;
        let found = found.map_err(|error| Problem::of(&error));
        let (duration, cluster, read) = match log(&self.monitor.hub, ("get", CLUSTERS, name), found) {
            Ok(cluster) => {
                self.monitor.found_cluster(name, cluster.as_ref());
                // A hub without a ManagedCluster for us gets the Lease that it would get for an empty one.
                let empty = ManagedCluster::default();
                (
                    cluster.as_ref().unwrap_or(&empty).lease_seconds(),
                    cluster,
                    Ok(()),
                )
            }
            // A hub may be without ManagedClusters at all, or not let us see ours; it still gets the heartbeat.
            Err(Problem::NotFound(_) | Problem::Refused(_)) => (last, None, Ok(())),
            Err(problem) => (last, None, Err(problem)),
        };
        let lease = format!("{name}/{}", ocm::CLUSTER_LEASE);
        let renewed = self.renew(duration).await.map_err(|problem| match problem {
            // As in a namespace that was deleted and came back without the agent's rights.
            Problem::Refused(why) if why.contains("403 Forbidden") => Problem::Refused(format!(
                "{why}; `portolan join {name}` on the hub gives the agent its rights again"
            )),
            problem => problem,
        });
        let renewed = log(&self.monitor.hub, ("patch", LEASES, &lease), renewed);
        self.monitor.renewed(&renewed);
        Beat {
            duration,
            cluster,
            renewed: renewed.and(read).map_err(Silence::Hub),
        }
    }

    async fn renew(&self, duration: u32) -> Result<(), Problem> {
        let now = format!("{:.6}", self.settings.clock.now());
        let spec = json!({ "leaseDurationSeconds": duration, "renewTime": now, "holderIdentity": self.settings.cluster });
        let how = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let mut metadata = self.signature();
        let mut lease = json!({ "metadata": metadata, "spec": spec });
        lease["metadata"]["name"] = ocm::CLUSTER_LEASE.into();
        let version = self.rival().version().map(str::to_owned);
        if let Some(version) = &version {
            metadata["resourceVersion"] = version.as_str().into();
        }
        let patch = Patch::Merge(json!({ "metadata": metadata, "spec": spec }));
        match self.leases.patch(ocm::CLUSTER_LEASE, &how, &patch).await {
            Ok(lease) => {
                self.rival().alone(&lease);
                self.monitor.other_agent(None);
                return Ok(());
            }
            Err(kube::Error::Api(status)) if status.code == 409 && version.is_some() => {
                return self.renew_after_another(&how, &spec).await;
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(Problem::of(&error)),
        }
        let lease: Lease =
            serde_json::from_value(lease).map_err(|error| Problem::Refused(error.to_string()))?;
        let how = PostParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PostParams::default()
        };
        let made = self.leases.create(&how, &lease).await;
        let made = made.map_err(|error| Problem::of(&error))?;
        self.rival().renewed(&made);
        Ok(())
    }

    /// Says in the Lease which process renews it.
    fn signature(&self) -> serde_json::Value {
        match self.settings.identity.as_str() {
            "" => json!({}),
            identity => json!({ "annotations": { rival::IDENTITY: identity } }),
        }
    }

    /// Renews a Lease that somebody else has written since our last renewal.
    async fn renew_after_another(&self, how: &PatchParams, spec: &serde_json::Value) -> Result<(), Problem> {
        let (cluster, identity) = (&self.settings.cluster, &self.settings.identity);
        let theirs = self.leases.get(ocm::CLUSTER_LEASE).await;
        let theirs = theirs.map_err(|error| Problem::of(&error))?;
        if let Some(warning) = self.rival().met(&theirs, cluster, identity) {
            tracing::warn!("{warning}");
            self.monitor.other_agent(Some(warning));
        }
        let patch = json!({ "metadata": self.signature(), "spec": spec });
        let renewed = self
            .leases
            .patch(ocm::CLUSTER_LEASE, how, &Patch::Merge(&patch))
            .await;
        let renewed = renewed.map_err(|error| Problem::of(&error))?;
        self.rival().renewed(&renewed);
        Ok(())
    }

    /// Brings the status of the ManagedCluster up to date.
    async fn report(&self, cluster: ManagedCluster) -> Result<(), Silence> {
        // A list without an end must not keep the hub from hearing whether the member cluster is available.
        let gathering = Facts::gather(&self.spoke, &self.objects, &self.settings);
        let gathered = tokio::time::timeout(GATHERING_LIMIT, gathering).await;
        let (facts, gathered) = gathered.unwrap_or_else(|_| {
            let limit = GATHERING_LIMIT.as_secs();
            let late = format!("the member cluster did not say what it has within {limit} s");
            (Facts::default(), Err(Problem::Unanswered(late)))
        });
        let gathered = log(
            &self.monitor.spoke,
            ("read", "version, nodes and claims", ""),
            gathered,
        );
        let problem = gathered.map_err(Silence::Member);
        // Only `/livez` says whether the cluster is available. A list can fail because the server is busy for a moment, or
        // because the webhook of a kind is gone; workloads must not leave a healthy cluster for that. `/livez` is asked last:
        // an old answer would make a cluster unavailable that has recovered meanwhile.
        let is_well = health::is_well(&self.spoke).await;
        let Some(patch) = status::patch(&cluster, &facts, is_well, self.settings.clock.now()) else {
            return problem;
        };
        let how = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let name = &self.settings.cluster;
        let answer = self
            .clusters
            .patch_status(name, &how, &Patch::Merge(&patch))
            .await;
        let mut answer = answer.map_err(|error| Problem::of(&error));
        // What the hub does not take of the facts must not keep it from hearing how the cluster is.
        if let Err(Problem::Refused(_)) = &answer
            && let Some(health) = status::health_alone(&patch)
        {
            let said = self
                .clusters
                .patch_status(name, &how, &Patch::Merge(health))
                .await;
            if let Err(error) = said {
                answer = Err(Problem::of(&error));
            }
        }
        match log(
            &self.monitor.hub,
            ("patch", "managedclusters/status", name),
            answer,
        ) {
            Ok(_) => problem,
            // Others write there too; the next beat reads it again.
            Err(Problem::Conflict(_)) => Ok(()),
            Err(problem) => Err(Silence::Hub(problem)),
        }
    }
}

const CLUSTERS: &str = "managedclusters.cluster.open-cluster-management.io";
const LEASES: &str = "leases.coordination.k8s.io";

/// Logs how a request ended.
fn log<T>(
    log: &FailureLog,
    (verb, resource, object): (&str, &str, &str),
    answer: Result<T, Problem>,
) -> Result<T, Problem> {
    let operation = Operation {
        verb,
        resource,
        object,
    };
    match &answer {
        Ok(_) => log.succeeded(operation),
        // A hub without the kind is one without this part.
        Err(Problem::NotFound(_)) if resource == CLUSTERS => {}
        Err(problem) => log.failed_as(operation, problem.failure(), &problem.to_string()),
    }
    answer
}

#[cfg(test)]
mod tests;
