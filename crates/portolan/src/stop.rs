//! How a program that runs until it is told to stop is told to stop, and how it ends.

use std::future::Future;
use std::time::Duration;

use anyhow::Context;
use futures::StreamExt;
use futures::future::BoxFuture;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::output;

/// Requests within this time are the same request.
const ONCE: Duration = Duration::from_secs(1);
/// All parts of a program together end within this time. Less, and writes to a slow server would be given up; more, and
/// supervisors, which wait ten seconds, would kill the process.
const LIMIT: Duration = Duration::from_secs(8);
/// More than the program needs to end after its parts and its last steps have used their time.
const MARGIN: Duration = Duration::from_millis(500);
/// For what a program does after its parts have ended, such as sending its last traces.
const LAST_STEPS: Duration = Duration::from_secs(1);

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

/// Runs a program to its end on a runtime of its own. Tasks that are left are not waited for: the process is about to end, and
/// they end with it.
pub(crate) fn block_on<T>(program: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let ended = runtime.block_on(program);
    // The hub computes on threads that a shutdown does not stop. A task whose computation ends after the shutdown would panic at
    // its next timer, and the log would say so.
    std::mem::forget(runtime);
    ended
}

/// SIGTERM and SIGINT, waited for from the moment this is made, so that none is missed.
///
/// A thread of its own waits for them. The threads of the program may all be busy, and with them what wakes the program when
/// a signal or a time has come; a program that does not end in time after it was told to is ended by that thread.
#[derive(Debug)]
pub(crate) struct Stop {
    requests: watch::Receiver<u64>,
    /// What ends a program that does not end by itself.
    end_anyway: fn(Duration),
}

impl Stop {
    pub(crate) fn new() -> anyhow::Result<Stop> {
        let kinds = vec![SignalKind::terminate(), SignalKind::interrupt()];
        Stop::on(kinds, end_anyway).context("cannot wait for SIGTERM and SIGINT")
    }

    fn on(kinds: Vec<SignalKind>, end_anyway: fn(Duration)) -> anyhow::Result<Stop> {
        let (sender, requests) = watch::channel(0);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let wait = move || {
            let waiting = async {
                let signals: std::io::Result<Vec<Signal>> = kinds.into_iter().map(signal).collect();
                match signals {
                    Ok(signals) => {
                        let _ = ready.send(Ok(()));
                        forward(signals, &sender, end_anyway).await;
                    }
                    Err(error) => drop(ready.send(Err(error))),
                }
            };
            let runtime = Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(waiting),
                // The receiver never gets the message that the thread is ready.
                Err(error) => tracing::error!("cannot start the runtime of the signals: {error}"),
            }
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(wait)?;
        is_ready.recv().context("its thread has ended")??;
        Ok(Stop { requests, end_anyway })
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
        // Also where nobody has asked for it, as after a failure.
        (self.end_anyway)(LIMIT + LAST_STEPS + MARGIN);
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
        if self.requests.changed().await.is_err() {
            // The thread lives as long as the process.
            std::future::pending().await
        }
    }
}

/// Passes signals on. The first one starts the time that the program has to end; a later one leaves it a moment.
async fn forward(signals: Vec<Signal>, requests: &watch::Sender<u64>, end_anyway: fn(Duration)) {
    let signals = signals
        .into_iter()
        .map(|signal| {
            futures::stream::unfold(signal, |mut signal| async {
                signal.recv().await.map(|()| ((), signal))
            })
        })
        .map(Box::pin);
    let mut signals = futures::stream::select_all(signals);
    let mut first = None;
    while signals.next().await.is_some() {
        requests.send_modify(|requests| *requests += 1);
        let now = Instant::now();
        match first {
            None => {
                first = Some(now);
                end_anyway(LIMIT + LAST_STEPS + MARGIN);
            }
            Some(first) if now.duration_since(first) > ONCE => end_anyway(LAST_STEPS + MARGIN),
            Some(_) => {}
        }
    }
}

/// Ends the process after this time, whatever it does. What is stored is whole at every moment.
fn end_anyway(after: Duration) {
    let end = move || {
        std::thread::sleep(after);
        output::remark("stopped without waiting: the program did not end in time\n");
        std::process::exit(1);
    };
    // Without it the program ends as its parts do.
    if let Err(error) = std::thread::Builder::new().name("end".to_owned()).spawn(end) {
        tracing::warn!("cannot start the thread that ends the program in time: {error}");
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

    use std::process::Command;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_signal_arrives_and_the_end_comes_while_every_thread_of_the_program_is_busy() {
        static ENDS: AtomicUsize = AtomicUsize::new(0);
        let count = |_: Duration| ENDS.store(1, Ordering::SeqCst);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (done, busy) = mpsc::channel::<()>();
        let (started, has_started) = mpsc::channel();
        runtime.spawn(async move {
            started.send(()).unwrap();
            // Ends when the test does.
            let _ = busy.recv();
        });
        has_started.recv().unwrap();
        runtime.block_on(async {
            let mut stop = Stop::on(vec![SignalKind::user_defined1()], count).unwrap();
            let own = std::process::id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-USR1", &own])
                    .status()
                    .unwrap()
                    .success()
            );
            stop.requested().await;
            // The end is arranged for before or after the request is passed on.
            while ENDS.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
        });
        drop(done);
    }

    /// Sends whether it is dropped by a panic.
    struct Witness(mpsc::Sender<bool>);

    impl Drop for Witness {
        fn drop(&mut self) {
            let _ = self.0.send(std::thread::panicking());
        }
    }

    #[test]
    fn a_computation_that_outlasts_the_program_does_not_panic_when_it_ends() {
        let (compute, computed) = mpsc::channel();
        let (sender, panicked) = mpsc::channel();
        let (started, mut has_started) = tokio::sync::mpsc::channel(1);
        block_on(async {
            tokio::spawn(async move {
                let _witness = Witness(sender);
                // As the hub computes what takes long.
                tokio::task::block_in_place(|| {
                    started.blocking_send(()).unwrap();
                    computed.recv().unwrap()
                });
                tokio::time::sleep(Duration::from_millis(1)).await;
            });
            has_started.recv().await.context("the task has ended")
        })
        .unwrap();
        compute.send(()).unwrap();
        assert_eq!(panicked.recv(), Ok(false));
    }

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
        assert!(start.elapsed() + LAST_STEPS < Duration::from_secs(10));
        assert_eq!(closing.try_recv(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn parts_of_which_none_ends_take_less_than_ten_seconds_together() {
        let start = Instant::now();
        let parts = ["a", "b", "c"].map(|name| Part::new(name, pending())).into();
        assert_eq!(end(parts).await, ["a", "b", "c"]);
        assert!(start.elapsed() + LAST_STEPS < Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn parts_that_end_are_not_mentioned() {
        let start = Instant::now();
        assert!(end(vec![Part::new("controllers", async {})]).await.is_empty());
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
