//! The tasks of a process part, by name. A task that panics, ends early or stands still is noticed and named.
//!
//! [`Tasks::spawn`] starts a task and reports its end. A loop also counts its turns ([`Turns`]); a watchdog compares the
//! counts every few seconds and reports a loop that has not turned for a minute. A loop that waits for events wakes at
//! least every [`LONGEST_WAIT`] to count a turn, so a loop without events still turns. The first report is kept: probes
//! fail from then on ([`Tasks::failure`]), and the process ends with it ([`Tasks::failed`]).

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::Instrument;

/// A loop waits no longer than this before it counts a turn. A longer wait comes close to `LIMIT`; a shorter one wakes
/// an idle process more often.
pub const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// A loop that has not turned for so long stands still. Less, and a large evaluation on a slow machine ends the process.
const LIMIT: Duration = Duration::from_secs(60);
/// How often the watchdog compares.
const TICK: Duration = Duration::from_secs(5);
/// An early end is reported after this wait: the end may be the consequence of a panic elsewhere, which is reported
/// first.
const AFTERMATH: Duration = Duration::from_millis(100);

/// The tasks of the controllers or of an agent. All clones share one list.
#[derive(Clone, Debug)]
pub struct Tasks(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    loops: Mutex<Vec<Weak<Count>>>,
    numbers: AtomicU64,
    failure: watch::Sender<Option<String>>,
    stopping: AtomicBool,
}

/// The turns of one loop. Dropping it ends the supervision of the loop.
#[derive(Debug)]
pub struct Turns(Arc<Count>);

#[derive(Debug)]
struct Count {
    number: u64,
    name: String,
    turns: AtomicU64,
}

impl Default for Tasks {
    fn default() -> Tasks {
        Tasks(Arc::new(Shared {
            loops: Mutex::default(),
            numbers: AtomicU64::default(),
            failure: watch::Sender::new(None),
            stopping: AtomicBool::new(false),
        }))
    }
}

impl Tasks {
    /// Starts a task that runs until [`Tasks::stopping`]. Its end before that is a failure.
    pub fn spawn(
        &self,
        name: impl Into<String>,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        self.supervise(name.into(), task, true)
    }

    /// Starts a task that may end when its work is done. Only a panic is a failure.
    pub fn spawn_finite(
        &self,
        name: impl Into<String>,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        self.supervise(name.into(), task, false)
    }

    fn supervise(
        &self,
        name: String,
        task: impl Future<Output = ()> + Send + 'static,
        is_endless: bool,
    ) -> JoinHandle<()> {
        let tasks = self.clone();
        let turns = self.turns(&name);
        let supervised = async move {
            let task = AssertUnwindSafe(attended(turns, task)).catch_unwind();
            match task.await {
                Err(panic) => tasks.report(format!("the task {name} panicked: {}", said(&*panic))),
                Ok(()) if is_endless => {
                    tokio::time::sleep(AFTERMATH).await;
                    tasks.report(format!("the task {name} ended early"));
                }
                Ok(()) => {}
            }
        };
        // Several agents can be in one process, and only the span around the start says in the log which one it is.
        tokio::spawn(supervised.in_current_span())
    }

    /// Registers a loop. It must call [`Turns::turn`] each time around, and wait no longer than [`LONGEST_WAIT`] in
    /// between.
    pub fn turns(&self, name: &str) -> Turns {
        let count = Arc::new(Count {
            number: self.0.numbers.fetch_add(1, Ordering::Relaxed),
            name: name.to_owned(),
            turns: AtomicU64::default(),
        });
        let mut loops = self.0.loops.lock().unwrap_or_else(PoisonError::into_inner);
        loops.retain(|known| known.strong_count() > 0);
        loops.push(Arc::downgrade(&count));
        Turns(count)
    }

    /// Starts the watchdog, on a thread of its own: the threads of the tasks may be the ones that stand still. It ends when
    /// nothing else holds these tasks.
    pub fn watch(&self) -> JoinHandle<()> {
        self.watch_on(&watchdogs())
    }

