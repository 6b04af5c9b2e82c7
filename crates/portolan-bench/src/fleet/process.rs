//! `portolan up --spokes` as a process.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use kube::Client;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::connect::connect;
use crate::usage::Usage;

/// A hub with members, running.
pub(super) struct Fleet {
    child: Child,
    usage: Usage,
    kubeconfig: PathBuf,
    /// Kept open: a program whose reader is gone has nobody to show decisions to, and ends.
    output: Lines<BufReader<ChildStdout>>,
}

impl Fleet {
    /// Starts it and waits until it is up.
    pub(super) async fn start(program: &Path, folder: &Path, members: u16) -> anyhow::Result<Fleet> {
        let kubeconfig = folder.join("kubeconfig");
        let mut child = Command::new(program)
            .args(["up", "--in-memory", "--listen", "127.0.0.1:0"])
            .args([
                "--metrics-listen",
                "127.0.0.1:0",
                "--spokes",
                &members.to_string(),
            ])
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start the fleet's process")?;
        let usage = Usage::of(child.id().context("the fleet's process has ended")?);
        let output = child.stdout.take().context("the process has no output")?;
        let mut output = BufReader::new(output).lines();
        while let Some(line) = output.next_line().await? {
            if line.ends_with("is up") {
                return Ok(Fleet {
                    child,
                    usage,
                    kubeconfig,
                    output,
                });
            }
        }
        bail!("the fleet's process ended; what it said is above")
    }

    pub(super) async fn client(&self) -> anyhow::Result<Client> {
        connect(&self.kubeconfig).await
    }

    pub(super) fn cpu_ns(&self) -> anyhow::Result<u64> {
        self.usage.cpu_ns()
    }

    /// Megabytes in memory now, and at most so far.
    pub(super) fn memory_mb(&self) -> anyhow::Result<(f64, f64)> {
        self.usage.memory_mb()
    }

    /// Ends it as Ctrl-C does, and waits.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        let told = Command::new("kill")
            .arg(self.usage.pid().to_string())
            .status()
            .await;
        told.context("cannot tell the fleet's process to stop")?;
        // A full pipe would keep it from ending.
        while self.output.next_line().await?.is_some() {}
        let status = self
            .child
            .wait()
            .await
            .context("cannot wait for the fleet's process")?;
        match status.success() {
            true => Ok(()),
            false => bail!("the fleet's process ended with {status}"),
        }
    }
}
