//! The other side of [`super::process`]: runs the controllers as it is told to.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use kube::Client;
use portolan_controllers::{Clock, Controllers, Output, Settings};
use portolan_hub::Hub;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::process::{DONE, END_OF_METRICS};
use super::reader;
use super::server::Server;
use crate::clock::timestamp;

/// Run the controllers for `bench live`, commanded over standard input
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// The server that the controllers work on
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,

    /// Serve a hub in this process and write its kubeconfig
    #[arg(long)]
    embedded: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build();
    runtime
        .context("cannot start the runtime")?
        .block_on(work(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn work(args: &Args) -> anyhow::Result<()> {
    let hub = match args.embedded {
        true => Some(hub(&args.kubeconfig).await?),
        false => None,
    };
    let server = Server::connect(&args.kubeconfig).await?;
    answer(DONE).await?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut running: Option<Controllers> = None;
    let mut reading = None;
    while let Some(command) = lines.next_line().await? {
        match command.as_str() {
            start if start.split(' ').next() == Some("start") => {
                let profiles = start.split_once(' ').map(|(_, namespace)| namespace);
                running = Some(run_controllers(server.client.clone(), profiles));
                answer(DONE).await?;
            }
            "read" => {
                reading = Some(reader::read(&server.client).await);
                answer(DONE).await?;
            }
            "stop" => {
                if let Some(controllers) = running.take() {
                    controllers.stop().await;
                }
                answer(DONE).await?;
            }
            // The text ends with a line that says so.
            "metrics" => {
                let text = running.as_ref().map(|controllers| controllers.metrics().text());
                answer(text.as_deref().unwrap_or(END_OF_METRICS)).await?;
            }
            other => bail!("live-worker: {other:?}; accepted: start [NAMESPACE], read, stop, metrics"),
        }
    }
    drop(reading);
    if let Some(controllers) = running {
        controllers.stop().await;
    }
    if let Some(hub) = hub {
        hub.stop().await;
    }
    Ok(())
}

/// With ClusterProfiles in one namespace, or without.
fn run_controllers(client: Client, profiles: Option<&str>) -> Controllers {
    let mut settings = Settings::new(Clock::new(timestamp));
    settings.cluster_profiles = if profiles.is_some() {
        Output::Auto
    } else {
        Output::Off
    };
    settings.profile_namespace = profiles.map(str::to_owned);
    Controllers::start(client, settings)
}

async fn hub(kubeconfig: &Path) -> anyhow::Result<Hub> {
    let hub = Hub::builder().listen(([127, 0, 0, 1], 0).into()).start().await;
    let hub = hub.context("cannot start the hub")?;
    hub.write_kubeconfig(kubeconfig)
        .context("cannot write the hub's kubeconfig")?;
    Ok(hub)
}

async fn answer(text: &str) -> anyhow::Result<()> {
    let mut output = tokio::io::stdout();
    output
        .write_all(format!("{}\n", text.trim_end()).as_bytes())
        .await?;
    output.flush().await.context("nobody listens")
}
