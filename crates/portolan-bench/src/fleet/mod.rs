//! `portolan-bench fleet`: what a hub with embedded members takes, and how fast a placement change reaches them.
//!
//! The fleet is `portolan up --spokes` as a process of its own, so that the kernel counts its time and memory apart from
//! the bench's. A ManifestWorkReplicaSet takes the workload along the decisions; the bench only changes the placement and
//! watches the works.

mod limits;
mod process;
mod reach;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;

use crate::Format;
use crate::clock::{now, timestamp};
use crate::conclusion::{conclude, lines};
use crate::figures::rounded;
use crate::program::ProgramArgs;
use process::Fleet;
use reach::{Scene, Times};

const EXAMPLES: &str = "\
Examples:
  # 200 embedded members, and how fast a change reaches 100 of them
  portolan-bench fleet --check";

/// Start a hub with embedded member clusters and measure it
///
/// The JSON has: members; startSeconds (until the hub serves and every member is joined); rssMb and rssPeakMb of the
/// whole process, hub, members and agents; idleShare (of one core, over idleSeconds without a change); reach and
/// withdrawal, each with members, seconds (one for each round), median and longest. A reach is the time from a placement
/// that selects the members until the report of the last of them is there that its work is applied; a withdrawal from a
/// placement that selects none until the last has removed it and let its work go.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Embedded member clusters
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    members: u16,

    /// Members that a placement change is to reach; all of them where there are fewer
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    reach: u16,

    /// Times that the members are selected and taken back
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,

    /// How long to watch the fleet do nothing, in seconds; 200 members renew their leases every 25
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=3_600))]
    idle: u16,

    #[command(flatten)]
    program: ProgramArgs,

    /// Exit 1 when a committed floor does not hold, and say which
    #[arg(long)]
    check: bool,

    /// How to print the figures
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// Everything that was measured. Field names are a contract.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    members: u16,
    start_seconds: f64,
    rss_mb: f64,
    rss_peak_mb: f64,
    idle_seconds: u16,
    idle_share: f64,
    reach: Times,
    withdrawal: Times,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let limits = match args.check {
        true => Some(limits::of(args.members, args.reach)?),
        false => None,
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let report = runtime.block_on(measure(args))?;
    let failures = match &limits {
        Some(limits) => limits.failures(&serde_json::to_value(&report)?)?,
        None => Vec::new(),
    };
    conclude(&report, args.output, lines, &failures)
}

async fn measure(args: &Args) -> anyhow::Result<Report> {
    let run = format!("{:x}", timestamp().as_millisecond());
    let folder = std::env::temp_dir().join(format!("portolan-bench-{run}"));
    std::fs::create_dir(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let measured = on_fleet(args, &folder).await;
    // Kubeconfigs of servers that are gone.
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

async fn on_fleet(args: &Args, folder: &std::path::Path) -> anyhow::Result<Report> {
    let started = now();
    let fleet = Fleet::start(&args.program.file()?, folder, args.members).await?;
    let start_seconds = started.elapsed().as_secs_f64();
    // Everybody reports for the first time; that is not idling.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (began, before) = (now(), fleet.cpu_ns()?);
    tokio::time::sleep(Duration::from_secs(args.idle.into())).await;
    let idle_share = (fleet.cpu_ns()? - before) as f64 / began.elapsed().as_nanos() as f64;
    let mut scene = Scene::prepare(fleet.client().await?).await?;
    let (reach, withdrawal) = scene.measure(args.reach.min(args.members), args.rounds).await?;
    let (rss_mb, rss_peak_mb) = fleet.memory_mb()?;
    fleet.stop().await?;
    Ok(Report {
        members: args.members,
        start_seconds: rounded(start_seconds),
        rss_mb: rounded(rss_mb),
        rss_peak_mb: rounded(rss_peak_mb),
        idle_seconds: args.idle,
        idle_share: (idle_share * 1e4).round() / 1e4,
        reach,
        withdrawal,
    })
}
