//! `portolan controller`: the controllers on a hub that somebody else runs.

mod crds;
mod probes;
mod running;
mod settings;

use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Context;

use crate::live::{self, ConnectArgs};
use crate::logging::LogArgs;
use crate::stop::Stop;
use crate::tracing_export::TraceArgs;

pub(crate) use crds::{InstallCrds, install, install_some};
pub(crate) use probes::{Probed, Probes};
pub(crate) use running::Running;
pub(crate) use settings::SettingsArgs;

const EXAMPLES: &str = "\
Examples:
  # A hub with OCM on it: its definitions are enough, other outputs come on when theirs appear
  portolan controller --kubeconfig hub.kubeconfig

  # A bare API server: bring the definitions, and do what OCM's registration controllers would do
  portolan controller --kubeconfig hub.kubeconfig --install-crds --registration

  # In a pod: the service account, settings from the environment
  PORTOLAN_LOG_FORMAT=json PORTOLAN_METRICS_LISTEN=0.0.0.0:8080 portolan controller

  # Is it ready?
  curl -f http://127.0.0.1:8080/readyz";

/// Keep the decisions of every Placement on a hub true
///
/// Runs until it is stopped with SIGTERM or Ctrl-C, and then finishes the writes that are under way.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    connect: ConnectArgs,

    /// Install the CustomResourceDefinitions before starting; without a value those that are missing
    #[arg(
        long,
        env = "PORTOLAN_INSTALL_CRDS",
        hide_env_values = true,
        value_name = "WHICH",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "missing"
    )]
    install_crds: Option<InstallCrds>,

    /// Address for /metrics, /healthz and /readyz
    #[arg(
        long,
        env = "PORTOLAN_METRICS_LISTEN",
        hide_env_values = true,
        value_name = "ADDR",
        default_value = "127.0.0.1:8080"
    )]
    metrics_listen: SocketAddr,

    #[command(flatten)]
    logs: LogArgs,

    #[command(flatten)]
    traces: TraceArgs,

    #[command(flatten)]
    settings: SettingsArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let _traces = args.logs.init("info", &args.traces)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(control(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn control(args: &Args) -> anyhow::Result<()> {
    let mut stop = Stop::new()?;
    let server = args.connect.connect().await?;
    // Once they run, the controllers only ever try again; a hub that was never there is an error.
    let version = server.client.apiserver_version().await;
    let version = version.map_err(|error| live::explain(&error, "ask for the version", &server.url))?;
    tracing::info!(url = server.url, version = version.git_version, "the hub answers");
    let probes = Probes::bind(args.metrics_listen).await?;
    if let Some(which) = args.install_crds {
        tokio::select! {
            installed = install(&server, which) => drop(installed?),
            () = stop.requested() => return Ok(()),
        }
    }
    tracing::info!(address = %probes.address, "metrics are served");
    let running = Running::start(server.client, args.settings.settings(false), probes);
    stop.requested().await;
    tracing::info!("stopping");
    stop.unless_again(running.stop()).await;
    Ok(())
}
