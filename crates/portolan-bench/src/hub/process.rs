//! Servers as processes: what they take from the machine, and how the hub is started and stopped.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};

use super::client::Connection;
use super::kubeconfig::Access;
use crate::clock::now;

/// A hub that is not ready by then never will be.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// The unit of CPU time in `/proc/PID/stat`: fixed for programs, whatever the kernel ticks at.
const TICKS_PER_SECOND: u32 = 100;

/// A server under test.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) access: Arc<Access>,
    /// The processes it is made of.
    pub(super) pids: Vec<u32>,
}

impl Server {
    /// CPU time of all its processes so far.
    pub(super) fn cpu(&self) -> anyhow::Result<Duration> {
        self.pids.iter().map(|pid| cpu(*pid)).sum()
    }

    /// Bytes of all its processes that are in memory.
    pub(super) fn resident(&self) -> anyhow::Result<u64> {
        self.pids.iter().map(|pid| resident(*pid)).sum()
    }
}

fn cpu(pid: u32) -> anyhow::Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    // The second field is the program's name in parentheses and may hold anything.
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = |at: usize| -> Option<u32> { fields.split(' ').nth(at)?.parse().ok() };
    let (user, system) = ticks(11)
        .zip(ticks(12))
        .with_context(|| format!("{path}: no CPU time in it"))?;
    Ok(Duration::from_secs(1) * (user + system) / TICKS_PER_SECOND)
}

fn resident(pid: u32) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    Ok(kilobytes.with_context(|| format!("{path}: no VmRSS in it"))? * 1024)
}

/// A hub of the program under test, in a process of its own. Ends with the value.
#[derive(Debug)]
pub(super) struct Hub {
    child: Child,
    folder: PathBuf,
    pub(super) server: Server,
}

impl Hub {
    /// Starts a hub on the data in a folder and tells how long it took until `/readyz` said so.
    pub(super) async fn start(program: &Path, folder: &Path) -> anyhow::Result<(Hub, Duration)> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let kubeconfig = folder.join("kubeconfig");
        if kubeconfig.exists() {
            std::fs::remove_file(&kubeconfig)?;
        }
        let started = now();
        let child = Command::new(program)
            .args(["hub", "--log-level", "warn", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.join("data"))
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start the hub")?;
        let mut child = Ended(Some(child));
        let access = loop {
            if let Ok(access) = ready(&kubeconfig).await {
                break access;
            }
            if let Some(status) = child.get().try_wait()? {
                bail!("the hub ended before it was ready: {status}");
            }
            if started.elapsed() > READY_TIMEOUT {
                bail!("the hub was not ready after {} s", READY_TIMEOUT.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let took = started.elapsed();
        let child = child.take();
        let server = Server {
            access: Arc::new(access),
            pids: vec![child.id()],
        };
        let folder = folder.to_path_buf();
        Ok((
            Hub {
                child,
                folder,
                server,
            },
            took,
        ))
    }

    /// Stops it as an operator would, and gives back its folder.
    pub(super) fn stop(mut self) -> anyhow::Result<PathBuf> {
        let told = Command::new("kill").arg(self.child.id().to_string()).status();
        if !told.context("cannot stop the hub")?.success() {
            bail!("cannot stop the hub: kill failed");
        }
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the hub did not stop well: {status}");
        }
        Ok(std::mem::take(&mut self.folder))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A child that does not outlive an error.
struct Ended(Option<Child>);

impl Ended {
    fn get(&mut self) -> &mut Child {
        self.0
            .as_mut()
            .expect("only `take` empties it, and takes self last")
    }

    fn take(mut self) -> Child {
        self.0.take().expect("only `take` empties it")
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(end);
    }
}

fn end(child: &mut Child) {
    // One that has ended already is fine.
    let _ = child.kill();
    let _ = child.wait();
}

async fn ready(kubeconfig: &Path) -> anyhow::Result<Access> {
    let access = Access::read(kubeconfig)?;
    Connection::open(&access).await?.get("/readyz").await?;
    Ok(access)
}
