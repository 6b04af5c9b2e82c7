//! The simulated fleet on a hub: loaded once, brought up to date after a pause, and then kept alive.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use portolan_api::cluster::ManagedCluster;
use portolan_api::count::counted;
use portolan_api::labels::conditions;
use portolan_runtime::logging::FailureLog;
use tokio::time::MissedTickBehavior;

use super::demo::{Change, Demo, Health, NAMESPACES, State, between};
use super::write::Writer;
use crate::clock;
use crate::live::{self, Server};

const CLUSTERS: usize = 250;
/// Clusters that are there before the controllers start: enough for every story, and few enough to be there at once.
const FIRST: usize = 40;
/// Writes under way at the same time.
const PARALLEL: usize = 16;
const TICK: Duration = Duration::from_secs(1);

/// A fleet on a hub.
pub(super) struct Fleet {
    demo: Demo,
    writer: Writer,
    log: FailureLog,
    /// The time that the hub shows, or will when the plan is done.
    at: Timestamp,
    plan: Plan,
}

impl std::fmt::Display for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}, a placement for each user story in {}",
            counted(self.demo.clusters, "simulated cluster"),
            NAMESPACES.join(", ")
        )
    }
}

impl Fleet {
    /// Brings placements and the first clusters onto the hub; the others join while it lives. Clusters that are there
    /// are kept; how many there are to be is what was asked for, what is there, or the usual number.
    pub(super) async fn load(server: &Server, seed: u64, clusters: Option<usize>) -> anyhow::Result<Fleet> {
        let writer = Writer::new(server.client.clone());
        let failed = |error: kube::Error| live::explain(&error, "load the simulated fleet", &server.url);
        let there = writer.clusters().await.map_err(failed)?;
        let number = clusters
            .or((!there.is_empty()).then_some(there.len()))
            .unwrap_or(CLUSTERS);
        let demo = Demo {
            seed,
            clusters: number,
        };
        let at = clock::now();
        let mut plan = Plan::new(&demo, &there, at.as_second());
        super::progress(&match there.len() {
            0 => format!(
                "loading the first of {}; the others join later",
                counted(number, "simulated cluster")
            ),
            there if there > number => format!(
                "bringing {} up to date and removing {} of an earlier start",
                counted(number, "simulated cluster"),
                there - number
            ),
            there => format!("bringing {} up to date", counted(there, "simulated cluster")),
        });
        all(NAMESPACES.iter().map(|name| writer.create_namespace(name)))
            .await
            .map_err(failed)?;
        for object in demo.stories() {
            writer.create(&object).await.map_err(failed)?;
        }
        let first: Vec<usize> = plan.create.drain(..plan.create.len().min(FIRST)).collect();
        let fleet = Fleet {
            demo,
            writer,
            log: FailureLog::new("the hub"),
            at,
            plan,
        };
        all(first.iter().map(|index| fleet.join(*index)))
            .await
            .map_err(failed)?;
        Ok(fleet)
    }

    /// A command that moves a cluster between groups, to be tried.
    pub(super) fn try_this(&self) -> Option<String> {
        let cluster = self.demo.no_canary()?;
        Some(format!(
            "kubectl label managedcluster {cluster} ring=0 --overwrite"
        ))
    }

    /// Lets the other clusters join, and then writes what happens, second by second. Errors are logged; the next change
    /// of the same thing puts it right.
    pub(super) async fn live(&self) {
        let writes = self
            .plan
            .delete
            .iter()
            .map(|name| self.writer.delete_cluster(name));
        self.log(all(writes).await);
        self.log(
            all(self
                .plan
                .changes
                .iter()
                .map(|change| self.writer.write(change, self.at)))
            .await,
        );
        self.log(all(self.plan.create.iter().map(|index| self.join(*index))).await);
        let mut shown = self.at.as_second();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let now = clock::now();
            let second = now.as_second();
            let changes = self.demo.changes(shown, second);
            let writes = changes.iter().map(|change| self.writer.write(change, now));
            stream::iter(writes)
                .buffer_unordered(PARALLEL)
                .for_each(|answer| async { self.log(answer) })
                .await;
            shown = second;
        }
    }

    /// Creates a cluster, with its score if it has one.
    async fn join(&self, index: usize) -> kube::Result<()> {
        self.writer
            .create_cluster(&self.demo.cluster(index, self.at))
            .await?;
        match self.demo.state(index, self.at.as_second()).score {
            None => Ok(()),
            Some(value) => {
                let cluster = self.demo.name(index);
                let score = Change::Score { cluster, value };
                self.writer.write(&score, self.at).await
            }
        }
    }

    /// Says what the simulated fleet could not write.
    fn log(&self, answer: kube::Result<()>) {
        match answer {
            Ok(()) => self.log.request_succeeded("write", SIMULATED, &""),
            Err(error) => self.log.request_failed("write", SIMULATED, &"", &error),
        }
    }
}

