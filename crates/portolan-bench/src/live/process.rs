//! The controllers as a process of their own, so that the kernel counts their time and memory apart from the bench's.
//!
//! The worker is this program again. It takes one command a line on its standard input, answers on its standard output,
//! and ends when its input does: whatever happens to the bench, no controller is left behind.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::usage::Usage;

/// Ends the text of the metrics, in Prometheus' format itself.
pub(super) const END_OF_METRICS: &str = "# EOF";
pub(super) const DONE: &str = "done";

/// A running worker.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    usage: Usage,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts the program; controllers run after [`Process::start`]. With `embedded` it serves a hub as well and writes
    /// the kubeconfig.
    pub(super) async fn spawn(kubeconfig: &Path, embedded: bool) -> anyhow::Result<Process> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.args(["live-worker", "--kubeconfig"]).arg(kubeconfig);
        if embedded {
            command.arg("--embedded");
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C is for the bench, which then ends the worker.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .context("cannot start the controllers' process")?;
        let input = child.stdin.take().context("the process has no input")?;
        let output = child.stdout.take().context("the process has no output")?;
        let mut process = Process {
            usage: Usage::of(child.id().context("the process has ended")?),
            child,
            input,
            output: BufReader::new(output).lines(),
        };
        process.expect_done().await?;
        Ok(process)
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        let line = self.output.next_line().await?;
        line.context("the controllers' process ended; what it said is above")
    }

    async fn expect_done(&mut self) -> anyhow::Result<()> {
        match self.line().await?.as_str() {
            DONE => Ok(()),
            other => bail!("the controllers' process: {other}"),
        }
    }

    async fn say(&mut self, command: &str) -> anyhow::Result<()> {
        let said = self.input.write_all(format!("{command}\n").as_bytes()).await;
        said.context("the controllers' process ended")
    }

    /// Starts the controllers, with ClusterProfiles in a namespace or without.
    pub(super) async fn start(&mut self, profiles: Option<&str>) -> anyhow::Result<()> {
        match profiles {
            Some(namespace) => self.say(&format!("start {namespace}")).await?,
            None => self.say("start").await?,
        }
        self.expect_done().await
    }

    /// Watches what the controllers watch, until the process ends, and does nothing else.
    pub(super) async fn read(&mut self) -> anyhow::Result<()> {
        self.say("read").await?;
        self.expect_done().await
    }

    /// Stops the controllers; the process stays.
    pub(super) async fn stop(&mut self) -> anyhow::Result<()> {
        self.say("stop").await?;
        self.expect_done().await
    }

    /// What the controllers counted.
    pub(super) async fn metrics(&mut self) -> anyhow::Result<Metrics> {
        self.say("metrics").await?;
        let mut text = String::new();
        loop {
            let line = self.line().await?;
            if line == END_OF_METRICS {
                return Ok(Metrics::parse(&text));
            }
            text.push_str(&line);
            text.push('\n');
        }
    }

    /// Ends it.
    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        drop(self.input);
        self.child
            .wait()
            .await
            .context("cannot wait for the controllers' process")?;
        Ok(())
    }

    pub(super) fn cpu_ns(&self) -> anyhow::Result<u64> {
        self.usage.cpu_ns()
    }

    /// Megabytes in memory now, and at most so far.
    pub(super) fn memory_mb(&self) -> anyhow::Result<(f64, f64)> {
        self.usage.memory_mb()
    }
}

/// The controllers' metrics that the bench looks at.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    /// Writes to decisions, profiles and placements that were acknowledged; not Events, which nobody waits for.
    pub(super) writes: u64,
    pub(super) evaluations: u64,
    pub(super) failed_writes: u64,
}

impl Metrics {
    fn parse(text: &str) -> Metrics {
        let mut metrics = Metrics::default();
        for line in text.lines() {
            let Some((name, value)) = line.rsplit_once(' ') else {
                continue;
            };
            let value = value.parse::<f64>().unwrap_or_default() as u64;
            let label = |key: &str| {
                let (_, rest) = name.split_once(&format!("{key}=\""))?;
                Some(rest.split_once('"')?.0.to_owned())
            };
            if name == "portolan_evaluations_total" {
                metrics.evaluations = value;
            } else if name.starts_with("portolan_writes_total{") && label("verb").as_deref() != Some("get") {
                match label("result").as_deref() {
                    Some("ok") => metrics.writes += value,
                    _ => metrics.failed_writes += value,
                }
            }
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_added_up_and_reads_are_none() {
        let metrics = Metrics::parse(
            "# HELP portolan_writes Requests\n\
             portolan_writes_total{resource=\"a/status\",verb=\"update\",result=\"ok\"} 3\n\
             portolan_writes_total{resource=\"a\",verb=\"create\",result=\"ok\"} 2\n\
             portolan_writes_total{resource=\"a\",verb=\"create\",result=\"conflict\"} 1\n\
             portolan_writes_total{resource=\"b\",verb=\"get\",result=\"ok\"} 9\n\
             portolan_evaluations_total 7\n",
        );
        assert_eq!((metrics.writes, metrics.failed_writes), (5, 1));
        assert_eq!(metrics.evaluations, 7);
    }
}
