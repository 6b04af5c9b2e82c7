//! `portolan rollout`: which clusters get a workload next, and how a rollout goes on.

mod plan;
mod table;

use std::process::ExitCode;

use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  # Which clusters are next, and when to look again?
  portolan rollout plan -f examples/rollout-plan.yaml
  portolan rollout plan -f examples/rollout-plan.yaml -o json";

/// Plan rollouts: which clusters get a workload next
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Plan(plan::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Plan(args) => plan::run(args),
    }
}
