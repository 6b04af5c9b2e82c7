//! What a cluster is, and what it is like in a second.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::ocm;
use portolan_generate::Generator;

use super::random::{below, draw};
use super::{Demo, LABEL, cluster_conditions};

/// Each cluster may fail once in a window of this many seconds.
const WINDOW: i64 = 60;
/// Failures in a window, over the whole fleet: one every three seconds, however many clusters there are.
const FAILURES: i64 = 20;
/// A failure lasts between these many seconds.
const SHORTEST: i64 = 8;
const LONGEST: i64 = 28;
/// Seconds between two reports of free resources, and between two heartbeats, in a fleet of up to 600 clusters.
const REPORT: i64 = 60;
/// More clusters report less often: this many reports a second, at most.
const REPORTS_PER_SECOND: i64 = 10;
/// Seconds between two scores of a GPU cluster, in a fleet of up to 1,200 clusters; every sixth has GPUs.
const SCORE: i64 = 20;

/// How a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Good,
    /// It says that it does not work.
    Bad,
    /// It says nothing.
    Silent,
}

/// What changes about a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) health: Health,
    /// Percent of the capacity.
    pub(crate) free: i64,
    pub(crate) nodes: i64,
    /// Only clusters with GPUs have one.
    pub(crate) score: Option<i32>,
}

impl State {
    /// Free CPU and memory.
    pub(crate) fn allocatable(&self) -> (String, String) {
        let share = |whole: i64| whole * self.free / 100;
        (
            format!("{}m", share(self.nodes * 16_000)),
            format!("{}Mi", share(self.nodes * 65_536)),
        )
    }
}

pub(super) fn state(demo: &Demo, index: usize, second: i64) -> State {
    let fixed = |purpose: &str, bound: i64| below(demo.seed, purpose, index, 0, bound);
    let report = step(demo, index, second, period(demo));
    let noise = below(demo.seed, "free", index, report, 31) - 15;
    State {
        health: health(demo, index, second),
        free: (25 + fixed("usual", 56) + noise).clamp(5, 95),
        nodes: 3 + fixed("nodes", 60),
        score: has_gpus(demo, index).then(|| {
            let noise = below(
                demo.seed,
                "score",
                index,
                step(demo, index, second, score_period(demo)),
                41,
            ) - 20;
            (fixed("usual score", 141) - 60 + noise).clamp(-100, 100) as i32
        }),
    }
}

/// Every sixth cluster or so.
fn has_gpus(demo: &Demo, index: usize) -> bool {
    // A fleet of any size has some.
    index < 3 || below(demo.seed, "gpus", index, 0, 6) == 0
}

fn health(demo: &Demo, index: usize, second: i64) -> Health {
    let window = step(demo, index, second, WINDOW);
    let clusters = i64::try_from(demo.clusters).unwrap_or(i64::MAX);
    if below(demo.seed, "fails", index, window, clusters.max(FAILURES * 2)) >= FAILURES {
        return Health::Good;
    }
    let length = SHORTEST + below(demo.seed, "length", index, window, LONGEST - SHORTEST);
    let start = below(demo.seed, "start", index, window, WINDOW - length);
    let second = (second + offset(demo, index)).rem_euclid(WINDOW);
    match (start..start + length).contains(&second) {
        false => Health::Good,
        true if below(demo.seed, "how", index, window, 3) == 0 => Health::Silent,
        true => Health::Bad,
    }
}

/// Which heartbeat of a cluster is the last one in a second.
pub(super) fn beat(demo: &Demo, index: usize, second: i64) -> i64 {
    // Not in the same second as the report.
    step(demo, index, second + period(demo) / 2, period(demo))
}

fn period(demo: &Demo) -> i64 {
    REPORT.max(i64::try_from(demo.clusters).unwrap_or(i64::MAX) / REPORTS_PER_SECOND)
}

fn score_period(demo: &Demo) -> i64 {
    SCORE.max(i64::try_from(demo.clusters).unwrap_or(i64::MAX) / REPORTS_PER_SECOND / 6)
}

/// Clusters do not do things all at once: each has its own beginning of every period.
fn step(demo: &Demo, index: usize, second: i64, period: i64) -> i64 {
    (second + offset(demo, index)).div_euclid(period)
}

