//! The hub's own tasks, by name. A task that panics, ends early or stands still is noticed: probes fail from then on, and
//! whoever runs the hub is told ([`crate::Hub::failed`]).
//!
//! A task that waits counts a turn every [`LONGEST_WAIT`]; one that blocks its thread counts none. A loop that has steps of
//! its own counts them with [`Turns`] as well, so that a step that never ends is noticed.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A task waits no longer than this before it counts a turn.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// A loop that has not turned for so long stands still. Less, and a slow disk ends the hub.
const LIMIT: Duration = Duration::from_secs(60);
/// How often turns are compared.
const TICK: Duration = Duration::from_secs(5);

/// What is known of the tasks of one hub.
#[derive(Debug)]
pub(crate) struct Supervision {
    loops: Mutex<Vec<Weak<Count>>>,
    failure: watch::Sender<Option<String>>,
    stopping: watch::Receiver<bool>,
}

/// The turns of one loop. Dropping it ends the supervision of the loop.
#[derive(Debug)]
pub(crate) struct Turns(Arc<Count>);

#[derive(Debug)]
struct Count {
    name: &'static str,
    turns: AtomicU64,
    /// The turns at the last comparison, and how long they have been so.
    compared: Mutex<(u64, Duration)>,
}

impl Turns {
    /// Counts a turn.
    pub(crate) fn turn(&self) {
        self.0.turns.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> u64 {
        self.0.turns.load(Ordering::Relaxed)
    }
}

impl Supervision {
    /// Supervises until the hub stops.
    pub(crate) fn new(stopping: watch::Receiver<bool>) -> Arc<Supervision> {
        Arc::new(Supervision {
            loops: Mutex::default(),
            failure: watch::Sender::new(None),
            stopping,
        })
    }

    /// Starts a task that runs until the hub stops. Its result, unless it panicked.
    pub(crate) fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        name: &'static str,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let (supervision, turns) = (self.clone(), self.turns(name));
        tokio::spawn(async move {
            match AssertUnwindSafe(attended(turns, task)).catch_unwind().await {
                Ok(result) => {
                    supervision.report(format!("the task {name} of the hub ended early"));
                    Some(result)
                }
                Err(panic) => {
                    supervision.report(format!("the task {name} of the hub panicked: {}", said(&*panic)));
                    None
                }
            }
        })
    }

    /// Registers a loop, which then has to turn at least every [`LONGEST_WAIT`].
    pub(crate) fn turns(&self, name: &'static str) -> Turns {
        let count = Arc::new(Count {
            name,
            turns: AtomicU64::default(),
            compared: Mutex::default(),
        });
        let mut loops = self.loops.lock().unwrap_or_else(PoisonError::into_inner);
        loops.push(Arc::downgrade(&count));
        Turns(count)
    }

    /// Compares turns until the hub stops, on a thread of its own: the threads of the hub may be the ones that stand still.
    pub(crate) fn watch(self: &Arc<Self>) {
        watchdogs().spawn(self.clone().watching());
    }

    async fn watching(self: Arc<Self>) {
        let (mut stopping, mut last) = (self.stopping.clone(), Instant::now());
        loop {
            tokio::select! {
                _ = stopping.wait_for(|stopping| *stopping) => return,
                () = tokio::time::sleep(TICK) => {}
            }
            let now = Instant::now();
            self.compare(now.duration_since(last));
            last = now;
        }
    }

    /// Compares turns after `passed`. A process that was paused as a whole compares late, and its loops had no time either: a
    /// late comparison counts as two ticks at most.
    fn compare(&self, passed: Duration) {
        let passed = passed.min(2 * TICK);
        let mut loops = self.loops.lock().unwrap_or_else(PoisonError::into_inner);
        loops.retain(|count| count.strong_count() > 0);
        for count in loops.iter().filter_map(Weak::upgrade) {
            let turns = count.turns.load(Ordering::Relaxed);
            let mut compared = count.compared.lock().unwrap_or_else(PoisonError::into_inner);
            *compared = match *compared {
                (before, quiet) if before == turns => (turns, quiet + passed),
                _ => (turns, Duration::ZERO),
            };
            if compared.1 >= LIMIT {
                let (name, limit) = (count.name, LIMIT.as_secs());
                self.report(format!(
                    "the loop {name} of the hub has not turned for {limit} seconds"
                ));
            }
        }
    }

