//! `portolan-bench rollout`: a replica set over simulated clusters, from the first work to the last success.
//!
//! The controllers and the agents are in this process; what happens is seen by a watcher, as any consumer would see it,
//! and what the controllers write they count themselves. Agents answer each work at once, so that what is measured is the
//! rollout and not the waiting.

mod agents;
mod limits;
mod report;
mod scene;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use portolan_controllers::{Clock, Controllers, Output, Settings};
use portolan_hub::Hub;

use crate::Format;
use crate::clock::timestamp;
use crate::conclusion::{conclude, lines};
use agents::Agents;
use report::{Report, Run};
use scene::Scene;

/// How long one rollout may take before it counts as stuck.
const ROLLOUT_TIMEOUT: Duration = Duration::from_secs(600);

const EXAMPLES: &str = "\
Examples:
  # 1,000 simulated clusters, 10 % at a time
  portolan-bench rollout -o json";

/// Roll a workload out to simulated clusters, 10 % at a time, and measure it
///
/// The JSON has: clusters, maxConcurrency; seconds (from the creation of the ManifestWorkReplicaSet to its Complete
/// condition); writes and writesPerCluster (of the controllers, status of the replica set included), writesByResource;
/// stepMs.{p50,p99,max} (from the status that freed a slot, as acknowledged, to the work that takes it, as a watcher sees
/// it); and the same for half as many clusters under half, with growth, the writes of both divided by each other: 2 is linear.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Simulated clusters
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(20..=10_000))]
    clusters: u32,

    /// The API server to measure on, as an administrator [default: the embedded hub, in this process]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Exit 1 when a committed floor does not hold, and say which
    #[arg(long)]
    check: bool,

    /// How to print the figures
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let limits = match args.check {
        true => Some(limits::of(args.clusters)?),
        false => None,
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let report = runtime.block_on(async {
        let half = measure(args, args.clusters / 2).await?;
        let whole = measure(args, args.clusters).await?;
        anyhow::Ok(Report::new(args.kubeconfig.is_none(), whole, half))
    })?;
    let failures = match &limits {
        Some(limits) => limits.failures(&serde_json::to_value(&report)?)?,
        None => Vec::new(),
    };
    conclude(&report, args.output, lines, &failures)
}

/// One rollout on a server of its own, or on the one that was named, which is left as it was found.
async fn measure(args: &Args, clusters: u32) -> anyhow::Result<Run> {
    let (client, hub) = match &args.kubeconfig {
        Some(path) => {
            let shown = path.display();
            let config = Kubeconfig::read_from(path).with_context(|| format!("--kubeconfig {shown}"))?;
            let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
            (
                Client::try_from(config.with_context(|| format!("--kubeconfig {shown}"))?)?,
                None,
            )
        }
        None => {
            let hub = Hub::builder().start().await.context("cannot start the hub")?;
            (Client::new(hub.service(), "default"), Some(hub))
        }
    };
    let scene = Scene::new(client.clone(), clusters);
    let run = async {
        scene.put().await?;
        roll_out(&scene).await
    };
    let run = run.await;
    if hub.is_none() {
        scene.clean_up().await?;
    }
    if let Some(hub) = hub {
        drop(client);
        hub.stop().await;
    }
    run
}

async fn roll_out(scene: &Scene) -> anyhow::Result<Run> {
    let mut settings = Settings::new(Clock::new(timestamp));
    // Nothing reads slices and profiles here, and `bench live` measures their writes.
    (settings.slices, settings.cluster_profiles) = (Output::Off, Output::Off);
    let controllers = Controllers::start(scene.client.clone(), settings);
    let metrics = controllers.metrics();
    scene.until_decided(ROLLOUT_TIMEOUT).await?;
    let before = report::writes(&metrics.text());
    let agents = Agents::start(scene.client.clone());
    let start = std::time::Duration::from_nanos(agents.elapsed());
    scene.put_replica_set().await?;
    let complete = tokio::time::timeout(ROLLOUT_TIMEOUT, scene.until_complete()).await;
    let seconds = (std::time::Duration::from_nanos(agents.elapsed()) - start).as_secs_f64();
    let seen = agents.stop();
    let after = report::writes(&metrics.text());
    controllers.stop().await;
    match complete {
        Ok(complete) => complete?,
        Err(_) => bail!(
            "the rollout to {} clusters was not complete within {ROLLOUT_TIMEOUT:?}",
            scene.clusters
        ),
    }
    Ok(Run::new(
        scene.clusters,
        scene.slots(),
        seconds,
        &seen,
        &before,
        &after,
    ))
}
