//! The hub of a fleet: a process of its own that can be killed, or, where a real server is tested, one that stays.

use std::path::Path;
use std::process::Stdio;

use kube::{Client, Config};
use portolan_hub::Hub;
use portolan_testserver::TestServer;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::network::Way;

const FOLDER: &str = "PORTOLAN_AGENT_HUB_FOLDER";
const LISTENS: &str = "listens on ";

/// Not a test of its own: the process that is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by the tests of the fleet"]
async fn process() {
    let hub = Hub::builder()
        .data(std::env::var(FOLDER).unwrap())
        .listen(([127, 0, 0, 1], 0).into())
        .plain_http()
        .start()
        .await
        .unwrap();
    println!("{LISTENS}{} ", hub.url().unwrap());
    std::future::pending().await
}

/// A hub, and the way to it.
pub(super) struct Server {
    pub(super) way: Way,
    kind: Kind,
}

enum Kind {
    Process {
        child: Option<Box<Running>>,
        folder: tempfile::TempDir,
    },
    /// Nobody kills this one.
    Lasting(Box<TestServer>),
}

impl Server {
    /// A hub that can be killed, or a real server where one is to be tested.
    pub(super) async fn start() -> Server {
        match TestServer::would_be_real() {
            true => Server::lasting().await,
            false => Server::process().await,
        }
    }

    pub(super) async fn process() -> Server {
        let mut server = Server {
            way: Way::default(),
            kind: Kind::Process {
                child: None,
                folder: tempfile::tempdir().unwrap(),
            },
        };
        server.revive().await;
        server
    }

    pub(super) async fn lasting() -> Server {
        let server = TestServer::start().await;
        Server {
            way: Way::to(server.client()),
            kind: Kind::Lasting(Box::new(server)),
        }
    }

    /// A namespace that nobody else uses, if the server gave us one.
    pub(super) fn namespace(&self) -> Option<&str> {
        match &self.kind {
            Kind::Process { .. } => None,
            Kind::Lasting(server) => Some(server.namespace()),
        }
    }

    pub(super) fn can_be_killed(&self) -> bool {
        matches!(self.kind, Kind::Process { .. })
    }

    /// SIGKILL. Returns when the process is gone.
    pub(super) async fn kill(&mut self) {
        if let Kind::Process { child, .. } = &mut self.kind {
            self.way.lead(None);
            if let Some(mut running) = child.take() {
                running.process.kill().await.unwrap();
            }
        }
    }

    /// Starts it again on what it has left.
    pub(super) async fn revive(&mut self) {
        if let Kind::Process { child, folder } = &mut self.kind {
            let (started, client) = start(folder.path()).await;
            *child = Some(Box::new(started));
            self.way.lead(Some(client));
        }
    }

    /// What it has left, in a folder of its own.
    pub(super) fn copy(&self) -> tempfile::TempDir {
        let Kind::Process { folder, child: None } = &self.kind else {
            panic!("only of a hub that does not run a copy is whole");
        };
        let copy = tempfile::tempdir().unwrap();
        crate::restored::copy(folder.path(), copy.path());
        copy
    }

    /// Puts a copy in place of what it has left.
    pub(super) fn restore(&mut self, copy: tempfile::TempDir) {
        match &mut self.kind {
            Kind::Process { folder, child: None } => *folder = copy,
            _ => panic!("only a hub that does not run is restored"),
        }
    }
}

struct Running {
    process: Child,
    /// Kept, because the test runner of the process would end with it.
    _said: Lines<BufReader<ChildStdout>>,
}

async fn start(folder: &Path) -> (Running, Client) {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["fleet::hub::process", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().expect("the hub starts");
        // What the test runner prints may stand before it.
        if let Some((_, url)) = line.split_once(LISTENS) {
            let mut config = Config::new(url.trim().parse().unwrap());
            config.default_retry = false;
            let running = Running {
                process,
                _said: lines,
            };
            return (running, Client::try_from(config).unwrap());
        }
    }
}