    fn report(&self, failure: String) {
        if *self.stopping.borrow() {
            return;
        }
        self.failure.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert(failure);
            is_first
        });
    }

    /// The first failure, if there was one.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.borrow().clone()
    }

    /// Waits for the first failure.
    pub(crate) async fn failed(&self) -> String {
        let mut failure = self.failure.subscribe();
        let failed = failure.wait_for(Option::is_some).await;
        match failed.ok().and_then(|failed| failed.clone()) {
            Some(failure) => failure,
            // The sender lives as long as `self`.
            None => std::future::pending().await,
        }
    }
}

/// The runtime of the watchdogs of all hubs of the process, which runs nothing else. Where there can be none, they share that of
/// the hub.
fn watchdogs() -> Handle {
    static WATCHDOGS: LazyLock<Option<Handle>> = LazyLock::new(|| {
        let runtime = Builder::new_current_thread().enable_time().build().ok()?;
        let handle = runtime.handle().clone();
        let run = move || runtime.block_on(std::future::pending::<()>());
        let thread = std::thread::Builder::new()
            .name("hub-watchdog".to_owned())
            .spawn(run);
        thread.is_ok().then_some(handle)
    });
    WATCHDOGS.clone().unwrap_or_else(Handle::current)
}

/// Counts turns while a task waits.
async fn attended<T>(turns: Turns, task: impl Future<Output = T>) -> T {
    let mut task = pin!(task);
    loop {
        if let Ok(result) = tokio::time::timeout(LONGEST_WAIT, &mut task).await {
            return result;
        }
        turns.turn();
    }
}

/// The text of a panic.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    fn supervision() -> (watch::Sender<bool>, Arc<Supervision>) {
        let (stop, stopping) = watch::channel(false);
        (stop, Supervision::new(stopping))
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_or_ends_is_named_unless_the_hub_stops() {
        let (_stop, tasks) = supervision();
        tasks.spawn("events", pending::<()>());
        assert_eq!(tasks.spawn("janitor", async { 1 }).await.unwrap(), Some(1));
        assert_eq!(tasks.failed().await, "the task janitor of the hub ended early");
        let (_stop, tasks) = supervision();
        let panicked = tasks.spawn::<()>("janitor", async { panic!("no index") }).await;
        assert_eq!(panicked.unwrap(), None);
        assert_eq!(
            tasks.failed().await,
            "the task janitor of the hub panicked: no index"
        );
        let (stop, tasks) = supervision();
        stop.send_replace(true);
        tasks.spawn("janitor", async {}).await.unwrap();
        assert_eq!(tasks.failure(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_stands_still_is_named_and_one_that_waits_is_not() {
        let (_stop, tasks) = supervision();
        tokio::spawn(tasks.clone().watching());
        tasks.spawn("events", pending::<()>());
        let turns = tasks.turns("janitor");
        for _ in 0..10 {
            tokio::time::sleep(LONGEST_WAIT).await;
            turns.turn();
        }
        assert_eq!(tasks.failure(), None);
        let failure = tasks.failed().await;
        assert_eq!(
            failure,
            "the loop janitor of the hub has not turned for 60 seconds"
        );
    }

    #[test]
    fn a_process_that_was_paused_as_a_whole_has_no_loop_that_stands_still() {
        let (_stop, tasks) = supervision();
        let _turns = tasks.turns("janitor");
        tasks.compare(TICK);
        tasks.compare(Duration::from_secs(3600));
        assert_eq!(tasks.failure(), None);
    }
}
