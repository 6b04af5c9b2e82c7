//! `portolan up`: hub, definitions and controllers in one process, and a simulated fleet or embedded members if wanted.

mod data;
pub(crate) mod demo;
mod greeting;
mod load;
pub(crate) mod spokes;
mod write;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use kube::Client;
use portolan_controllers::{Output, Settings};
use portolan_hub::Hub;

use crate::address;
use crate::admin_kubeconfig::{self, Of};
use crate::controller::{InstallCrds, Probes, Running, SettingsArgs, install};
use crate::hub::{self, not_started};
use crate::listen;
use crate::live::Server;
use crate::logging::LogArgs;
use crate::object_name::DEFAULT_NAMESPACE;
use crate::output;
use crate::stop::{self, Part, Stop};
use crate::tracing_export::TraceArgs;
use crate::watch::{self, Ends};
use crate::work_admission::WorkAdmission;
use greeting::Greeting;
use load::Fleet;
use spokes::{Spokes, StoppedMembers};

const EXAMPLES: &str = "\
Examples:
  # 250 clusters that fail and recover, and decisions as they change
  portolan up --demo

  # Six member clusters in the same process, with agents and simulated workloads
  portolan up --spokes 6

  # A hub of your own, kept between runs; bring your own clusters and placements
  portolan up --data ~/fleet

  # For a script: free ports, nothing kept
  portolan up --in-memory --listen 127.0.0.1:0 \\
    --metrics-listen 127.0.0.1:0 --kubeconfig hub.yaml";

/// Run a hub and the controllers in one process, no cluster needed
///
/// Prints where the hub serves and, from then on, every decision that changes. Runs until Ctrl-C or SIGTERM.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Load a simulated fleet whose clusters fail and recover, with a placement for each user story
    #[arg(long)]
    demo: bool,

    /// Clusters of the simulated fleet [default: as many as there are in the data, or 250]
    #[arg(long, value_name = "N", requires = "demo", value_parser = crate::number::within::<u32>(5..=20_000))]
    clusters: Option<u32>,

    /// Seed of the simulated fleet; the same seed repeats the same events
    #[arg(long, value_name = "N", requires = "demo", default_value_t = 1, value_parser = crate::number::within::<u64>(0..=u64::MAX))]
    seed: u64,

    /// Embedded member clusters, each with an agent, joined to the hub: member-1, member-2, …; they are in memory, and their
    /// workloads are simulated
    #[arg(long, value_name = "N", value_parser = crate::number::within::<u16>(1..=1_000))]
    spokes: Option<u16>,

    /// Remove embedded members of earlier starts that this one does not start, with everything in their namespaces on the
    /// hub; without it they stay, and are unreachable until they are started again
    #[arg(long)]
    forget_members: bool,

    /// Folder that keeps the data between runs [default: portolan/hub, or portolan/demo, in $XDG_DATA_HOME or
    /// ~/.local/share]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Keep nothing between runs
    #[arg(long, conflicts_with = "data")]
    in_memory: bool,

    /// Address of the Kubernetes API; a port alone is one of 127.0.0.1 [default: 127.0.0.1:6443, or a free port when that is
    /// in use]
    #[arg(long, value_name = "ADDR", value_parser = listen::parse)]
    listen: Option<SocketAddr>,

    #[command(flatten)]
    hostnames: listen::Hostnames,

    /// Address for /metrics, /healthz and /readyz [default: 127.0.0.1:9464, or a free port when that is in use]
    #[arg(
        long,
        value_name = "ADDR",
        env = "PORTOLAN_METRICS_LISTEN",
        hide_env_values = true,
        value_parser = listen::parse
    )]
    metrics_listen: Option<SocketAddr>,

    /// File to write the administrator's kubeconfig to, readable by you alone [default: kubeconfig in the data folder, or
    /// portolan.kubeconfig here when nothing is kept]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    #[command(flatten)]
    logs: LogArgs,

    #[command(flatten)]
    traces: TraceArgs,

    #[command(flatten)]
    settings: SettingsArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let _traces = args.logs.init("warn", &args.traces)?;
    let data = match args.in_memory {
        true => None,
        false => Some(data::folder(args.data.as_deref(), args.demo)?),
    };
    stop::block_on(serve(args, data.as_deref()))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: &Args, data: Option<&Path>) -> anyhow::Result<()> {
    let mut stop = Stop::new()?;
    let files = args.files(data);
    files.refuse_foreign()?;
    let hub = args.start_hub(data).await?;
    let started = tokio::select! {
        started = args.work(&hub, data, files) => started.map(Some),
        // Told to stop while starting: there is nothing yet whose end must be waited for.
        () = stop.requested() => Ok(None),
    };
    let (up, ended) = match started {
        Ok(Some(up)) => {
            let ended = tokio::select! {
                ended = up.live() => ended,
                () = stop.requested() => Ok(()),
                why = hub.failed() => Err(hub::failed(&why)),
                error = up.failed() => Err(error),
            };
            (Some(up), ended)
        }
        Ok(None) => (None, Ok(())),
        Err(error) => (None, Err(error)),
    };
    progress("stopping");
    let mut parts = Vec::new();
    if let Some(up) = up {
        parts.extend(
            up.spokes
                .map(|spokes| Part::new("member clusters", spokes.stop())),
        );
        parts.push(Part::new("controllers", up.running.stop()));
    }
    parts.push(hub::ending(hub));
    stop.finish(parts).await;
    ended
}

