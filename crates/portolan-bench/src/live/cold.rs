//! From nothing decided to everything decided, beside the bare client on the same server in the same run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::bare::Written;
use super::decision_watcher::{DecisionWatcher, Key};
use super::process::Process;
use super::scene::Scene;
use super::server::Server;
use crate::clock::now;
use crate::figures::rounded;

/// How often; the medians count.
const ROUNDS: usize = 3;
/// The same with ClusterProfiles, which are many times the writes.
const ROUNDS_WITH_PROFILES: usize = 2;

/// What a cold start takes.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ColdStart {
    /// From starting the process to the last decision and status seen by a watcher.
    seconds: f64,
    /// The bare client, from its first write to the last acknowledgement.
    bare_seconds: f64,
    /// Median of the rounds' seconds / bareSeconds.
    ratio: f64,
    writes: u64,
    /// 2 per OCM object, 1 per slice, 1 per Placement, 2 per profile.
    writes_allowed: u64,
    writes_ratio: f64,
    failed_writes: u64,
    ocm_objects: usize,
    slices: usize,
    profiles: usize,
    /// CPU of the controllers.
    pub(super) cpu_seconds: f64,
}

/// The parts of a measurement, and the expected result.
pub(super) struct Stage<'a> {
    pub(super) server: &'a Server,
    pub(super) scene: &'a Scene,
    pub(super) eye: &'a DecisionWatcher,
    pub(super) kubeconfig: &'a Path,
    /// How many clusters each placement is to have.
    pub(super) expected: &'a BTreeMap<Key, usize>,
}

impl Stage<'_> {
    /// Waits until every placement has its decision.
    pub(super) async fn until_decided(&self) -> anyhow::Result<std::time::Instant> {
        let what = "every placement has its decision";
        // Those that are complete are not looked at again: there are thousands of events.
        let missing = std::cell::RefCell::new(self.expected.iter().collect::<Vec<_>>());
        let decided = self.eye.until(what, |seen| {
            let mut missing = missing.borrow_mut();
            while let Some((key, clusters)) = missing.last() {
                if !(seen.reports(key, **clusters) && seen.shows(key, **clusters, None)) {
                    return false;
                }
                missing.pop();
            }
            true
        });
        decided.await
    }

    /// Takes every decision away, and waits until that was seen.
    async fn forget(&self) -> anyhow::Result<()> {
        self.server.forget_decisions(self.scene).await?;
        self.eye
            .until("no decision is left", |seen| seen.is_empty())
            .await?;
        Ok(())
    }

    /// The controllers' process, new or, when it serves the hub too, the one there is.
    pub(super) async fn process(&self, embedded: &mut Option<Process>) -> anyhow::Result<Process> {
        match embedded.take() {
            Some(process) => Ok(process),
            None => Process::spawn(self.kubeconfig, false).await,
        }
    }
}

/// Leaves the decisions as the controllers wrote them last. `embedded` is the process that serves the hub.
pub(super) async fn measure(
    stage: &Stage<'_>,
    embedded: &mut Option<Process>,
    profiles: Option<&str>,
) -> anyhow::Result<ColdStart> {
    let serves_hub = embedded.is_some();
    let mut figures = ColdStart::default();
    let (mut starts, mut bares, mut cpus) = (Vec::new(), Vec::new(), Vec::new());
    let rounds = match profiles {
        Some(_) => ROUNDS_WITH_PROFILES,
        None => ROUNDS,
    };
    for round in 0..rounds {
        stage.forget().await?;
        let started = now();
        let mut process = stage.process(embedded).await?;
        let cpu = process.cpu_ns()?;
        process.start(profiles).await?;
        let decided = stage.until_decided().await?;
        starts.push((decided - started).as_secs_f64());
        cpus.push((process.cpu_ns()? - cpu) as f64 / 1e9);
        let metrics = process.metrics().await?;
        figures.writes = figures.writes.max(metrics.writes);
        figures.failed_writes = figures.failed_writes.max(metrics.failed_writes);
        process.stop().await?;
        match serves_hub {
            true => *embedded = Some(process),
            false => process.end().await?,
        }
        let written = Written::read(stage.server, stage.scene).await?;
        (figures.ocm_objects, figures.slices) = stage.eye.seen().objects();
        figures.profiles = written.profiles.len();
        if round + 1 < rounds {
            stage.forget().await?;
            bares.push(written.write(stage.server).await?.as_secs_f64());
        }
    }
    figures.ratio = rounded(median(&starts) / median(&bares));
    figures.seconds = rounded(median(&starts));
    figures.bare_seconds = rounded(median(&bares));
    figures.cpu_seconds = rounded(median(&cpus));
    let objects = 2 * figures.ocm_objects + figures.slices + 2 * figures.profiles;
    figures.writes_allowed = (objects + stage.expected.len()) as u64;
    figures.writes_ratio = rounded(figures.writes as f64 / figures.writes_allowed as f64);
    Ok(figures)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 if middle > 0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values.get(middle).copied().unwrap_or_default(),
    }
}
