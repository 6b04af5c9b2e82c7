//! `portolan-bench`: how fast the engine, the hub and the controllers are and how much memory they take, on generated
//! objects.
//!
//! Figures are ratios where they can be: the engine against the plain evaluator, a full evaluation against one change,
//! the hub against a real API server, in the same run on the same objects. Machines are noisy; ratios less so. The
//! limits that must hold are committed in `bench/` and compared by `--check`.
//!
//! It never serves users: it is a program of its own, so that `portolan` does not carry it. Developers and CI call it.

mod bounds;
mod clock;
mod conclusion;
mod connect;
mod engine;
mod figures;
mod fleet;
mod hub;
mod live;
mod note;
mod program;
mod rollout;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// The allocator of `portolan`: memory and time are measured as its users have them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measure the speed and memory of Portolan on generated objects
#[derive(Debug, Parser)]
#[command(name = "portolan-bench", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  # Do the committed limits hold on this machine?
  portolan-bench engine --check

  # The hub, the controllers on it, a rollout, and embedded members
  portolan-bench hub --check
  portolan-bench live --embedded
  portolan-bench rollout -o json
  portolan-bench fleet --check";

#[derive(Debug, Subcommand)]
enum Command {
    Engine(engine::Args),
    Live(live::Args),
    #[command(hide = true)]
    LiveWorker(live::WorkerArgs),
    Hub(hub::Args),
    Rollout(rollout::Args),
    Fleet(fleet::Args),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns for people
    #[default]
    Table,
    /// JSON for programs
    Json,
}

/// Exit codes: 0 measured, 1 a limit does not hold, 2 nothing could be measured.
fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Engine(args) => engine::run(&args),
        Command::Live(args) => live::run(&args),
        Command::LiveWorker(args) => live::work(&args),
        Command::Hub(args) => hub::run(&args),
        Command::Rollout(args) => rollout::run(&args),
        Command::Fleet(args) => fleet::run(&args),
    };
    done.unwrap_or_else(|error| {
        note::note(&format!("error: {error:#}"));
        ExitCode::from(2)
    })
}