fn offset(demo: &Demo, index: usize) -> i64 {
    below(demo.seed, "offset", index, 0, 1 << 20)
}

pub(super) fn name(demo: &Demo, index: usize) -> String {
    let base = base(demo, index);
    let region = base
        .metadata
        .labels
        .and_then(|labels| labels.get("topology.kubernetes.io/region").cloned());
    format!("{}-{index:03}", region.unwrap_or_default())
}

pub(super) fn no_canary(demo: &Demo) -> Option<String> {
    let index = (0..demo.clusters).find(|index| {
        let labels = base(demo, *index).metadata.labels.unwrap_or_default();
        let is = |key: &str, value: &str| labels.get(key).is_some_and(|found| found == value);
        is(ocm::CLUSTER_SET, "production") && !is("ring", "0")
    })?;
    Some(name(demo, index))
}

pub(super) fn cluster(demo: &Demo, index: usize, at: Timestamp) -> ManagedCluster {
    let mut cluster = base(demo, index);
    let state = state(demo, index, at.as_second());
    let metadata = &mut cluster.metadata;
    metadata.name = Some(name(demo, index));
    metadata.uid = None;
    metadata.resource_version = None;
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(LABEL.to_owned(), "true".to_owned());
    labels.remove("gpu");
    if has_gpus(demo, index) {
        let gpu = ["a100", "h100"][(draw(demo.seed, "gpu", index, 0) % 2) as usize];
        labels.insert("gpu".to_owned(), gpu.to_owned());
    }
    cluster.spec.managed_cluster_client_configs.clear();
    // A cluster of a large fleet beats less often, and is not silent for that.
    cluster.spec.lease_duration_seconds = i32::try_from(period(demo)).ok();
    // Availability taints are the registration controller's.
    cluster
        .spec
        .taints
        .retain(|taint| !taint.key.starts_with("cluster.open-cluster-management.io/"));
    if let Some(status) = &mut cluster.status {
        status.conditions = cluster_conditions(state.health, at);
        let (cpu, memory) = state.allocatable();
        status.allocatable = quantities(cpu, memory);
        status.capacity = quantities((state.nodes * 16).to_string(), format!("{}Gi", state.nodes * 64));
    }
    cluster
}

fn quantities(cpu: String, memory: String) -> BTreeMap<String, Quantity> {
    BTreeMap::from([
        ("cpu".to_owned(), Quantity(cpu)),
        ("memory".to_owned(), Quantity(memory)),
    ])
}

/// Labels, claims and versions in the proportions of real fleets.
fn base(demo: &Demo, index: usize) -> ManagedCluster {
    let generator = Generator {
        seed: demo.seed,
        clusters: demo.clusters,
        placements: 0,
    };
    generator.cluster(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMO: Demo = Demo {
        seed: 1,
        clusters: 250,
    };

    #[test]
    fn names_are_unique_and_stay_when_the_fleet_grows() {
        let names: std::collections::BTreeSet<String> = (0..250).map(|index| name(&DEMO, index)).collect();
        assert_eq!(names.len(), 250);
        let larger = Demo {
            clusters: 300,
            ..DEMO
        };
        assert!((0..250).all(|index| name(&DEMO, index) == name(&larger, index)));
    }

    #[test]
    fn a_cluster_shows_the_state_it_is_in() {
        let at = Timestamp::from_second(1_767_225_600).unwrap();
        let (cluster, state) = (cluster(&DEMO, 5, at), state(&DEMO, 5, at.as_second()));
        let status = cluster.status.unwrap();
        assert_eq!(status.allocatable["cpu"].0, state.allocatable().0);
        assert!(cluster.metadata.labels.unwrap().contains_key(ocm::CLUSTER_SET));
        assert_eq!(
            status.conditions.last().unwrap().type_,
            portolan_api::labels::conditions::AVAILABLE
        );
    }

    #[test]
    fn a_cluster_has_a_score_when_it_has_gpus() {
        let at = Timestamp::UNIX_EPOCH;
        for index in 0..50 {
            let labelled = cluster(&DEMO, index, at)
                .metadata
                .labels
                .unwrap()
                .contains_key("gpu");
            assert_eq!(labelled, state(&DEMO, index, 0).score.is_some());
        }
    }
}
