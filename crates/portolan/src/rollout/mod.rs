//! `portolan rollout`: which clusters get a workload next, how far a rollout is, and how to stop it.

mod concerned;
mod control;
mod hub;
mod list;
mod plan;
mod seen;
mod status;
mod status_table;
mod table;

use std::process::ExitCode;

use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  # Which rollouts are there?
  portolan rollout list

  # How far is it, what failed, and how long will it take?
  portolan rollout status shop/web
  portolan rollout watch shop/web

  # Stop it, go on, or leave it at what it has reached
  portolan rollout pause shop/web
  portolan rollout resume shop/web
  portolan rollout abort shop/web

  # Which clusters would be next? From a file, nothing is written
  portolan rollout plan -f examples/rollout-plan.yaml
  portolan rollout plan -f examples/rollout-plan.yaml -o json";

/// Follow, stop and plan rollouts of ManifestWorkReplicaSets
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Plan(plan::Args),
    Status(status::StatusArgs),
    Watch(status::WatchArgs),
    Pause(control::PauseArgs),
    Resume(control::ResumeArgs),
    Abort(control::AbortArgs),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::List(args) => list::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Status(args) => status::run(args),
        Command::Watch(args) => status::watch(args),
        Command::Pause(args) => control::pause(args),
        Command::Resume(args) => control::resume(args),
        Command::Abort(args) => control::abort(args),
    }
}
