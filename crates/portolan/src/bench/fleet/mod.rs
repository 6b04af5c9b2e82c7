//! `portolan bench fleet`: what a hub with embedded members takes, and how fast a placement change reaches them.
//!
//! The fleet is `portolan up --spokes` as a process of its own, so that the kernel counts its time and memory apart from
//! the bench's. The bench is the consumer: it watches decisions and writes one ManifestWork for each cluster that is in
//! one.

mod process;
mod reach;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use super::Format;
use crate::{clock, output};
use process::Fleet;

/// Start a hub with embedded member clusters and measure it
///
/// The JSON has: members; startSeconds (until the hub serves and every member is joined); rssMb and rssPeakMb of the
/// whole process, hub, members and agents; idleShare (of one core, over idleSeconds without a change); reach.members and
/// reach.seconds, one for each round (from the change of a placement to the report that the last of them has applied its
/// work); reach.median and reach.longest.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// Embedded member clusters
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    members: u16,

    /// Members that a placement change is to reach; all of them where there are fewer
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    reach: u16,

    /// Placement changes to measure
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,

    /// How long to watch the fleet do nothing, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=3_600))]
    idle: u16,

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
    reach: Reach,
}

#[derive(Clone, Debug, Serialize)]
struct Reach {
    members: u16,
    seconds: Vec<f64>,
    median: f64,
    longest: f64,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let report = runtime.block_on(measure(args))?;
    output::print(&match args.output {
        Format::Json => output::json(&report)?,
        Format::Table => report.table(),
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn measure(args: &Args) -> anyhow::Result<Report> {
    let run = format!("{:x}", clock::now().as_millisecond());
    let folder = std::env::temp_dir().join(format!("portolan-bench-{run}"));
    std::fs::create_dir(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let measured = on_fleet(args, &folder).await;
    // Kubeconfigs of servers that are gone.
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

async fn on_fleet(args: &Args, folder: &std::path::Path) -> anyhow::Result<Report> {
    let started = now();
    let fleet = Fleet::start(folder, args.members).await?;
    let start_seconds = started.elapsed().as_secs_f64();
    // Everybody reports for the first time; that is not idling.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (began, before) = (now(), fleet.cpu_ns()?);
    tokio::time::sleep(Duration::from_secs(args.idle.into())).await;
    let idle_share = (fleet.cpu_ns()? - before) as f64 / began.elapsed().as_nanos() as f64;
    let members = args.reach.min(args.members);
    let mut seconds = Vec::new();
    let scene = reach::Scene::prepare(fleet.client().await?).await?;
    for _ in 0..args.rounds {
        seconds.push(scene.round(members.into(), now).await?);
    }
    let (rss_mb, rss_peak_mb) = fleet.memory_mb()?;
    fleet.stop().await?;
    let mut sorted = seconds.clone();
    sorted.sort_by(f64::total_cmp);
    Ok(Report {
        members: args.members,
        start_seconds,
        rss_mb,
        rss_peak_mb,
        idle_seconds: args.idle,
        idle_share,
        reach: Reach {
            members,
            median: sorted.get(sorted.len() / 2).copied().unwrap_or_default(),
            longest: sorted.last().copied().unwrap_or_default(),
            seconds,
        },
    })
}

impl Report {
    fn table(&self) -> String {
        format!(
            "members          {}\nstart            {:.1} s\nmemory           {:.0} MB, {:.0} MB at most\n\
             idle             {:.1} % of a core over {} s\nreach {:<10} {:.2} s median, {:.2} s longest of {}\n",
            self.members,
            self.start_seconds,
            self.rss_mb,
            self.rss_peak_mb,
            self.idle_share * 100.0,
            self.idle_seconds,
            self.reach.members,
            self.reach.median,
            self.reach.longest,
            self.reach.seconds.len(),
        )
    }
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn now() -> Instant {
    Instant::now()
}
