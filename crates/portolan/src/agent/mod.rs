//! `portolan agent`: the agent of a member cluster.

mod following;
mod whose;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use kube::Config;
use portolan_agent::{Agent, Clock, Monitor, Settings};
use tokio::task::JoinHandle;

use crate::clock;
use crate::controller::{InstallCrds, Probed, Probes, install_some};
use crate::listen;
use crate::live::{ConnectArgs, NoKubeconfig, Server, refuse_anonymous};
use crate::logging::LogArgs;
use crate::stop::{self, Part, Stop};
use crate::tracing_export::TraceArgs;
use following::HubFiles;
use whose::Whose;

const EXAMPLES: &str = "\
Examples:
  # Apply on this member cluster what the hub has for it.
  # `portolan join east` wrote east.kubeconfig
  portolan agent --hub east.kubeconfig --spoke member.kubeconfig

  # The first time: install the definitions of the agent's own records
  portolan agent --hub east.kubeconfig --spoke member.kubeconfig \\
    --install-crds

  # In a pod of the member cluster: its service account, the hub from a secret
  portolan agent --hub /var/run/hub/kubeconfig

  # The works on the hub, and what is applied on the member cluster
  kubectl --kubeconfig hub.kubeconfig get manifestworks,works -n east
  kubectl --kubeconfig member.kubeconfig get appliedmanifestworks,appliedworks";

/// Run the member agent: apply the hub's works on this cluster and report their status
///
/// Runs on the member cluster or anywhere that reaches both. Without the hub it keeps what is applied. Runs until it is
/// stopped with SIGTERM or Ctrl-C; what is applied stays applied.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Kubeconfig of the hub
    #[arg(long, env = "PORTOLAN_HUB", hide_env_values = true, value_name = "FILE")]
    hub: PathBuf,

    /// Kubeconfig of the member cluster [default: $KUBECONFIG, ~/.kube/config, or a pod's service account]
    #[arg(long, env = "PORTOLAN_SPOKE", hide_env_values = true, value_name = "FILE")]
    spoke: Option<PathBuf>,

    /// Name of the cluster: of its ManagedCluster, and of its namespace on the hub [default: the cluster that the hub's
    /// kubeconfig is for]
    #[arg(long, env = "PORTOLAN_CLUSTER", hide_env_values = true, value_name = "NAME", value_parser = parse_cluster)]
    cluster: Option<String>,

    /// What tells this hub from others on the same member cluster [default: the address in the hub's kubeconfig]; a hub that
    /// moves keeps its records by its former address
    #[arg(
        long,
        env = "PORTOLAN_HUB_ID",
        hide_env_values = true,
        value_name = "ID",
        default_value = "",
        hide_default_value = true
    )]
    hub_id: String,

    /// Id of the agent in its records [default: the hash that tells the hub from others]
    #[arg(
        long,
        env = "PORTOLAN_AGENT_ID",
        hide_env_values = true,
        value_name = "ID",
        default_value = "",
        hide_default_value = true
    )]
    agent_id: String,

    /// Whether to renew the Lease of the cluster and to report what the cluster offers; off where another agent does so
    #[arg(
        long,
        env = "PORTOLAN_HEARTBEAT",
        hide_env_values = true,
        value_name = "WHETHER",
        value_enum,
        default_value = "on"
    )]
    heartbeat: Heartbeat,

    /// How long to keep the record of a work that is not on the hub any more without having been deleted, and what it owns
    #[arg(
        long,
        env = "PORTOLAN_EVICTION_GRACE_PERIOD",
        hide_env_values = true,
        value_name = "DURATION|never",
        default_value = "never",
        value_parser = parse_grace
    )]
    eviction_grace_period: Grace,

    /// Longest wait between two looks at the objects of a work; after a change they are looked at more often
    #[arg(
        long,
        env = "PORTOLAN_POLL",
        hide_env_values = true,
        value_name = "DURATION",
        default_value = "10s",
        value_parser = parse_wait
    )]
    poll: Duration,

    /// Longest wait between two attempts after errors
    #[arg(
        long,
        env = "PORTOLAN_LONGEST_BACKOFF",
        hide_env_values = true,
        value_name = "DURATION",
        default_value = "30s",
        value_parser = parse_wait
    )]
    longest_backoff: Duration,

    /// A resource of the cluster, where its nodes cannot be asked; may be repeated
    #[arg(long, value_name = "NAME=QUANTITY", value_parser = parse_quantity)]
    capacity: Vec<(String, String)>,

    /// What of a resource workloads may use, if not all; may be repeated
    #[arg(long, value_name = "NAME=QUANTITY", value_parser = parse_quantity)]
    allocatable: Vec<(String, String)>,

    /// A claim of the cluster beside those that it has as objects; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    claim: Vec<(String, String)>,

    /// Install the definitions of AppliedManifestWork and AppliedWork on the member cluster before starting; without a
    /// value those that are missing
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

    /// Address for /metrics, /healthz and /readyz [default: not served]
    #[arg(
        long,
        env = "PORTOLAN_METRICS_LISTEN",
        hide_env_values = true,
        value_name = "ADDR",
        value_parser = listen::parse
    )]
    metrics_listen: Option<SocketAddr>,

    #[command(flatten)]
    logs: LogArgs,

    #[command(flatten)]
    traces: TraceArgs,
}

