//! Placements whose decisions feed back into each other, all evaluated at once: does the fleet go quiet, and evenly?

use std::time::Duration;

use serde::Serialize;

use super::cold::Stage;
use super::process::Process;
use crate::clock::now;
use crate::figures::rounded;

/// So long without a write is quiet.
const SILENCE: Duration = Duration::from_secs(30);
/// When to give up.
const QUIET_TIMEOUT: Duration = Duration::from_secs(90);
const STEP: Duration = Duration::from_millis(500);

/// How a fleet of default-policy placements settles.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Quiet {
    /// From the change that concerns all placements to the last write before thirty seconds without any; above 60 when
    /// there were none.
    seconds: f64,
    /// The largest number of decisions on one cluster / the mean.
    max_share: f64,
    /// Evaluations and writes that followed.
    evaluations: u64,
    writes: u64,
}

/// The restless placements are on the server, undecided. The controllers run when this returns.
pub(super) async fn measure(stage: &Stage<'_>, process: &mut Process) -> anyhow::Result<Quiet> {
    process.start(None).await?;
    stage.until_decided().await?;
    let before = process.metrics().await?;
    // A new cluster is a candidate for every placement.
    let newcomer = stage.scene.cluster(stage.scene.clusters());
    let started = now();
    stage.server.put_cluster(newcomer).await?;
    let mut last = (now(), before.writes);
    let mut evaluations = before.evaluations;
    while now() - last.0 < SILENCE && now() - started < QUIET_TIMEOUT {
        tokio::time::sleep(STEP).await;
        let metrics = process.metrics().await?;
        evaluations = metrics.evaluations;
        if metrics.writes != last.1 {
            last = (now(), metrics.writes);
        }
    }
    let seen = stage.eye.seen();
    let shares = seen.shares();
    let mean = shares.values().sum::<usize>() as f64 / (stage.scene.clusters() + 1) as f64;
    let most = shares.values().copied().max().unwrap_or_default() as f64;
    Ok(Quiet {
        seconds: rounded((last.0 - started).as_secs_f64()),
        max_share: rounded(most / mean),
        evaluations: evaluations - before.evaluations,
        writes: last.1 - before.writes,
    })
}
