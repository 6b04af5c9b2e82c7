//! The measurement as a whole: start, load in rounds, memory, fan-out, start again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::Method;
use serde_json::Value;

use super::client::{Connection, JSON, YAML};
use super::fan_out::Watchers;
use super::kubeconfig::Access;
use super::load::{self, Kind};
use super::process::{Hub, Server};
use super::report::{Around, Measured, Report};
use super::{Args, object};
use crate::note::note;

/// How often a hub with new data is started; the median counts.
const STARTS: usize = 5;
/// How long a server may take to serve a new kind.
const SERVED_WITHIN: Duration = Duration::from_secs(30);

pub(super) async fn measure(args: &Args) -> anyhow::Result<Report> {
    let rounds = args.rounds as usize;
    let program = args.program.file()?;
    let folder = Folder::make(args.data.as_deref())?;
    let other = match &args.against {
        Some(kubeconfig) => Some(Server {
            access: Arc::new(Access::read(kubeconfig)?),
            pids: args.pid.clone(),
        }),
        None => None,
    };
    // Known to be readable before minutes are spent.
    if let Some(other) = &other {
        other.cpu()?;
    }

    note("starting hubs");
    let mut starts = Vec::new();
    let hub = loop {
        let (hub, took) = Hub::start(&program, &folder.0.join(format!("hub-{}", starts.len()))).await?;
        starts.push(took);
        if starts.len() == STARTS {
            break hub;
        }
        hub.stop()?;
    };
    let mut servers = vec![Subject::prepare(hub.server.clone()).await?];
    if let Some(other) = other {
        servers.push(Subject::prepare(other).await?);
    }
    let before = hub.server.resident()?;
    let commits = commits(&hub.server).await?;
    for round in 0..rounds {
        note(&format!("writing, round {} of {rounds}", round + 1));
        write_round(args, &mut servers, round).await?;
    }
    let commits = self::commits(&hub.server).await? - commits;
    for subject in &mut servers {
        subject.measured.resident = subject.server.resident()?;
    }
    let object_bytes = object_bytes(&hub.server, args.objects as usize - 1).await?;
    note("watching");
    watch_rounds(args, &mut servers).await?;
    for subject in &servers[1..] {
        subject.clean_up().await?;
    }
    let grown = servers[0].measured.resident.saturating_sub(before);
    let (hub, restart) = Hub::start(&program, &hub.stop()?).await?;
    hub.stop()?;
    let mut measured = servers.into_iter().map(|subject| subject.measured);
    let hub = measured.next().context("the hub is the first of the servers")?;
    let around = Around {
        starts,
        restart,
        grown,
        commits,
        object_bytes,
    };
    Ok(Report::new(args, &hub, measured.next().as_ref(), &around))
}

/// A server with what was measured of it.
struct Subject {
    server: Server,
    measured: Measured,
}

impl Subject {
    /// Makes the kind known to a server.
    async fn prepare(server: Server) -> anyhow::Result<Subject> {
        let mut connection = Connection::open(&server.access).await?;
        let version: Value = serde_json::from_slice(&connection.get("/version").await?)?;
        let definition = Bytes::from_static(object::DEFINITION.as_bytes());
        let path = object::DEFINITIONS;
        connection.send(Method::POST, path, YAML, definition).await?;
        let started = crate::clock::now();
        while connection.get(object::OBJECTS).await.is_err() {
            if started.elapsed() > SERVED_WITHIN {
                bail!("{}: {} is not served", server.access.address, object::OBJECTS);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let version = version["gitVersion"].as_str().unwrap_or("unknown").to_owned();
        let measured = Measured::of(version);
        Ok(Subject { server, measured })
    }

    /// Leaves a server that is not ours as it was.
    async fn clean_up(&self) -> anyhow::Result<()> {
        let mut connection = Connection::open(&self.server.access).await?;
        let path = format!("{}/{}", object::DEFINITIONS, object::DEFINITION_NAME);
        connection.send(Method::DELETE, &path, JSON, Bytes::new()).await?;
        Ok(())
    }
}

async fn write_round(args: &Args, servers: &mut [Subject], round: usize) -> anyhow::Result<()> {
    let rounds = args.rounds as usize;
    for kind in Kind::ALL {
        let total = match kind {
            Kind::Create => args.objects as usize,
            Kind::Status | Kind::Label => args.patches as usize,
        };
        let part = total * round / rounds..total * (round + 1) / rounds;
        // Patches go to objects that are there: those of this round come first, and come again if there are more patches.
        let created = args.objects as usize * (round + 1) / rounds;
        for at in in_turn(round, servers.len()) {
            let subject = &mut servers[at];
            let mut left = part.len();
            while left > 0 {
                let first = match kind {
                    Kind::Create => part.start,
                    Kind::Status | Kind::Label => created.saturating_sub(left),
                };
                let count = left.min(created - first);
                let turn = round * 1000 + left / created.max(1);
                let objects = first..first + count;
                let sample =
                    load::write(&subject.server, kind, objects, turn, args.concurrency as usize).await?;
                subject.measured.add(kind, round, sample);
                left -= count;
            }
        }
    }
    Ok(())
}

async fn watch_rounds(args: &Args, servers: &mut [Subject]) -> anyhow::Result<()> {
    let rounds = args.rounds as usize;
    let mut watchers = Vec::new();
    for subject in servers.iter() {
        watchers.push(Watchers::open(&subject.server, args.watchers as usize).await?);
    }
    // Not counted: the first event of a connection finds everything cold.
    for watchers in &mut watchers {
        watchers.event(0).await?;
    }
    for round in 0..rounds {
        let events = args.events as usize;
        for at in in_turn(round, servers.len()) {
            let mut times = Vec::new();
            for event in events * round / rounds..events * (round + 1) / rounds {
                times.push(watchers[at].event(1_000_000 + event).await?);
            }
            servers[at].measured.fan_out.push(times);
        }
    }
    Ok(())
}

/// The servers in the order of a round: another server goes first in each round.
fn in_turn(round: usize, servers: usize) -> impl Iterator<Item = usize> {
    (0..servers).map(move |at| (at + round) % servers)
}

/// How often the hub has synced its data.
async fn commits(hub: &Server) -> anyhow::Result<u64> {
    let metrics = Connection::open(&hub.access).await?.get("/metrics").await?;
    let metrics = String::from_utf8_lossy(&metrics);
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("hub_commits_total "));
    line.and_then(|count| count.parse().ok())
        .context("/metrics of the hub has no hub_commits_total")
}

/// What an object is as text, everything the server adds included.
async fn object_bytes(server: &Server, index: usize) -> anyhow::Result<usize> {
    Ok(Connection::open(&server.access)
        .await?
        .get(&object::path(index))
        .await?
        .len())
}

/// A folder that is gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn make(parent: Option<&Path>) -> anyhow::Result<Folder> {
        let name = format!("portolan-bench-hub-{}", std::process::id());
        let path = parent
            .map_or_else(std::env::temp_dir, Path::to_path_buf)
            .join(name);
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