    /// Starts the watchdog among the tasks of a runtime. Only tests want that: they turn the clock of their own runtime.
    pub fn watch_on(&self, runtime: &Handle) -> JoinHandle<()> {
        runtime.spawn(self.watching().in_current_span())
    }

    fn watching(&self) -> impl Future<Output = ()> + Send + use<> {
        let tasks = Arc::downgrade(&self.0);
        async move {
            let mut watchdog = Watchdog::default();
            let mut last = Instant::now();
            loop {
                tokio::time::sleep(TICK).await;
                let Some(tasks) = tasks.upgrade().map(Tasks) else {
                    return;
                };
                let now = Instant::now();
                let standing = watchdog.compare(&tasks.loops(), now.duration_since(last));
                last = now;
                if let Some(name) = standing {
                    tasks.report(format!(
                        "the loop {name} has not turned for {} seconds",
                        LIMIT.as_secs()
                    ));
                }
            }
        }
    }

    fn loops(&self) -> Vec<Arc<Count>> {
        let loops = self.0.loops.lock().unwrap_or_else(PoisonError::into_inner);
        loops.iter().filter_map(Weak::upgrade).collect()
    }

    /// From now on the end of a task is no failure.
    pub fn stopping(&self) {
        self.0.stopping.store(true, Ordering::SeqCst);
    }

    fn report(&self, failure: String) {
        if self.0.stopping.load(Ordering::SeqCst) {
            return;
        }
        self.0.failure.send_if_modified(|first| {
            let is_first = first.is_none();
            if is_first {
                tracing::error!("{failure}");
                *first = Some(failure);
            }
            is_first
        });
    }

    /// The first failure, if there was one.
    pub fn failure(&self) -> Option<String> {
        self.0.failure.borrow().clone()
    }

    /// Waits for the first failure and returns it.
    pub async fn failed(&self) -> String {
        let mut failure = self.0.failure.subscribe();
        let failed = failure.wait_for(Option::is_some).await;
        let failed = failed.ok().and_then(|failed| failed.clone());
        match failed {
            Some(failure) => failure,
            // The sender lives as long as `self`.
            None => std::future::pending().await,
        }
    }
}

impl Turns {
    /// Counts a turn.
    pub fn turn(&self) {
        self.0.turns.fetch_add(1, Ordering::Relaxed);
    }
}

/// The runtime of all watchdogs of the process, which runs nothing else. Where there can be none, they share that of the tasks.
fn watchdogs() -> Handle {
    static WATCHDOGS: LazyLock<Option<Handle>> = LazyLock::new(|| {
        let runtime = Builder::new_current_thread().enable_time().build().ok()?;
        let handle = runtime.handle().clone();
        let run = move || runtime.block_on(std::future::pending::<()>());
        let thread = std::thread::Builder::new().name("watchdog".to_owned()).spawn(run);
        thread.is_ok().then_some(handle)
    });
    WATCHDOGS.clone().unwrap_or_else(Handle::current)
}

/// Counts turns while a task waits. A task that blocks its thread counts none.
async fn attended(turns: Turns, task: impl Future<Output = ()>) {
    let mut task = pin!(task);
    while tokio::time::timeout(LONGEST_WAIT, &mut task).await.is_err() {
        turns.turn();
    }
}

/// The text of a panic.
fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

/// Finds loops that stand still.
#[derive(Debug, Default)]
struct Watchdog {
    /// By number of the loop: the turns at the last comparison, and how long they have been so.
    known: HashMap<u64, (u64, Duration)>,
}