/// The simulated fleet in log lines.
const SIMULATED: &str = "simulated clusters";

/// What brings a hub up to date.
struct Plan {
    create: Vec<usize>,
    delete: Vec<String>,
    changes: Vec<Change>,
}

impl Plan {
    fn new(demo: &Demo, there: &[ManagedCluster], second: i64) -> Plan {
        let mut there: HashMap<&str, &ManagedCluster> = there
            .iter()
            .filter_map(|cluster| Some((cluster.metadata.name.as_deref()?, cluster)))
            .collect();
        let mut plan = Plan {
            create: Vec::new(),
            delete: Vec::new(),
            changes: Vec::new(),
        };
        for index in 0..demo.clusters {
            let (name, state) = (demo.name(index), demo.state(index, second));
            match there.remove(name.as_str()) {
                None => plan.create.push(index),
                Some(cluster) => plan.changes.extend(differences(&name, cluster, &state)),
            }
        }
        plan.delete = there.into_keys().map(str::to_owned).collect();
        plan.delete.sort();
        plan
    }
}

/// What has to be written about a cluster that an earlier run has left behind. Its score is renewed in any case: the
/// old one is no longer valid.
fn differences(name: &str, cluster: &ManagedCluster, state: &State) -> Vec<Change> {
    let status = cluster.status.clone().unwrap_or_default();
    let available = status
        .conditions
        .iter()
        .find(|condition| condition.type_ == conditions::AVAILABLE);
    let health = match available.map(|condition| condition.status.as_str()) {
        Some("True") => Health::Good,
        Some("False") => Health::Bad,
        _ => Health::Silent,
    };
    let cpu = status.allocatable.get("cpu").map(|quantity| quantity.0.as_str());
    let before = State {
        health,
        // A share that no cluster has stands for any other.
        free: if cpu == Some(state.allocatable().0.as_str()) {
            state.free
        } else {
            -1
        },
        score: None,
        ..*state
    };
    between(name, &before, state)
}

/// Waits for all, some at a time; the first error ends it.
async fn all(writes: impl IntoIterator<Item = impl Future<Output = kube::Result<()>>>) -> kube::Result<()> {
    stream::iter(writes)
        .buffer_unordered(PARALLEL)
        .try_for_each(|()| async { Ok(()) })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMO: Demo = Demo {
        seed: 1,
        clusters: 20,
    };
    const SECOND: i64 = 1_767_225_600;

    fn fleet(second: i64) -> Vec<ManagedCluster> {
        let at = Timestamp::from_second(second).unwrap();
        (0..DEMO.clusters).map(|index| DEMO.cluster(index, at)).collect()
    }

    #[test]
    fn an_empty_hub_gets_every_cluster() {
        let plan = Plan::new(&DEMO, &[], SECOND);
        assert_eq!((plan.create.len(), plan.delete.len()), (20, 0));
    }

    #[test]
    fn a_fleet_that_is_up_to_date_gets_its_scores_renewed_and_nothing_else() {
        let plan = Plan::new(&DEMO, &fleet(SECOND), SECOND);
        assert!(plan.create.is_empty() && plan.delete.is_empty());
        assert!(
            plan.changes
                .iter()
                .all(|change| matches!(change, Change::Score { .. })),
            "{:?}",
            plan.changes
        );
    }

    #[test]
    fn after_a_pause_every_cluster_is_brought_to_what_it_is_like_now() {
        let later = SECOND + 3_600;
        let plan = Plan::new(&DEMO, &fleet(SECOND), later);
        let expected: usize = (0..DEMO.clusters)
            .filter(|index| {
                let (before, now) = (DEMO.state(*index, SECOND), DEMO.state(*index, later));
                before.free != now.free && now.health != Health::Silent
            })
            .count();
        let resources = plan
            .changes
            .iter()
            .filter(|change| matches!(change, Change::Resources { .. }))
            .count();
        assert!(expected > 0);
        assert_eq!(resources, expected);
    }

    #[test]
    fn a_smaller_fleet_loses_the_clusters_that_are_too_many() {
        let smaller = Demo { clusters: 15, ..DEMO };
        assert_eq!(Plan::new(&smaller, &fleet(SECOND), SECOND).delete.len(), 5);
    }
}
