//! `portolan-bench live`: the controllers on a server, from outside.
//!
//! The controllers run in a process of their own. What they do is seen by a watcher, as any consumer would see it; what
//! they take is counted by the kernel; what they write they count themselves.

mod bare;
mod change;
mod cold;
mod decision_watcher;
mod decoding;
mod heartbeat;
mod limits;
mod process;
mod quiet;
mod reader;
mod report;
mod scene;
mod server;
mod worker;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;
use portolan_api::cluster::Placement;
use portolan_engine::engine::Engine;
use tokio::signal::unix::{SignalKind, signal};

use crate::Format;
use crate::clock::{now, timestamp};
use crate::conclusion::{conclude, lines};
use crate::figures::rounded;
use crate::note::note;
use cold::Stage;
use decision_watcher::{DecisionWatcher, Key};
use process::Process;
use report::{Report, Restart};
use scene::Scene;
use server::Server;

pub(super) use worker::{Args as WorkerArgs, run as work};

const EXAMPLES: &str = "\
Examples:
  # The controllers on an API server that has no Placements
  portolan-bench live --kubeconfig hub.kubeconfig

  # The same on the embedded hub
  portolan-bench live --embedded";

/// Put a generated fleet on an API server and measure the controllers on it
///
/// The server must have no Placements; everything that is created has names and labels of its own and is removed at the
/// end, on Ctrl-C and on errors too. CustomResourceDefinitions that were missing stay installed. What the JSON's keys
/// mean is in docs/bench.md.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The API server to measure on, as an administrator
    #[arg(long, value_name = "FILE", required_unless_present = "embedded")]
    kubeconfig: Option<PathBuf>,

    /// Measure on the embedded hub instead, in one process with the controllers
    #[arg(long, conflicts_with = "kubeconfig")]
    embedded: bool,

    /// Clusters in the fleet
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    clusters: u32,

    /// Placements in the mix
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(20..=10_000))]
    placements: u32,

    /// Label changes to measure; a decision over the whole fleet gets a fifth as many
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(5..=10_000))]
    changes: u32,

    /// Seed of the fleet: same seed, same objects
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Parts to leave out
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    skip: Vec<Part>,

    /// Exit 1 when a committed floor does not hold, and say which
    #[arg(long)]
    check: bool,

    /// How to print the figures
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// A part of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Cold start with ClusterProfiles
    Profiles,
    /// Heartbeats
    Heartbeat,
    /// Label changes
    Change,
    /// Whether a fleet of default-policy placements goes quiet
    Quiet,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let floor = match args.check {
        true => Some(limits::of(args.clusters, args.placements, args.embedded)?),
        false => None,
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let report = runtime.block_on(on_server(args))?;
    let failures = match &floor {
        Some(floor) => floor.failures(&serde_json::to_value(&report)?)?,
        None => Vec::new(),
    };
    conclude(&report, args.output, lines, &failures)
}

/// Measures, and takes away what it brought whatever happened.
async fn on_server(args: &Args) -> anyhow::Result<Report> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
    let run = format!("{:x}", timestamp().as_millisecond());
    let own = std::env::temp_dir().join(format!("portolan-bench-{run}.kubeconfig"));
    let mut embedded = match args.embedded {
        true => Some(Process::spawn(&own, true).await?),
        false => None,
    };
    let kubeconfig = args.kubeconfig.as_deref().unwrap_or(&own);
    let server = Server::connect(kubeconfig).await?;
    server.install_crds().await?;
    server.refuse_foreign_placements().await?;
    server
        .clean_up()
        .await
        .context("cannot remove what an earlier run left")?;
    let scene = Scene::new(run, args.clusters as usize, args.placements as usize, args.seed);
    let measured = tokio::select! {
        measured = measure(args, &server, &scene, kubeconfig, &mut embedded) => measured,
        _ = terminate.recv() => Err(anyhow::anyhow!("stopped by SIGTERM")),
        _ = interrupt.recv() => Err(anyhow::anyhow!("stopped by Ctrl-C")),
    };
    if let Some(mut process) = embedded.take() {
        // The hub is thrown away as it is.
        let _ = process.stop().await;
        let _ = std::fs::remove_file(&own);
        return measured;
    }
    let cleaned = server.clean_up().await;
    match (measured, cleaned) {
        (Ok(report), Ok(())) => Ok(report),
        (Ok(_), Err(error)) => Err(error.context("cannot remove the bench's objects")),
        (Err(error), Ok(())) => Err(error),
        (Err(error), Err(cleaning)) => {
            note(&format!("cannot remove the bench's objects: {cleaning:#}"));
            Err(error)
        }
    }
}

