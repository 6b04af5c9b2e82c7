//! The commands and how the program ends: exit codes, errors on standard error.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use jiff::Timestamp;
use portolan_engine::placement::PlacementKey;

use crate::input::Problems;
use crate::world::Inventory;
use crate::{
    agent, bench, clock, completions, controller, crds, demo, explain, get, hub, join, live, output, rollout,
    simulate, up, version, watch,
};

/// Which clusters a workload goes to, why, why not, and what if
#[derive(Debug, Parser)]
#[command(name = "portolan", version, after_help = EXAMPLES, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  # See it work: a hub, controllers and a fleet that lives, in one process
  portolan up --demo

  # The same with member clusters whose workloads run, fail and recover
  portolan up --spokes 6

  # Where does everything go, and what if a cluster goes away?
  portolan simulate -f manifests/
  portolan simulate -f manifests/ --remove managedcluster/west

  # Why these clusters, and why not that one?
  portolan explain -f manifests/ --placement ml/training
  portolan explain -f manifests/ --placement ml/training --cluster west

  # The same on a live hub, and decisions as they change
  portolan explain --kubeconfig hub.kubeconfig --placement ml/training
  portolan watch --kubeconfig hub.kubeconfig

  # Which clusters would get a new version next?
  portolan rollout plan -f rollout.yaml

  # Keep the decisions of a hub true
  portolan controller --kubeconfig hub.kubeconfig

  # Apply on a member cluster what the hub has for it
  portolan agent --hub hub.kubeconfig --spoke east.kubeconfig --cluster east

Exit codes: 0 fine, 1 a placement is unsatisfied or misconfigured (with --check), 2 bad input.";

#[derive(Debug, Subcommand)]
enum Command {
    Up(Box<up::Args>),
    Controller(Box<controller::Args>),
    Join(Box<join::Args>),
    Demo(demo::Args),
    Agent(Box<agent::Args>),
    Get(get::Args),
    Watch(watch::Args),
    Simulate(Box<simulate::Args>),
    Explain(explain::Args),
    Rollout(rollout::Args),
    Hub(hub::Args),
    Bench(bench::Args),
    Crds(crds::Args),
    Completions(completions::Args),
    Version(version::Args),
}

/// Where objects come from and how they are read: the same for every command that reads them.
#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// Manifests in YAML or JSON: files, directories (read recursively), or - for standard input. Without it the live
    /// hub is read; with --kubeconfig or --context as well, the manifests are applied over what is live
    #[arg(short, long, value_name = "PATH", num_args = 1..)]
    pub(crate) file: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) connect: live::ConnectArgs,

    /// The time to evaluate at, in RFC 3339 [default: now]
    #[arg(long, value_name = "TIME", value_parser = clock::parse)]
    pub(crate) now: Option<Timestamp>,

    /// Which objects are the clusters
    #[arg(long, value_enum, default_value_t)]
    pub(crate) inventory: Inventory,
}

/// Reads `NS/NAME`.
pub(crate) fn parse_placement(text: &str) -> Result<PlacementKey, String> {
    match text.split('/').collect::<Vec<_>>().as_slice() {
        [namespace, name] if !namespace.is_empty() && !name.is_empty() => {
            Ok(PlacementKey::new(namespace, name))
        }
        _ => Err("accepted: NAMESPACE/NAME, such as default/web".to_owned()),
    }
}

/// The command's definition, for completions.
pub(crate) fn definition() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Manifests are walked recursively, and how much stack a process starts with is the shell's choice.
const STACK_BYTES: usize = 64 << 20;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(|| run(cli))
    {
        Ok(worker) => worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(error) => report(&anyhow::Error::new(error).context("cannot start a thread")),
    }
}

fn run(cli: Cli) -> ExitCode {
    let result = match cli.command {
        Command::Simulate(args) => simulate::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Rollout(args) => rollout::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Up(args) => up::run(&args),
        Command::Controller(args) => controller::run(&args),
        Command::Join(args) => join::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Agent(args) => agent::run(&args),
        Command::Hub(args) => hub::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Crds(args) => crds::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Version(args) => version::run(&args),
    };
    result.unwrap_or_else(|error| report(&error))
}

/// Bad input lists what is wrong with it; everything else is a chain of causes.
fn report(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Problems>() {
        Some(problems) => output::remark(&problems.to_string()),
        None => output::remark(&format!("error: {error:#}\n")),
    }
    ExitCode::from(2)
}
