//! The simulated fleet on a hub: loaded once, brought up to date after a pause, and then kept alive.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::conditions;
use tokio::time::MissedTickBehavior;

use super::demo::{Change, Demo, Health, NAMESPACES, State, between};
use super::write::Writer;
use crate::clock;
use crate::live::{self, Server};
use crate::progress::Progress;

const CLUSTERS: usize = 250;
/// Writes under way at the same time: while it loads, and while it lives.
const LOADING: usize = 64;
const LIVING: usize = 8;
const TICK: Duration = Duration::from_secs(1);

/// A fleet that is loaded.
pub(super) struct Fleet {
    demo: Demo,
    writer: Writer,
    /// The second that the hub shows.
    loaded_at: i64,
}

impl std::fmt::Display for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} simulated clusters, a placement for each user story in {}",
            self.demo.clusters,
            NAMESPACES.join(", ")
        )
    }
}

impl Fleet {
    /// Brings the hub to what the fleet is like now. Clusters that are there are kept; how many there are to be is
    /// what was asked for, what is there, or the usual number.
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
        let now = clock::now();
        let plan = Plan::new(&demo, &there, now.as_second());
        let mut progress = Progress::new("clusters loaded", plan.create.len());
        super::progress(&format!(
            "loading {number} simulated clusters{}",
            if there.is_empty() {
                ""
            } else {
                ", most of them from the data"
            }
        ));
        all(NAMESPACES.iter().map(|name| writer.create_namespace(name)))
            .await
            .map_err(failed)?;
        all(plan.delete.iter().map(|name| writer.delete_cluster(name)))
            .await
            .map_err(failed)?;
        let mut created = stream::iter(plan.create.iter().map(|index| {
            let (writer, cluster) = (&writer, demo.cluster(*index, now));
            async move { writer.create_cluster(&cluster).await }
        }))
        .buffer_unordered(LOADING);
        while let Some(answer) = created.next().await {
            answer.map_err(failed)?;
            progress.advance();
        }
        drop((created, progress));
        all(plan.changes.iter().map(|change| writer.write(change, now)))
            .await
            .map_err(failed)?;
        for object in demo.stories() {
            writer.create(&object).await.map_err(failed)?;
        }
        Ok(Fleet {
            demo,
            writer,
            loaded_at: now.as_second(),
        })
    }

    /// A cluster to try things on.
    pub(super) fn first_cluster(&self) -> String {
        self.demo.name(0)
    }

    /// Writes what happens, second by second. Errors are logged; the next change of the same thing puts it right.
    pub(super) async fn live(&self) {
        let mut shown = self.loaded_at;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let now = clock::now();
            let second = now.as_second();
            let changes = self.demo.changes(shown, second);
            let writes = changes.iter().map(|change| async move {
                if let Err(error) = self.writer.write(change, now).await {
                    tracing::warn!(
                        ?change,
                        error = live::describe(&error),
                        "the simulated fleet could not write"
                    );
                }
            });
            stream::iter(writes)
                .buffer_unordered(LIVING)
                .for_each(|()| async {})
                .await;
            shown = second;
        }
    }
}

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
            // Scores are renewed in any case: those of an earlier run are no longer valid.
            plan.changes.extend(state.score.map(|value| Change::Score {
                cluster: name.clone(),
                value,
            }));
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

/// What has to be written about a cluster that an earlier run has left behind.
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
        ..*state
    };
    between(name, &before, state)
}

/// Waits for all, some at a time; the first error ends it.
async fn all(writes: impl IntoIterator<Item = impl Future<Output = kube::Result<()>>>) -> kube::Result<()> {
    stream::iter(writes)
        .buffer_unordered(LOADING)
        .try_for_each(|()| async { Ok(()) })
        .await
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

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