async fn measure(
    args: &Args,
    server: &Server,
    scene: &Scene,
    kubeconfig: &Path,
    embedded: &mut Option<Process>,
) -> anyhow::Result<Report> {
    let version = server.client.apiserver_version().await?.git_version;
    let mut report = Report::new(args, version);
    let wants = |part: Part| !args.skip.contains(&part);
    note("putting the fleet on the server");
    server.put_fleet(scene).await?;
    server.put_placements(&scene.mix()).await?;
    let mut engine = scene.engine();
    let expected = selected(&mut engine);
    let eye = DecisionWatcher::open(server).await?;
    let mut stage = Stage {
        server,
        scene,
        eye: &eye,
        kubeconfig,
        expected: &expected,
    };
    if wants(Part::Profiles) {
        note("cold start with ClusterProfiles");
        report.cold_start_profiles =
            Some(cold::measure(&stage, embedded, Some(&scene.profile_namespace())).await?);
    }
    note("cold start");
    let cold_start = cold::measure(&stage, embedded, None).await?;
    note("reading object by object");
    report.decoding = Some(decoding::measure(&server.client, cold_start.cpu_seconds).await?);
    report.cold_start = Some(cold_start);

    note("restart");
    let mut process = stage.process(embedded).await?;
    report.restart = Some(restart(&mut process, expected.len()).await?);
    let mut reader = Process::spawn(kubeconfig, false).await?;
    reader.read().await?;
    if wants(Part::Heartbeat) {
        note("heartbeats");
        let count = args.clusters as usize;
        let heartbeats = heartbeat::measure(server, scene, &mut process, &reader, count.min(1_000));
        report.heartbeat = Some(heartbeats.await?);
    }
    if wants(Part::Change) {
        let mut subject = change::Subject {
            server,
            scene,
            eye: &eye,
            engine: &mut engine,
            reader: &reader,
            changed: HashMap::new(),
        };
        changes(args.changes as usize, &mut subject, &mut process, &mut report).await?;
    }
    reader.end().await?;
    (report.rss_mb, report.rss_peak_mb) = process.memory_mb()?;
    process.stop().await?;
    if wants(Part::Quiet) {
        note("a fleet of default-policy placements");
        server.forget_placements(scene).await?;
        let restless = scene.restless();
        let asked = asked(&restless);
        stage.expected = &asked;
        server.put_placements(&restless).await?;
        report.quiet = Some(quiet::measure(&stage, &mut process).await?);
        process.stop().await?;
    }
    match args.embedded {
        true => *embedded = Some(process),
        false => process.end().await?,
    }
    Ok(report)
}

/// Changes labels, and measures until the decisions follow.
async fn changes(
    changes: usize,
    subject: &mut change::Subject<'_>,
    process: &mut Process,
    report: &mut Report,
) -> anyhow::Result<()> {
    let scene = subject.scene;
    note("label changes");
    let leavers = change::lane_changes(scene, changes);
    report.change = Some(subject.measure(process, &leavers, true).await?);
    note("label changes that concern several decisions");
    let moves = change::moves(scene, changes / 2);
    report.change_many = Some(subject.measure(process, &moves, true).await?);
    note("label changes in a large decision");
    let retirements = change::retirements(scene, changes / 5);
    report.change20 = Some(subject.measure(process, &retirements, false).await?);
    Ok(())
}

/// How many clusters each placement selects.
fn selected(engine: &mut Engine) -> BTreeMap<Key, usize> {
    let now = timestamp();
    engine.wake(now);
    let mut selected = BTreeMap::new();
    for (placement, outcome) in engine.evaluate_due(now) {
        engine.complete(&placement);
        selected.insert(change::key(&placement), outcome.selected.iter().count());
    }
    selected
}

/// How many clusters each placement asks for.
fn asked(placements: &[Placement]) -> BTreeMap<Key, usize> {
    let asked = placements.iter().map(|placement| {
        let number = placement.spec.number_of_clusters.unwrap_or_default();
        let metadata = &placement.metadata;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let key = (text(&metadata.namespace), text(&metadata.name));
        (key, usize::try_from(number).unwrap_or_default())
    });
    asked.collect()
}

/// Starts the controllers on decisions that are as they left them, and waits until all were looked at.
async fn restart(process: &mut Process, placements: usize) -> anyhow::Result<Restart> {
    let started = now();
    process.start(None).await?;
    loop {
        let metrics = process.metrics().await?;
        if metrics.evaluations >= placements as u64 {
            // Whatever would be written is written soon after.
            tokio::time::sleep(std::time::Duration::from_secs(2)).await;
            let seconds = rounded((now() - started).as_secs_f64() - 2.0);
            let metrics = process.metrics().await?;
            return Ok(Restart {
                writes: metrics.writes + metrics.failed_writes,
                evaluations: metrics.evaluations,
                seconds,
            });
        }
        if (now() - started).as_secs() > 120 {
            bail!("not all placements were evaluated in two minutes after a restart");
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
