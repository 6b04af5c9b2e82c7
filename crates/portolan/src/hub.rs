//! `portolan hub`: the embedded Kubernetes API on its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use portolan_hub::{Hub, StartError};

use crate::stop::Stop;

const EXAMPLES: &str = "\
Examples:
  # In memory, for a test
  portolan hub --kubeconfig hub.kubeconfig

  # Kept between runs
  portolan hub --data ~/.portolan --kubeconfig hub.kubeconfig

  # And in another terminal
  kubectl --kubeconfig hub.kubeconfig api-resources";

/// Run the embedded Kubernetes API: CustomResourceDefinitions and core kinds, no cluster needed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder that keeps the data between runs [default: in memory]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,

    /// File to write the administrator's kubeconfig to, readable by you alone
    #[arg(long, value_name = "FILE", default_value = "portolan.kubeconfig")]
    kubeconfig: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(serve(args))
}

async fn serve(args: &Args) -> anyhow::Result<ExitCode> {
    let mut stop = Stop::new()?;
    let mut builder = Hub::builder().listen(args.listen);
    if let Some(data) = &args.data {
        builder = builder.data(data);
    }
    let hub = builder.start().await.map_err(not_started)?;
    hub.write_kubeconfig(&args.kubeconfig)
        .with_context(|| format!("cannot write the kubeconfig {}", args.kubeconfig.display()))?;
    let kept = match &args.data {
        Some(data) => format!("data is kept in {}", data.display()),
        None => "data is in memory and gone when it stops; --data DIR keeps it".to_owned(),
    };
    anstream::println!(
        "the hub serves {}; {kept}\nuse it: kubectl --kubeconfig {} api-resources\nstop it: Ctrl-C",
        hub.url().unwrap_or_default(),
        args.kubeconfig.display()
    );
    stop.requested().await;
    hub.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// Why there is no hub, and what to do about it.
pub(crate) fn not_started(error: StartError) -> anyhow::Error {
    let advice = match &error {
        StartError::Open(_) => {
            "if another portolan uses this folder, stop it; --data DIR takes another folder"
        }
        StartError::Listen { .. } => "--listen 127.0.0.1:0 takes a free port",
        _ => "--listen takes another address",
    };
    let said = format!("{:#}", anyhow::Error::from(error));
    anyhow::anyhow!("{said}; {advice}")
}
