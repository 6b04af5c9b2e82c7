//! One label change after the other: how long until a watcher sees every decision that follows from it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use portolan_api::cluster::ManagedCluster;
use portolan_engine::engine::Engine;
use portolan_engine::placement::PlacementKey;
use serde::Serialize;

use super::decision_watcher::{DecisionWatcher, Key};
use super::process::Process;
use super::scene::{self, Scene};
use super::server::Server;
use crate::clock::now;
use crate::clock::timestamp;
use crate::figures::rounded;

/// A decision of more slices than this is not "small".
const SMALL: usize = 3;

/// What label changes take.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Changes {
    /// From sending the change until both kinds show the decision that follows, for one decision.
    p50_ms: f64,
    p99_ms: f64,
    /// The same until the last of the decisions that the change concerns.
    last_p50_ms: f64,
    last_p99_ms: f64,
    /// CPU of the controllers per change.
    cpu_ms: f64,
    /// The same / the CPU of a program that only watches.
    cpu_ratio: f64,
    changes: usize,
    /// Decisions that followed, per change.
    decisions: f64,
    /// Writes of the controllers per change.
    writes: f64,
    /// Slices of the largest decision among those measured.
    slices: usize,
}

/// A cluster, a label and the value it gets.
#[derive(Clone, Debug)]
pub(super) struct Change {
    cluster: usize,
    key: &'static str,
    value: String,
}

/// Clusters leave their lane and come back: one decision of two or three slices follows from each.
pub(super) fn lane_changes(scene: &Scene, count: usize) -> Vec<Change> {
    // Spread over the fleet: objects by name shift from where the cluster was.
    let step = (scene.clusters() * 2 / count.max(1)).max(1);
    let leavers = (0..scene.clusters()).step_by(step).cycle();
    leavers
        .flat_map(|cluster| [scene::LANE_OUT.to_owned(), scene.lane(cluster)].map(|value| (cluster, value)))
        .take(count)
        .map(|(cluster, value)| Change {
            cluster,
            key: scene::LANE_KEY,
            value,
        })
        .collect()
}

/// Clusters go over from one team to another: several decisions of one to three slices each.
pub(super) fn moves(scene: &Scene, count: usize) -> Vec<Change> {
    let moves = (0..count).map(|change| scene.moved(change));
    moves
        .map(|(cluster, value)| Change {
            cluster,
            key: "team",
            value,
        })
        .collect()
}

/// Clusters leave the decision that holds the whole fleet and come back.
pub(super) fn retirements(scene: &Scene, count: usize) -> Vec<Change> {
    let is_in = |index: &usize| {
        let labels = scene.cluster(*index).metadata.labels;
        labels.is_some_and(|labels| {
            labels
                .get(scene::WIDE_KEY)
                .is_some_and(|tier| tier == scene::WIDE_IN)
        })
    };
    // Spread over the fleet: objects by name shift from where the cluster was.
    let step = (scene.clusters() * 2 / count.max(1)).max(1);
    let candidates = (0..scene.clusters())
        .step_by(step)
        .filter_map(|from| (from..scene.clusters()).find(is_in));
    candidates
        .flat_map(|cluster| [scene::WIDE_OUT, scene::WIDE_IN].map(|value| (cluster, value)))
        .take(count)
        .map(|(cluster, value)| Change {
            cluster,
            key: scene::WIDE_KEY,
            value: value.to_owned(),
        })
        .collect()
}

/// What the changes are made on.
pub(super) struct Subject<'a> {
    pub(super) server: &'a Server,
    pub(super) scene: &'a Scene,
    pub(super) eye: &'a DecisionWatcher,
    /// The yardstick of the controllers' CPU.
    pub(super) reader: &'a Process,
    /// Knows what is to be decided.
    pub(super) engine: &'a mut Engine,
    /// Clusters that are not as the scene has them any more.
    pub(super) changed: HashMap<usize, ManagedCluster>,
}

/// A decision that is to follow from a change.
struct Awaited {
    key: Key,
    clusters: usize,
    joins: bool,
    counts: bool,
}