impl Watchdog {
    /// Compares the counts after `passed`. The name of a loop that stands still.
    ///
    /// A process that was paused as a whole compares late, and its loops had no time either: a late comparison counts as
    /// two ticks at most.
    fn compare(&mut self, loops: &[Arc<Count>], passed: Duration) -> Option<String> {
        let passed = passed.min(2 * TICK);
        let mut standing = None;
        let compared = loops.iter().map(|count| {
            let turns = count.turns.load(Ordering::Relaxed);
            let quiet = match self.known.get(&count.number) {
                Some((before, quiet)) if *before == turns => *quiet + passed,
                _ => Duration::ZERO,
            };
            if quiet >= LIMIT {
                standing.get_or_insert_with(|| count.name.clone());
            }
            (count.number, (turns, quiet))
        });
        self.known = compared.collect();
        standing
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_is_named_with_what_it_said() {
        let tasks = Tasks::default();
        tasks.spawn("watch of leases", pending());
        tasks.spawn_finite("write", async { panic!("the answer is {}", 42) });
        assert_eq!(tasks.failed().await, "the task write panicked: the answer is 42");
        assert!(tasks.failure().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_reported_before_the_ends_that_follow_from_it() {
        let tasks = Tasks::default();
        let (sender, mut receiver) = tokio::sync::mpsc::channel::<()>(1);
        tasks.spawn("watch", async move { sender.closed().await });
        tasks.spawn("placements", async move {
            receiver.try_recv().unwrap();
        });
        assert!(tasks.failed().await.starts_with("the task placements panicked: "));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_ends_is_a_failure_unless_it_may_or_all_are_stopping() {
        let tasks = Tasks::default();
        tasks.spawn_finite("fields", async {}).await.unwrap();
        assert_eq!(tasks.failure(), None);
        tasks.spawn("events", async {}).await.unwrap();
        assert_eq!(tasks.failure().unwrap(), "the task events ended early");
        let tasks = Tasks::default();
        tasks.stopping();
        tasks.spawn("events", async {}).await.unwrap();
        assert_eq!(tasks.failure(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_stands_still_for_a_minute_is_named_and_one_that_waits_is_not() {
        let tasks = Tasks::default();
        tokio::spawn(tasks.watching());
        tasks.spawn("watch that waits", pending());
        let (turning, standing) = (tasks.turns("placements"), tasks.turns("works"));
        for _ in 0..10 {
            tokio::time::sleep(LONGEST_WAIT).await;
            turning.turn();
            standing.turn();
        }
        assert_eq!(tasks.failure(), None);
        for _ in 0..10 {
            tokio::time::sleep(LONGEST_WAIT).await;
            turning.turn();
        }
        let failure = tasks.failure().unwrap();
        assert_eq!(failure, "the loop works has not turned for 60 seconds");
        assert_eq!(tasks.failed().await, failure);
    }

    #[test]
    fn a_watchdog_needs_no_thread_of_the_tasks() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let tasks = Tasks::default();
        let (waking, woken) = std::sync::mpsc::channel();
        // The only thread of the runtime waits for what the watchdog's does.
        runtime.block_on(async {
            let watchdog = watchdogs().spawn(tasks.watching());
            watchdogs().spawn(async move { waking.send(()) });
            woken.recv_timeout(LIMIT).unwrap();
            assert!(!watchdog.is_finished());
        });
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_is_over_is_not_supervised() {
        let tasks = Tasks::default();
        tokio::spawn(tasks.watching());
        drop(tasks.turns("works"));
        tasks.spawn("watch", pending()).abort();
        tokio::time::sleep(10 * LIMIT).await;
        assert_eq!(tasks.failure(), None);
    }

    #[test]
    fn a_process_that_was_paused_as_a_whole_has_no_loop_that_stands_still() {
        let tasks = Tasks::default();
        let _turns = tasks.turns("placements");
        let mut watchdog = Watchdog::default();
        assert_eq!(watchdog.compare(&tasks.loops(), TICK), None);
        assert_eq!(watchdog.compare(&tasks.loops(), Duration::from_secs(3600)), None);
        let standing = (0..12).find_map(|_| watchdog.compare(&tasks.loops(), TICK));
        assert_eq!(standing.as_deref(), Some("placements"));
    }
}
