//! `portolan controller`: the controllers on a hub that somebody else runs.

mod crds;
mod probes;
mod running;
mod settings;

use std::net::SocketAddr;
use std::process::ExitCode;

use crate::listen;
use crate::live::{self, ConnectArgs, Credentials, Renewable, Server};
use crate::logging::LogArgs;
use crate::stop::{self, Part, Stop};
use crate::tracing_export::TraceArgs;

pub(crate) use crds::{InstallCrds, install, install_some};
pub(crate) use probes::{Probed, Probes};
pub(crate) use running::Running;
pub(crate) use settings::SettingsArgs;

const EXAMPLES: &str = "\
Examples:
  # A hub with OCM on it: its definitions are enough
  portolan controller --kubeconfig hub.kubeconfig

  # A bare API server: install the definitions, and run the registration, too
  portolan controller --kubeconfig hub.kubeconfig --install-crds --registration

  # In a pod: the service account, settings from the environment
  PORTOLAN_LOG_FORMAT=json PORTOLAN_METRICS_LISTEN=0.0.0.0:9464 \\
    portolan controller

  # Is it ready?
  curl -f http://127.0.0.1:9464/readyz";

/// Run the placement controllers against a hub
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
        value_parser = listen::parse,
        default_value = "127.0.0.1:9464"
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
    stop::block_on(control(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn control(args: &Args) -> anyhow::Result<()> {
    let mut stop = Stop::new()?;
    let Some(running) = stop.unless_requested(start(args)).await? else {
        return Ok(());
    };
    let ended = tokio::select! {
        () = stop.requested() => Ok(()),
        error = running.failed() => Err(error),
    };
    tracing::info!("stopping");
    stop.finish(vec![Part::new("controllers", running.stop())]).await;
    ended
}

async fn start(args: &Args) -> anyhow::Result<Running> {
    let config = args.connect.config().await?;
    let credentials = Credentials::of(&config);
    let (server, client) = Server::with_unlimited(config)?;
    // Once they run, the controllers only ever try again; a hub that was never there is an error.
    let version = server.version().await?;
    live::refuse_anonymous(&server).await?;
    tracing::info!(url = server.url, version = version.git_version, "the hub answers");
    let probes = Probes::bind(args.metrics_listen).await?;
    if let Some(which) = args.install_crds {
        install(&server, which).await?;
    }
    tracing::info!(address = %probes.address, "metrics are served");
    let renewable = Renewable::new(client);
    let running = Running::start(renewable.client(), args.settings.settings(false), probes);
    tokio::spawn(live::follow(args.connect.clone(), credentials, renewable));
    Ok(running)
}