impl Subject<'_> {
    /// Makes the changes one by one, each when the one before has led to everything it leads to. `small` counts
    /// decisions of few slices alone.
    pub(super) async fn measure(
        &mut self,
        process: &mut Process,
        changes: &[Change],
        small: bool,
    ) -> anyhow::Result<Changes> {
        let mut figures = Changes::default();
        let (mut each, mut last) = (Vec::new(), Vec::new());
        let before = process.metrics().await?;
        let (cpu, read) = (process.cpu_ns()?, self.reader.cpu_ns()?);
        for change in changes {
            let cluster = self.relabel(change);
            let name = cluster.metadata.name.clone().unwrap_or_default();
            let awaited = self.awaited(&cluster, &name, small, &mut figures.slices);
            let sent = now();
            let (times, _) = tokio::try_join!(
                self.follow(&awaited, &name, sent),
                self.server.label(&name, change.key, &change.value)
            )?;
            last.extend(times.iter().max());
            figures.decisions += awaited.len() as f64;
            each.extend(times);
        }
        let (cpu, read) = (process.cpu_ns()? - cpu, self.reader.cpu_ns()? - read);
        let after = process.metrics().await?;
        let count = changes.len().max(1) as f64;
        figures.changes = changes.len();
        figures.decisions = rounded(figures.decisions / count);
        figures.writes = rounded((after.writes - before.writes) as f64 / count);
        figures.cpu_ms = rounded(cpu as f64 / 1e6 / count);
        figures.cpu_ratio = rounded(cpu as f64 / read.max(1) as f64);
        (figures.p50_ms, figures.p99_ms) = (percentile(&mut each, 50), percentile(&mut each, 99));
        (figures.last_p50_ms, figures.last_p99_ms) = (percentile(&mut last, 50), percentile(&mut last, 99));
        Ok(figures)
    }

    fn relabel(&mut self, change: &Change) -> ManagedCluster {
        let scene = self.scene;
        let cluster = self
            .changed
            .entry(change.cluster)
            .or_insert_with(|| scene.cluster(change.cluster));
        let labels = cluster.metadata.labels.get_or_insert_default();
        labels.insert(change.key.to_owned(), change.value.clone());
        cluster.clone()
    }

    /// Which decisions gain or lose the cluster.
    fn awaited(
        &mut self,
        cluster: &ManagedCluster,
        name: &str,
        small: bool,
        largest: &mut usize,
    ) -> Vec<Awaited> {
        self.engine.apply_cluster(cluster);
        let outcomes = self.engine.evaluate_due(timestamp());
        let seen = self.eye.seen();
        let mut awaited = Vec::new();
        for (placement, outcome) in outcomes {
            self.engine.complete(&placement);
            let fleet = self.engine.fleet();
            let joins = outcome
                .selected
                .iter()
                .any(|cluster| **fleet.name(cluster) == *name);
            let key = key(&placement);
            if joins == seen.holds(&key, name) {
                continue;
            }
            let slices = seen.slices(&key);
            let counts = !small || slices <= SMALL;
            if counts {
                *largest = (*largest).max(slices);
            }
            awaited.push(Awaited {
                key,
                clusters: outcome.selected.iter().count(),
                joins,
                counts,
            });
        }
        awaited
    }

    /// When each of the decisions that count was seen; returns when the placements say so too.
    async fn follow(&self, awaited: &[Awaited], name: &str, sent: Instant) -> anyhow::Result<Vec<Duration>> {
        let mut missing: Vec<&Awaited> = awaited.iter().collect();
        let mut times = Vec::new();
        let is_shown = |seen: &super::decision_watcher::Seen, one: &Awaited| {
            seen.shows(&one.key, one.clusters, Some((name, one.joins)))
        };
        while !missing.is_empty() {
            let what = format!("the decisions that hold or lose {name}");
            let shown = |seen: &super::decision_watcher::Seen| missing.iter().any(|one| is_shown(seen, one));
            let at = self.eye.until(&what, shown).await?;
            let seen = self.eye.seen();
            missing.retain(|one| {
                let shown = is_shown(&seen, one);
                times.extend((shown && one.counts).then(|| at - sent));
                !shown
            });
        }
        let reported = |seen: &super::decision_watcher::Seen| {
            awaited.iter().all(|one| seen.reports(&one.key, one.clusters))
        };
        self.eye.until("the placements' status", reported).await?;
        Ok(times)
    }
}

pub(super) fn key(placement: &PlacementKey) -> Key {
    (placement.namespace.to_string(), placement.name.to_string())
}

fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times
        .get(index)
        .map_or(0.0, |time| rounded(time.as_secs_f64() * 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let mut times: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(
            (percentile(&mut times, 50), percentile(&mut times, 99)),
            (100.0, 198.0)
        );
        assert_eq!(percentile(&mut times[..1], 99), 1.0);
    }

    #[test]
    fn a_lane_change_concerns_one_placement() {
        let scene = Scene::new("r".into(), 400, 40, 1);
        let (mut engine, now) = (scene.engine(), jiff::Timestamp::UNIX_EPOCH);
        engine.wake(now);
        for (key, _) in engine.evaluate_due(now) {
            engine.complete(&key);
        }
        for change in lane_changes(&scene, 20) {
            let mut cluster = scene.cluster(change.cluster);
            let labels = cluster.metadata.labels.get_or_insert_default();
            labels.insert(change.key.to_owned(), change.value);
            engine.apply_cluster(&cluster);
            assert_eq!(engine.evaluate_due(now).len(), 1);
        }
    }

    #[test]
    fn retirements_take_clusters_out_and_put_them_back() {
        let scene = Scene::new("r".into(), 100, 20, 1);
        let changes = retirements(&scene, 10);
        assert_eq!(changes.len(), 10);
        for pair in changes.chunks(2) {
            assert_eq!(pair[0].cluster, pair[1].cluster);
            assert_eq!(
                (pair[0].value.as_str(), pair[1].value.as_str()),
                ("retired", "gold")
            );
        }
    }
}
