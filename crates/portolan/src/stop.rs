//! When a program that runs until it is told to stop is told to stop.

use std::future::Future;
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output;

/// Requests within this time are the same request.
const ONCE: Duration = Duration::from_secs(1);

/// SIGTERM and SIGINT, waited for from the moment this is made, so that none is missed.
#[derive(Debug)]
pub(crate) struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    pub(crate) fn new() -> anyhow::Result<Stop> {
        Ok(Stop {
            terminate: signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?,
        })
    }

    /// Does what is left to do, unless it is told to stop once more: whoever insists is not kept waiting.
    pub(crate) async fn unless_again(&mut self, rest: impl Future<Output = ()>) {
        let insisted = async {
            // Some supervisors tell a process twice, as itself and as part of its group.
            let once = tokio::time::sleep(ONCE);
            tokio::pin!(once);
            loop {
                tokio::select! {
                    () = &mut once => break,
                    () = self.requested() => {}
                }
            }
            self.requested().await;
        };
        tokio::select! {
            () = rest => {}
            () = insisted => output::remark("stopping at once\n"),
        }
    }

    /// Returns when one of them has come. It can be asked again.
    pub(crate) async fn requested(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