/// Whether the agent renews the Lease of its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Heartbeat {
    On,
    Off,
}

impl Args {
    fn settings(&self, cluster: &str) -> Settings {
        let pairs = |pairs: &[(String, String)]| pairs.iter().cloned().collect::<BTreeMap<_, _>>();
        let mut settings = Settings::new(cluster, Clock::new(clock::now));
        settings.hub_server = following::server(&self.hub).unwrap_or_default();
        settings.hub_id.clone_from(&self.hub_id);
        settings.agent_id.clone_from(&self.agent_id);
        settings.heartbeat = self.heartbeat == Heartbeat::On;
        settings.eviction_grace = self.eviction_grace_period.0;
        settings.poll = self.poll;
        settings.longest_backoff = self.longest_backoff;
        settings.capacity = pairs(&self.capacity);
        settings.allocatable = pairs(&self.allocatable);
        settings.claims = pairs(&self.claim);
        settings
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let _traces = args.logs.init("info", &args.traces)?;
    stop::block_on(serve(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: &Args) -> anyhow::Result<()> {
    let mut stop = Stop::new()?;
    let mut files = HubFiles::read(&args.hub).await.context("--hub")?;
    let Some((mut agent, probes, answers)) = stop.unless_requested(start(args)).await? else {
        return Ok(());
    };
    let ended = loop {
        tokio::select! {
            () = stop.requested() => break Ok(()),
            why = agent.failed() => break Err(failed(&why)),
            () = files.changed() => {}
        }
        // What was read before the files is at most too old, and then they are read once more.
        match HubFiles::read(&args.hub).await {
            Ok(read) => files = read,
            Err(error) => {
                tracing::warn!("{error:#}");
                continue;
            }
        }
        let Some(next) = stop.unless_requested(renewed(args)).await? else {
            break Ok(());
        };
        match next {
            Ok((hub, settings, spoke)) => {
                tracing::info!("the kubeconfig of the hub has changed; the agent goes on with it");
                // What is under way is finished; two agents at a time would only write the same twice.
                agent.stop().await;
                agent = Agent::start(hub, spoke, settings);
                answers.about(agent.monitor());
            }
            Err(error) => {
                tracing::warn!(
                    "the kubeconfig of the hub has changed and cannot be used, the agent goes on with the former one: {error:#}"
                );
            }
        }
    };
    tracing::info!("stopping");
    stop.finish(vec![Part::new("works", agent.stop())]).await;
    if let Some(probes) = probes {
        probes.abort();
    }
    ended
}

/// An agent that cannot do its work must not look as if it did: its supervisor starts it again.
pub(crate) fn failed(why: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "the agent stops because it cannot go on: {why}; what is applied stays applied; start it again"
    )
}

/// What an agent needs after the kubeconfig of the hub has changed.
type Renewed = anyhow::Result<(kube::Client, Settings, kube::Client)>;

/// Reads the kubeconfig of the hub again. A file that cannot be used is no reason to end.
async fn renewed(args: &Args) -> anyhow::Result<Renewed> {
    let read = async {
        let hub = config(Some(&args.hub)).await?;
        let cluster = Whose::of(&hub).cluster(args.cluster.as_deref())?;
        let (_, hub) = Server::with_unlimited(hub)?;
        let (_, spoke) = Server::with_unlimited(config(args.spoke.as_ref()).await?)?;
        Ok((hub, identified(args.settings(&cluster)), spoke))
    };
    Ok(read.await)
}

/// Says in the settings which process this is.
fn identified(mut settings: Settings) -> Settings {
    let named = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let named = named.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let host = named.as_deref().map_or("this-host", str::trim);
    settings.identity = format!("{host}/{}", std::process::id());
    settings
}

/// The agent, its probes if they are wanted, and what these answer.
async fn start(args: &Args) -> anyhow::Result<(Agent, Option<JoinHandle<()>>, Arc<Answers>)> {
    let hub = config(Some(&args.hub)).await.context("--hub")?;
    let cluster = Whose::of(&hub).cluster(args.cluster.as_deref())?;
    if let Some(warning) = whose::expiry(&hub, clock::now()) {
        tracing::warn!("{warning}");
    }
    let (hub, hub_client) = Server::with_unlimited(hub).context("--hub")?;
    let spoke = config(args.spoke.as_ref()).await.map_err(unknown_spoke)?;
    let (spoke, spoke_client) = Server::with_unlimited(spoke).context("--spoke")?;
    // The member cluster is where the agent lives; a hub may well be unreachable for a while, also at the start.
    let version = spoke.version().await.context("--spoke")?;
    refuse_anonymous(&hub).await.context("--hub")?;
    tracing::info!(
        url = spoke.url,
        version = version.git_version,
        "the member cluster answers"
    );
    if hub.url == spoke.url {
        tracing::warn!(
            url = hub.url,
            "the kubeconfigs of the hub and of the member cluster name the same server: works are applied on the hub itself; \
             give the member cluster's kubeconfig with --spoke if that is not meant"
        );
    }
    let probes = match args.metrics_listen {
        Some(address) => Some(Probes::bind(address).await?),
        None => None,
    };
    if let Some(which) = args.install_crds {
        install_some(&spoke, which, portolan_agent::definitions()).await?;
    }
    tracing::info!(hub = hub.url, cluster, "the agent starts");
    let agent = Agent::start(hub_client, spoke_client, identified(args.settings(&cluster)));
    let answers = Arc::new(Answers(Mutex::new(agent.monitor())));
    let answering = answers.clone();
    let probes = probes.map(|probes| {
        tracing::info!(address = %probes.address, "metrics and probes are served");
        tokio::spawn(probes.serve(answering))
    });
    Ok((agent, probes, answers))
}

/// What probes answer: how the agent is that runs now.
struct Answers(Mutex<Monitor>);

impl Answers {
    fn about(&self, monitor: Monitor) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = monitor;
    }

    fn monitor(&self) -> Monitor {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Probed for Answers {
    fn metrics(&self) -> String {
        self.monitor().text()
    }

    fn why_not_alive(&self) -> Option<String> {
        self.monitor().why_not_alive()
    }

    fn why_not_ready(&self) -> Vec<String> {
        self.monitor().why_not_ready()
    }

    fn notes(&self) -> Vec<String> {
        self.monitor().notes()
    }
}

async fn config(kubeconfig: Option<&PathBuf>) -> anyhow::Result<Config> {
    let connect = ConnectArgs {
        kubeconfig: kubeconfig.cloned(),
        context: None,
    };
    connect.config().await
}

/// Why the member cluster is not known. Without a kubeconfig the flag that names one is said.
fn unknown_spoke(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<NoKubeconfig>() {
        Some(NoKubeconfig { why }) => anyhow::anyhow!(
            "there is no member cluster to work on ({why}); name its kubeconfig with --spoke FILE, or run the agent in a pod \
             of the member cluster"
        ),
        None => error.context("--spoke"),
    }
}

fn parse_cluster(text: &str) -> Result<String, String> {
    match portolan_api::structural::is_dns_label(text) {
        true => Ok(text.to_owned()),
        false => {
            Err("accepted: the name of a cluster, which is also that of a namespace, such as east".to_owned())
        }
    }
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("accepted: NAME=VALUE, such as cpu=8".to_owned()),
    }
}

fn parse_quantity(text: &str) -> Result<(String, String), String> {
    let (name, quantity) = parse_pair(text)?;
    match portolan_engine::quantity::is_quantity(&quantity) {
        true => Ok((name, quantity)),
        false => Err("accepted: NAME=QUANTITY, such as cpu=8, cpu=500m or memory=32Gi".to_owned()),
    }
}

/// How long something is kept; nothing for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grace(Option<Duration>);

/// A century is for ever, as it is to other agents.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

fn parse_grace(text: &str) -> Result<Grace, String> {
    match text {
        "never" => Ok(Grace(None)),
        text => {
            let grace = clock::parse_duration(text).map_err(|why| format!("{why}, or never"))?;
            Ok(Grace(Some(grace).filter(|grace| *grace < CENTURY)))
        }
    }
}

fn parse_wait(text: &str) -> Result<Duration, String> {
    match clock::parse_duration(text)? {
        Duration::ZERO => Err("accepted: more than 0, such as 10s".to_owned()),
        duration => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(words: &[&str]) -> Result<Settings, clap::Error> {
        let always = ["portolan", "--hub=hub"];
        Line::try_parse_from(always.iter().chain(words)).map(|line| line.args.settings("east"))
    }

    #[test]
    fn the_defaults_are_those_of_the_agent() {
        let theirs = Settings::new("east", Clock::new(clock::now));
        assert_eq!(format!("{:?}", parse(&[]).unwrap()), format!("{theirs:?}"));
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        for word in [
            "--cluster=No_Name",
            "--poll=0s",
            "--capacity=cpu",
            "--claim==x",
            "--install-crds=maybe",
            "--heartbeat=maybe",
            "--eviction-grace-period=soon",
        ] {
            assert!(parse(&[word]).is_err(), "{word}");
        }
        let settings = parse(&["--eviction-grace-period=60m", "--heartbeat=off"]).unwrap();
        assert_eq!(
            (settings.eviction_grace, settings.heartbeat),
            (Some(Duration::from_secs(3600)), false)
        );
        let settings = parse(&["--eviction-grace-period=876000h"]).unwrap();
        assert_eq!(settings.eviction_grace, None, "a century is for ever");
        let settings = parse(&["--capacity=cpu=8", "--claim=region=eu"]).unwrap();
        assert_eq!(
            (
                settings.capacity["cpu"].as_str(),
                settings.claims["region"].as_str()
            ),
            ("8", "eu")
        );
    }
}
