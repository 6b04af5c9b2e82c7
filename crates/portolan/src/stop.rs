//! How a program that runs until it is told to stop is told to stop, and how it ends.

use std::future::Future;
use std::time::Duration;

use anyhow::Context;
use futures::future::BoxFuture;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output;

/// Requests within this time are the same request.
const ONCE: Duration = Duration::from_secs(1);
/// All parts of a program together end within this time. Less, and writes to a slow server would be given up; more, and
/// supervisors, which wait ten seconds, would kill the process.
const LIMIT: Duration = Duration::from_secs(8);
/// For what is left in the runtime after that: connections of clients, and name lookups that cannot be cancelled.
const RUNTIME_LIMIT: Duration = Duration::from_secs(1);

/// A part of a program that ends when it is told to: its name for people, and its end. The end says what it gave up, if
/// anything.
pub(crate) struct Part<'a> {
    name: &'static str,
    end: BoxFuture<'a, Option<String>>,
}

impl<'a> Part<'a> {
    pub(crate) fn new(name: &'static str, end: impl Future<Output = ()> + Send + 'a) -> Part<'a> {
        Part::giving_up(name, async {
            end.await;
            None
        })
    }

    /// A part that has a time limit of its own and says what it gave up.
    pub(crate) fn giving_up(
        name: &'static str,
        end: impl Future<Output = Option<String>> + Send + 'a,
    ) -> Part<'a> {
        Part {
            name,
            end: Box::pin(end),
        }
    }
}

/// Runs a program to its end on a runtime of its own. Tasks that are left are not waited for.
pub(crate) fn block_on<T>(program: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let ended = runtime.block_on(program);
    runtime.shutdown_timeout(RUNTIME_LIMIT);
    ended
}

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

    /// The result of a start; nothing when the program is told to stop before the start has finished. A server that does
    /// not answer must not keep a program from ending.
    pub(crate) async fn unless_requested<T>(
        &mut self,
        start: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<Option<T>> {
        tokio::select! {
            started = start => started.map(Some),
            () = self.requested() => Ok(None),
        }
    }

    /// Ends the parts one after the other within [`LIMIT`], and says which of them were not waited for. A second request to
    /// stop ends the wait at once.
    pub(crate) async fn finish(&mut self, parts: Vec<Part<'_>>) {
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
            left = end(parts) => {
                if !left.is_empty() {
                    output::remark(&format!("stopped without waiting for: {}\n", left.join(", ")));
                }
            }
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

/// Ends the parts in their order. Each gets its share of the time, so that one that never ends does not take the time of
/// those after it: the hub, which is the last one, has data to close. Returns what was not waited for.
async fn end(parts: Vec<Part<'_>>) -> Vec<String> {
    let share = LIMIT / u32::try_from(parts.len()).unwrap_or(u32::MAX).max(1);
    let mut left = Vec::new();
    for part in parts {
        match tokio::time::timeout(share, part.end).await {
            Ok(given_up) => left.extend(given_up),
            Err(_) => left.push(part.name.to_owned()),
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_part_that_never_ends_is_named_and_those_after_it_still_end() {
        let start = Instant::now();
        let (closed, mut closing) = tokio::sync::oneshot::channel();
        let parts = vec![
            Part::new("member clusters", async {}),
            Part::new("controllers", pending()),
            Part::giving_up("hub", async {
                let _ = closed.send(());
                Some("1 connection".to_owned())
            }),
        ];
        assert_eq!(end(parts).await, ["controllers", "1 connection"]);
        assert!(start.elapsed() + RUNTIME_LIMIT < Duration::from_secs(10));
        assert_eq!(closing.try_recv(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn parts_of_which_none_ends_take_less_than_ten_seconds_together() {
        let start = Instant::now();
        let parts = ["a", "b", "c"].map(|name| Part::new(name, pending())).into();
        assert_eq!(end(parts).await, ["a", "b", "c"]);
        assert!(start.elapsed() + RUNTIME_LIMIT < Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn parts_that_end_are_not_mentioned() {
        let start = Instant::now();
        assert!(end(vec![Part::new("controllers", async {})]).await.is_empty());
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
