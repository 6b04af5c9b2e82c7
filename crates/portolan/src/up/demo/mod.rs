//! A simulated fleet: what every cluster is like at any second, out of a seed.
//!
//! Pure: nothing is remembered and no clock is read. A cluster's state is a function of the seed, its number and the
//! second, so a demo that is started again on the same data goes on as if it had never stopped. What is written is the
//! difference between two seconds; [`super::load`] does the writing.

mod fleet;
mod random;
mod stories;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::conditions;
use serde_json::Value;

pub(crate) use fleet::{Health, State};
pub(crate) use stories::{NAMESPACES, stories};

/// Marks every cluster of the demo.
pub(crate) const LABEL: &str = "portolan.dev/demo";
/// The score that GPU clusters publish, and its name in it.
pub(crate) const SCORE: &str = "gpu-capacity";
pub(crate) const SCORE_NAME: &str = "free";

/// A fleet of this many clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demo {
    /// Same seed, same fleet and same fate.
    pub(crate) seed: u64,
    pub(crate) clusters: usize,
}

/// Something to write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// A cluster fell ill or recovered.
    Health { cluster: String, health: Health },
    /// A cluster has other free resources now.
    Resources {
        cluster: String,
        cpu: String,
        memory: String,
    },
    /// A GPU cluster has another score now.
    Score { cluster: String, value: i32 },
    /// A cluster says that it is there.
    Heartbeat { cluster: String },
}

impl Demo {
    /// What happened after the second `from`, up to and in the second `to`.
    pub(crate) fn changes(&self, from: i64, to: i64) -> Vec<Change> {
        let mut changes = Vec::new();
        for index in 0..self.clusters {
            let (before, after) = (self.state(index, from), self.state(index, to));
            // Naming a cluster means making it; most have nothing to tell.
            if before == after && !self.beats(index, from, to) {
                continue;
            }
            let cluster = self.name(index);
            changes.extend(between(&cluster, &before, &after));
            if after.health == Health::Good && self.beats(index, from, to) {
                changes.push(Change::Heartbeat { cluster });
            }
        }
        changes
    }

    /// Name of a cluster.
    pub(crate) fn name(&self, index: usize) -> String {
        fleet::name(self, index)
    }

    /// A cluster as it is in a second.
    pub(crate) fn cluster(&self, index: usize, at: Timestamp) -> ManagedCluster {
        fleet::cluster(self, index, at)
    }

    /// What changes about a cluster.
    pub(crate) fn state(&self, index: usize, second: i64) -> State {
        fleet::state(self, index, second)
    }

    fn beats(&self, index: usize, from: i64, to: i64) -> bool {
        fleet::beat(self, index, from) != fleet::beat(self, index, to)
    }

    /// A cluster of the frontend that is no canary: making it one moves it between groups.
    pub(crate) fn no_canary(&self) -> Option<String> {
        fleet::no_canary(self)
    }

    /// Sets, bindings and placements: one for each user story.
    pub(crate) fn stories(&self) -> Vec<Value> {
        stories()
    }
}

/// What has to be written for a cluster to get from one state to another.
pub(crate) fn between(cluster: &str, before: &State, after: &State) -> Vec<Change> {
    let cluster = || cluster.to_owned();
    let mut changes = Vec::new();
    if before.health != after.health {
        changes.push(Change::Health {
            cluster: cluster(),
            health: after.health,
        });
    }
    // A cluster that nobody hears from reports nothing.
    if after.health != Health::Silent && before.free != after.free {
        let (cpu, memory) = after.allocatable();
        changes.push(Change::Resources {
            cluster: cluster(),
            cpu,
            memory,
        });
    }
    if let Some(value) = after.score.filter(|_| before.score != after.score) {
        changes.push(Change::Score {
            cluster: cluster(),
            value,
        });
    }
    changes
}

