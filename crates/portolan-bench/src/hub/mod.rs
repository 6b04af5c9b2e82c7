//! `portolan-bench hub`: the embedded hub as its users have it, in a process of its own, over TLS, on disk; alone or
//! beside a real API server that the same client drives in the same run.

mod client;
mod fan_out;
mod kubeconfig;
mod limits;
mod load;
mod measure;
mod object;
mod process;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use crate::Format;
use crate::conclusion::conclude;
use crate::program::ProgramArgs;

const EXAMPLES: &str = "\
Examples:
  # The embedded hub alone
  portolan-bench hub --check

  # Against a real API server
  portolan-bench hub --against real.kubeconfig \\
    --pid $(pgrep kube-apiserver) $(pgrep etcd) --check";

/// Measure the embedded hub, alone or against a real Kubernetes API server
///
/// The hub runs in a process of its own, with TLS and its data on disk; one client writes to both servers in turn, over
/// HTTP/1.1. A server's CPU time and memory are those of its processes.
///
/// The JSON has: objects, objectBytes, patches, rounds, concurrency, watchers, events (what was asked for); hub and, with
/// --against, against, each with creates, statusPatches, labelPatches (.perSecond and .cpuMicros, the server's CPU time
/// per write; medians over the rounds), cpuMicrosPerWrite (over all writes), fanOutMs (from sending a change until the
/// last watcher has read it; median), rssMb (memory with all objects); for the hub also bytesPerObject (growth of its
/// memory by the load / objects), writesPerCommit (writes that shared a sync), startMs (process start to /readyz, with new
/// data; median), restartMs (the same with all objects on disk); and ratios.{creates,statusPatches,labelPatches,
/// cpuPerWrite,fanOut,memory}: how many times better the hub is, the median over the rounds.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Kubeconfig of a real API server to measure in the same run
    #[arg(long, value_name = "KUBECONFIG", requires = "pid")]
    against: Option<PathBuf>,

    /// Processes of that server: kube-apiserver and etcd
    #[arg(long, value_name = "PID", requires = "against", num_args = 1..)]
    pid: Vec<u32>,

    /// Objects to create
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    objects: u32,

    /// Patches to make of each kind
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    patches: u32,

    /// Parts that the load is cut into; the servers take turns
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,

    /// Writers at a time
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    concurrency: u32,

    /// Watchers that an event goes to
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    watchers: u32,

    /// Events to send to them, one after the other
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    events: u32,

    /// Folder for the hub's data; choose one on the disk of the other server's [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    #[command(flatten)]
    program: ProgramArgs,

    /// Exit 1 when a committed floor does not hold, and say which; without --against only those of the hub alone
    #[arg(long)]
    check: bool,

    /// How to print the figures
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // One thread: the client is to take as little as it can from a machine that the servers share with it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let report = runtime
        .context("cannot start the runtime")?
        .block_on(measure::measure(args))?;
    let failures = match args.check {
        true => limits::failures(&serde_json::to_value(&report)?)?,
        false => Vec::new(),
    };
    conclude(&report, args.output, |report| Ok(report.table()), &failures)
}
