//! `portolan hub`: the embedded Kubernetes API on its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use portolan_hub::{ClientLimits, Hub, OpenError, StartError};

use crate::address;
use crate::admin_kubeconfig::{self, Of};
use crate::listen;
use crate::logging::LogArgs;
use crate::number;
use crate::output;
use crate::shell;
use crate::stop::{self, Part, Stop};
use crate::tracing_export::TraceArgs;
use crate::work_admission::WorkAdmission;

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

    /// Address to listen on; a port alone is one of 127.0.0.1, port 0 takes a free one [default: 127.0.0.1:6443, or a free
    /// port when that is in use; with --data the port that it had before]
    #[arg(long, value_name = "ADDR", value_parser = listen::parse)]
    listen: Option<SocketAddr>,

    #[command(flatten)]
    hostnames: listen::Hostnames,

    /// File to write the administrator's kubeconfig to, readable by you alone
    #[arg(long, value_name = "FILE", default_value = "portolan.kubeconfig")]
    kubeconfig: PathBuf,

    /// How many MiB of objects the hub stores at the most; writes beyond it are answered with 507
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = number::within(1..=u64::MAX >> 20))]
    max_stored_mib: u64,

    /// How many MiB of objects one namespace stores at the most
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = number::within(1..=u64::MAX >> 20))]
    max_stored_per_namespace_mib: u64,

    #[command(flatten)]
    clients: ClientArgs,

    #[command(flatten)]
    logs: LogArgs,
}

/// What clients may have of the hub at a time. The defaults are those of the library, which says why.
#[derive(Debug, clap::Args)]
struct ClientArgs {
    /// How many connections may be open; one more is closed at once
    #[arg(long, value_name = "N", default_value_t = ClientLimits::default().connections, value_parser = at_least_one())]
    max_connections: u64,

    /// How many connections from one address may be open
    #[arg(long, value_name = "N", default_value_t = ClientLimits::default().connections_per_address, value_parser = at_least_one())]
    max_connections_per_address: u64,

    /// How many requests of one user are served at a time; one more is answered with 429
    #[arg(long, value_name = "N", default_value_t = ClientLimits::default().requests_per_user, value_parser = at_least_one())]
    max_requests_per_user: u64,

    /// How many watches of one user may be open; one more is answered with 429
    #[arg(long, value_name = "N", default_value_t = ClientLimits::default().watches_per_user, value_parser = at_least_one())]
    max_watches_per_user: u64,

    /// How many MiB of answers that clients have not read yet are held in memory; reads beyond it are answered with 429
    #[arg(long, value_name = "MIB", default_value_t = ClientLimits::default().answer_bytes >> 20, value_parser = at_least_one())]
    max_answers_mib: u64,

    /// How many MiB of answers that one user has not read yet are held in memory
    #[arg(long, value_name = "MIB", default_value_t = ClientLimits::default().answer_bytes_per_user >> 20, value_parser = at_least_one())]
    max_answers_per_user_mib: u64,
}

/// A limit of 0 would refuse every client.
fn at_least_one() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..)
}

impl ClientArgs {
    fn limits(&self) -> ClientLimits {
        ClientLimits {
            connections: self.max_connections,
            connections_per_address: self.max_connections_per_address,
            requests_per_user: self.max_requests_per_user,
            watches_per_user: self.max_watches_per_user,
            answer_bytes: bytes(self.max_answers_mib),
            answer_bytes_per_user: bytes(self.max_answers_per_user_mib),
        }
    }
}

fn bytes(mebibytes: u64) -> u64 {
    mebibytes.saturating_mul(1 << 20)
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let _traces = args.logs.init("info", &TraceArgs::default())?;
    stop::block_on(serve(args))
}

async fn serve(args: &Args) -> anyhow::Result<ExitCode> {
    let mut stop = Stop::new()?;
    admin_kubeconfig::refuse_foreign(&args.kubeconfig, Of::Hub)?;
    let start = async |address: SocketAddr| {
        let builder = Hub::builder()
            .admission(WorkAdmission)
            .listen(address)
            .published()
            .names(&args.hostnames.names)
            .stored_bytes(
                bytes(args.max_stored_mib),
                bytes(args.max_stored_per_namespace_mib),
            )
            .client_limits(args.clients.limits());
        match &args.data {
            Some(data) => builder.data(data).start().await,
            None => builder.start().await,
        }
    };
    let started = async {
        let started = address::start(args.listen, args.data.as_deref(), start).await;
        started.map_err(not_started)
    };
    let Some(hub) = stop.unless_requested(started).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    if let Err(error) = write_kubeconfig(&hub, &args.kubeconfig).await {
        stop.finish(vec![ending(hub)]).await;
        return Err(error);
    }
    let kept = match &args.data {
        Some(data) => format!("data is kept in {}", data.display()),
        None => "data is in memory and gone when it stops; --data DIR keeps it".to_owned(),
    };
    output::say(&format!(
        "the hub serves {}; {kept}\n",
        hub.url().unwrap_or_default()
    ))?;
    // A command to paste is not wrapped.
    output::print(&format!(
        "use it: kubectl --kubeconfig {} api-resources\nstop it: Ctrl-C\n",
        shell::path(&args.kubeconfig)
    ))?;
    if let Some(hint) = args.listen.and_then(|address| args.hostnames.hint(address)) {
        output::remark(&format!("note: {hint}\n"));
    }
    let ended = tokio::select! {
        () = stop.requested() => Ok(ExitCode::SUCCESS),
        why = hub.failed() => Err(failed(&why)),
    };
    stop.finish(vec![ending(hub)]).await;
    ended
}

async fn write_kubeconfig(hub: &Hub, path: &Path) -> anyhow::Result<()> {
    let own = hub.kubeconfig().unwrap_or_default();
    admin_kubeconfig::refuse_running(path, Of::Hub, &own).await?;
    hub.write_kubeconfig(path)
        .with_context(|| format!("cannot write the kubeconfig {}", path.display()))
}

/// A hub that cannot do its work must not look as if it did: its supervisor starts it again.
pub(crate) fn failed(why: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "the hub stops because it cannot go on: {why}; nothing that was acknowledged is lost; start it again"
    )
}

/// The end of a hub. Clients get two seconds for the requests that are under way.
pub(crate) fn ending(hub: Hub) -> Part<'static> {
    Part::giving_up("hub", async {
        match hub.stop().await {
            0 => None,
            1 => Some("1 connection of a client".to_owned()),
            many => Some(format!("{many} connections of clients")),
        }
    })
}

/// Why there is no hub, and what to do about it.
pub(crate) fn not_started(error: StartError) -> anyhow::Error {
    let advice = match &error {
        StartError::Open(OpenError::Locked { .. }) => "stop that process, or use another folder: --data DIR",
        StartError::Open(_) => "--data DIR uses another folder",
        StartError::Listen { .. } => "--listen 127.0.0.1:0 takes a free port",
        StartError::PlainBeyondLoopback { .. } => "--listen takes another address",
        _ => {
            "restore the files of the data folder from a copy, or use another folder: --data DIR; without the old keys, agents \
             and kubeconfigs need new credentials"
        }
    };
    let said = format!("{:#}", anyhow::Error::from(error));
    anyhow::anyhow!("{said}; {advice}")
}