/// The conditions of a cluster, the one of its health last.
pub(crate) fn cluster_conditions(health: Health, at: Timestamp) -> Vec<Condition> {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Time(at),
        observed_generation: None,
    };
    let (status, reason, message) = match health {
        Health::Good => ("True", "ManagedClusterAvailable", "Managed cluster is available"),
        Health::Bad => (
            "False",
            "ManagedClusterUnavailable",
            "The API server of the cluster does not work",
        ),
        Health::Silent => (
            "Unknown",
            "ManagedClusterLeaseUpdateStopped",
            "The agent of the cluster stopped reporting",
        ),
    };
    vec![
        condition(
            conditions::HUB_ACCEPTED,
            "True",
            "HubClusterAdminAccepted",
            "Accepted by the demo",
        ),
        condition(
            conditions::JOINED,
            "True",
            "ManagedClusterJoined",
            "Managed cluster joined",
        ),
        condition(conditions::AVAILABLE, status, reason, message),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMO: Demo = Demo {
        seed: 1,
        clusters: 250,
    };
    /// Any second will do.
    const START: i64 = 1_767_225_600;

    #[test]
    fn the_same_seed_has_the_same_fate() {
        assert_eq!(DEMO.changes(START, START + 30), DEMO.changes(START, START + 30));
        let other = Demo { seed: 2, ..DEMO };
        assert_ne!(DEMO.changes(START, START + 30), other.changes(START, START + 30));
    }

    #[test]
    fn a_fleet_of_any_size_has_failures_and_recoveries_all_the_time() {
        for clusters in [20, 250, 2_000] {
            let demo = Demo { seed: 1, clusters };
            let fates: Vec<Change> = (0..60)
                .flat_map(|second| demo.changes(START + second, START + second + 1))
                .collect();
            let count = |wanted: fn(&Health) -> bool| {
                let fate =
                    |change: &&Change| matches!(change, Change::Health { health, .. } if wanted(health));
                fates.iter().filter(fate).count()
            };
            let (failed, recovered) = (
                count(|health| *health != Health::Good),
                count(|health| *health == Health::Good),
            );
            assert!((5..=60).contains(&failed), "{clusters} clusters: {failed} failed");
            assert!(
                (5..=60).contains(&recovered),
                "{clusters} clusters: {recovered} recovered"
            );
        }
    }

    #[test]
    fn there_is_something_to_see_in_every_five_seconds() {
        for clusters in [20, 50, 250] {
            let demo = Demo { seed: 1, clusters };
            for start in (START..START + 120).step_by(5) {
                let changes = demo.changes(start, start + 5);
                let seen = changes
                    .iter()
                    .any(|change| !matches!(change, Change::Heartbeat { .. }));
                assert!(seen, "{clusters} clusters: nothing at {start}");
            }
        }
    }

    #[test]
    fn every_cluster_that_is_well_beats_once_a_minute() {
        let beats = DEMO.changes(START, START + 60);
        let beats = beats
            .iter()
            .filter(|change| matches!(change, Change::Heartbeat { .. }))
            .count();
        assert!(beats > 200, "{beats}");
    }

    #[test]
    fn a_large_fleet_does_not_write_more_than_a_machine_can_take() {
        let demo = Demo {
            seed: 1,
            clusters: 10_000,
        };
        let writes = demo.changes(START, START + 1).len();
        assert!(writes < 100, "{writes}");
    }

    #[test]
    fn steps_of_any_length_lead_to_the_same_state() {
        // What a demo does that was held up for a while.
        let cluster = DEMO.name(7);
        let mut last = None;
        for second in START..START + 180 {
            for change in DEMO.changes(second, second + 1) {
                if let Change::Resources { cluster: of, cpu, .. } = change
                    && of == cluster
                {
                    last = Some(cpu);
                }
            }
        }
        let at_once = DEMO
            .changes(START, START + 180)
            .into_iter()
            .find_map(|change| match change {
                Change::Resources { cluster: of, cpu, .. } if of == cluster => Some(cpu),
                _ => None,
            });
        assert!(last.is_some());
        assert_eq!(last, at_once);
    }
}
