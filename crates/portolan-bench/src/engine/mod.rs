//! `portolan-bench engine`: the engine against the plain evaluator, and one change against evaluating everything.

mod change;
mod full;
mod limits;
mod measure;
mod memory;
mod report;
mod subject;

use std::process::ExitCode;

use crate::Format;
use crate::conclusion::conclude;

const EXAMPLES: &str = "\
Examples:
  # Do the committed limits hold on this machine, and for a large fleet?
  portolan-bench engine --check
  portolan-bench engine --clusters 100000 --check

  # A quick look
  portolan-bench engine --clusters 2000 -o json";

/// Evaluate a generated fleet with the engine and with the plain evaluator, and compare
///
/// The JSON has: clusters, placements, changes, seed; ratios.full.{label,claim,cel,topn,all} (time of the plain
/// evaluator / time of the engine for placements of that kind); ratios.change (time of evaluating all placements / time of
/// one label change with everything that follows from it); bytesPerCluster; nsPerPair; changeNs; rssMb;
/// ocmObjectsRewritten and kepSlicesRewritten (per change); and how each was measured.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Clusters in the fleet
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(20..=1_000_000))]
    clusters: u32,

    /// Placements to evaluate, of all kinds
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    placements: u32,

    /// Label changes to measure, one after the other
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
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

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let floor = match args.check {
        true => Some(limits::of(args.clusters, args.placements)?),
        false => None,
    };
    let mut report = measure::measure(args)?;
    // What a floor compares with is measured afterwards: memory is measured as growth, in a heap that is still small.
    let smaller = floor.as_ref().and_then(|floor| floor.at_most_times.as_ref());
    let smaller = smaller.map(|point| {
        measure::measure(&Args {
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
    conclude(&report, args.output, |report| Ok(report.table()), &failures)
}