/// The kubeconfigs that are written.
struct Files {
    kubeconfig: PathBuf,
    /// Of the embedded members, if there are any.
    members: Option<PathBuf>,
}

impl Files {
    fn all(&self) -> impl Iterator<Item = (&Path, Of)> {
        let members = self.members.iter().map(|path| (path.as_path(), Of::Members));
        std::iter::once((self.kubeconfig.as_path(), Of::Hub)).chain(members)
    }

    fn refuse_foreign(&self) -> anyhow::Result<()> {
        self.all()
            .try_for_each(|(path, of)| admin_kubeconfig::refuse_foreign(path, of))
    }

    async fn refuse_running(&self, hub: &Hub) -> anyhow::Result<()> {
        let own = hub.kubeconfig().unwrap_or_default();
        for (path, of) in self.all() {
            admin_kubeconfig::refuse_running(path, of, &own).await?;
        }
        Ok(())
    }
}

/// Everything beside the hub.
struct Up {
    client: Client,
    running: Running,
    fleet: Option<Fleet>,
    spokes: Option<Spokes>,
}

impl Up {
    /// Waits until the controllers or a member cluster cannot go on.
    async fn failed(&self) -> anyhow::Error {
        let members = async {
            match &self.spokes {
                Some(spokes) => spokes.look_after().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            error = self.running.failed() => error,
            error = members => error,
        }
    }

    /// Lets the fleet live and shows decisions, until nobody reads them any more.
    async fn live(&self) -> anyhow::Result<()> {
        let mut columns = watch::Columns::default();
        let show = |turns: Vec<_>, at_start| watch::show(&turns, at_start, watch::Format::Text, &mut columns);
        let fleet = async {
            match &self.fleet {
                Some(fleet) => fleet.live().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = watch::follow(&self.client, None, Ends::default(), show) => ended?,
            () = output::closed() => {}
            () = fleet => {}
        }
        Ok(())
    }
}

impl Args {
    async fn start_hub(&self, data: Option<&Path>) -> anyhow::Result<Hub> {
        progress(&match data {
            Some(folder) => format!("opening the hub in {}", folder.display()),
            None => "starting the hub".to_owned(),
        });
        let start = async |address: SocketAddr| {
            let builder = Hub::builder()
                .admission(WorkAdmission)
                .listen(address)
                .names(&self.hostnames.names);
            match data {
                Some(folder) => builder.data(folder).start().await,
                None => builder.start().await,
            }
        };
        let hub = address::start(self.listen, data, start).await;
        if let Some(hint) = self.listen.and_then(|address| self.hostnames.hint(address)) {
            progress(&format!("note: {hint}"));
        }
        hub.map_err(not_started)
    }

    fn files(&self, data: Option<&Path>) -> Files {
        let kubeconfig = match (&self.kubeconfig, data) {
            (Some(path), _) => path.clone(),
            (None, Some(folder)) => folder.join("kubeconfig"),
            (None, None) => PathBuf::from("portolan.kubeconfig"),
        };
        let kubeconfig = data::from_root(kubeconfig);
        let beside = |_| kubeconfig.with_file_name("members.kubeconfig");
        Files {
            members: self.spokes.map(beside),
            kubeconfig,
        }
    }

    async fn work(&self, hub: &Hub, data: Option<&Path>, files: Files) -> anyhow::Result<Up> {
        files.refuse_running(hub).await?;
        // Before anything is written: a port that is taken ends the command.
        let probes = self.bind_probes().await?;
        let Files { kubeconfig, members } = files;
        hub.write_kubeconfig(&kubeconfig)
            .with_context(|| format!("cannot write the kubeconfig {}", kubeconfig.display()))?;
        let server = Server {
            client: Client::new(hub.service(), "default"),
            url: hub.url().unwrap_or_default(),
            credentials: "those of this process".to_owned(),
            namespace: DEFAULT_NAMESPACE.to_owned(),
        };
        progress("installing the CustomResourceDefinitions");
        install(&server, InstallCrds::Missing).await?;
        let metrics = probes.address;
        let fleet = match self.demo {
            true => Some(Fleet::load(&server, self.seed, self.clusters.map(|number| number as usize)).await?),
            false => None,
        };
        let spokes = match (self.spokes, members) {
            (Some(number), Some(file)) => Some(Spokes::start(hub, &server, number.into(), file).await?),
            _ => None,
        };
        let mut former = StoppedMembers::find(&server, self.spokes.unwrap_or_default().into()).await?;
        if self.forget_members {
            std::mem::take(&mut former).remove(&server).await?;
        }
        former.note(&server).await?;
        progress("starting the controllers");
        // OCM's registration controllers do not run here, so Portolan's registration does their work.
        let settings = self.settings.settings(true);
        let off = off(&settings);
        let running = Running::start(server.client.clone(), settings, probes);
        let kept = match data {
            Some(folder) => format!("kept in {}", folder.display()),
            None => "in memory, gone when it stops".to_owned(),
        };
        let text = Greeting {
            url: &server.url,
            kubeconfig: &kubeconfig,
            metrics,
            kept,
            off,
            fleet: fleet.as_ref(),
            spokes: spokes.as_ref(),
            former: &former,
        };
        output::say(&text.to_string())?;
        Ok(Up {
            client: server.client,
            running,
            fleet,
            spokes,
        })
    }

    async fn bind_probes(&self) -> anyhow::Result<Probes> {
        match self.metrics_listen {
            Some(address) => Probes::bind(address).await,
            None => match Probes::bind(local(listen::METRICS_PORT)).await {
                Ok(probes) => Ok(probes),
                Err(_) => {
                    let port = listen::METRICS_PORT;
                    progress(&format!("port {port} is in use; metrics take a free one"));
                    Probes::bind(local(0)).await
                }
            },
        }
    }
}

/// The flags of outputs that are switched off. Definitions of all of them are installed.
fn off(settings: &Settings) -> Vec<&'static str> {
    let outputs = [
        (settings.ocm_decisions, "--ocm-decisions"),
        (settings.slices, "--slices"),
        (settings.cluster_profiles, "--cluster-profiles"),
    ];
    let off = outputs.into_iter().filter(|(output, _)| *output == Output::Off);
    off.map(|(_, flag)| flag).collect()
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// One line on standard error for each step of the start.
fn progress(step: &str) {
    output::remark(&format!("{step}\n"));
}
