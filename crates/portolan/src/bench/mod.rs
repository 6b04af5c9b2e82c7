//! `portolan bench`: how fast the engine, the hub and the controllers are and how much memory they take, on generated
//! objects.
//!
//! Figures are ratios where they can be: the engine against the plain evaluator, a full evaluation against one
//! change, the hub against a real API server, in the same run on the same objects. Machines are noisy; ratios less so. The floors that must hold are
//! committed beside the code and compared by `--check`.

mod bounds;
mod change;
mod conclusion;
mod engine;
mod fleet;
mod floors;
mod full;
mod hub;
mod live;
mod memory;
mod report;
mod rollout;
mod subject;
mod usage;

use std::process::ExitCode;
use std::time::Instant;

use clap::{Subcommand, ValueEnum};

/// Measure speed and memory on generated objects
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  # Do the committed limits hold on this machine?
  portolan bench engine --check

  # The hub, the controllers on it, a rollout, and embedded members
  portolan bench hub --check
  portolan bench live --embedded
  portolan bench rollout -o json
  portolan bench fleet --check";

const ENGINE_EXAMPLES: &str = "\
Examples:
  # Do the committed limits hold on this machine, and for a large fleet?
  portolan bench engine --check
  portolan bench engine --clusters 100000 --check

  # A quick look
  portolan bench engine --clusters 2000 -o json";

#[derive(Debug, Subcommand)]
enum Command {
    Engine(EngineArgs),
    Live(live::Args),
    #[command(hide = true)]
    LiveWorker(live::WorkerArgs),
    Hub(hub::Args),
    Rollout(rollout::Args),
    Fleet(fleet::Args),
}

/// Evaluate a generated fleet with the engine and with the plain evaluator, and compare
///
/// The JSON has: clusters, placements, changes, seed; ratios.full.{label,claim,cel,topn,all} (time of the plain
/// evaluator / time of the engine for placements of that kind); ratios.change (time of evaluating all placements / time of
/// one label change with everything that follows from it); bytesPerCluster; nsPerPair; changeNs; rssMb;
/// ocmObjectsRewritten and kepSlicesRewritten (per change); and how each was measured.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = ENGINE_EXAMPLES)]
struct EngineArgs {
    /// Clusters in the fleet
    #[arg(long, default_value_t = 10_000, value_parser = crate::number::within::<u32>(20..=1_000_000))]
    clusters: u32,

    /// Placements to evaluate, of all kinds
    #[arg(long, default_value_t = 1_000, value_parser = crate::number::within::<u32>(20..=100_000))]
    placements: u32,

    /// Label changes to measure, one after the other
    #[arg(long, default_value_t = 200, value_parser = crate::number::within::<u32>(1..=100_000))]
    changes: u32,

    /// Seed of the fleet: same seed, same objects
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Exit 1 when a committed floor does not hold, and say which
    #[arg(long)]
    check: bool,

    /// How to print the figures
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns for people
    #[default]
    Table,
    /// JSON for programs
    Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Engine(args) => run_engine(args),
        Command::Live(args) => live::run(args),
        Command::LiveWorker(args) => live::work(args),
        Command::Hub(args) => hub::run(args),
        Command::Rollout(args) => rollout::run(args),
        Command::Fleet(args) => fleet::run(args),
    }
}

fn run_engine(args: &EngineArgs) -> anyhow::Result<ExitCode> {
    let floor = match args.check {
        true => Some(floors::of(args.clusters, args.placements)?),
        false => None,
    };
    let mut report = engine::measure(args)?;
    // What a floor compares with is measured afterwards: memory is measured as growth, in a heap that is still small.
    let smaller = floor.as_ref().and_then(|floor| floor.at_most_times.as_ref());
    let smaller = smaller.map(|point| {
        engine::measure(&EngineArgs {
            clusters: point.clusters,
            ..args.clone()
        })
    });
    let smaller = smaller.transpose()?;
    smaller.iter().for_each(|smaller| report.compare_with(smaller));
    let failures = match &floor {
        Some(floor) => floor.failures(&report, smaller.as_ref())?,
        None => Vec::new(),
    };
    conclusion::conclude(&report, args.output, |report| Ok(report.table()), &failures)
}

/// What `work` takes, in nanoseconds, and what it gives.
fn timed<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let start = now();
    let result = work();
    (
        u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
        result,
    )
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn now() -> Instant {
    Instant::now()
}

/// Two decimals: more would pretend to a precision that no machine has.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}
