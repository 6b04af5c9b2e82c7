//! Parts that reconcilers share: a queue, a loop, and how errors and versions are read.
//!
//! A reconciler is a pure state machine ([`Reconciler`]) that hears what is there and says what to write; [`run`] is the
//! loop that listens for it, carries its writes out in parallel and tells it how they ended. Nothing here knows what
//! is kept.

mod conditions;
mod context;
#[cfg(test)]
pub(crate) mod fake;
mod membership;
mod queue;
mod version;

use std::future::Future;
use std::time::Duration;

use portolan_runtime::tasks::LONGEST_WAIT;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub(crate) use conditions::{WantedCondition, with_condition};
pub(crate) use context::{RequestContext, creating, patching};
pub(crate) use membership::{Labels, Membership};
pub(crate) use queue::{Action, Queue, backoff};
pub(crate) use version::Version;

use crate::moment::Moment;
pub(crate) use crate::request::Failure;
use crate::sabotage;

/// How many messages are handled before it is asked again what is due: enough to take a whole list in a few rounds,
/// few enough that writes start while it is still coming in.
const BATCH: usize = 1024;

/// Decides what to write; does nothing itself.
pub(crate) trait Reconciler {
    /// Names its loop where it is said that the loop died or stands still.
    const NAME: &'static str;
    /// What it hears: what watches say, and how its writes ended.
    type Input: Send + 'static;
    /// What it wants done.
    type Write: Send + 'static;

    /// Takes note.
    fn handle(&mut self, input: Self::Input);

    /// The loop turned so much later than it was to: the process was paused, and heard nothing meanwhile.
    fn paused(&mut self, _now: Instant, _late: Duration) {}

    /// What is to be done now, `room` things at most. What is returned counts as under way until it is heard of.
    fn due(&mut self, now: Moment, room: usize) -> Vec<Self::Write>;

    /// When something may become due without anything being heard.
    fn next_due(&self) -> Option<Instant>;
}

/// Runs a reconciler until nobody sends to `inputs` any more; writes under way are then waited for.
pub(crate) async fn run<K, F>(
    mut reconciler: K,
    mut inputs: mpsc::Receiver<K::Input>,
    context: RequestContext,
    carry_out: impl Fn(K::Write) -> F,
) where
    K: Reconciler,
    F: Future<Output = K::Input> + Send + 'static,
{
    let turns = context.tasks.turns(K::NAME);
    let mut under_way = JoinSet::new();
    let mut planned: Option<Instant> = None;
    loop {
        turns.turn();
        sabotage::at_turn(K::NAME).await;
        let now = Moment::now(&context.clock);
        let late = planned.map_or(Duration::ZERO, |planned| {
            now.instant.saturating_duration_since(planned)
        });
        if !late.is_zero() {
            reconciler.paused(now.instant, late);
        }
        let room = context.parallel.saturating_sub(under_way.len());
        for write in reconciler.due(now, room) {
            let write = carry_out(write);
            under_way.spawn(async move {
                sabotage::at_write(K::NAME);
                write.await
            });
        }
        // With no room left only the end of a write can change anything.
        let pause = match reconciler.next_due() {
            Some(at) if under_way.len() < context.parallel => until(now.instant, at).min(LONGEST_WAIT),
            _ => LONGEST_WAIT,
        };
        planned = Some(now.instant + pause);
        tokio::select! {
            input = inputs.recv() => {
                let Some(input) = input else { break };
                reconciler.handle(input);
                for _ in 1..BATCH {
                    let Ok(input) = inputs.try_recv() else { break };
                    // Each is a turn: many large objects at once do not look like a loop that stands still.
                    turns.turn();
                    reconciler.handle(input);
                }
            }
            Some(ended) = under_way.join_next(), if !under_way.is_empty() => hear(&mut reconciler, ended),
            () = tokio::time::sleep(pause) => {}
        }
        while let Some(ended) = under_way.try_join_next() {
            hear(&mut reconciler, ended);
        }
    }
    while let Some(ended) = under_way.join_next().await {
        hear(&mut reconciler, ended);
    }
}

fn hear<K: Reconciler>(reconciler: &mut K, ended: Result<K::Input, tokio::task::JoinError>) {
    match ended {
        Ok(input) => reconciler.handle(input),
        // A task ends early only when the runtime does, or by a panic, which is passed on: what the reconciler believes to be
        // under way would stay so for ever. The end of the loop is noticed and ends the process ([`crate::tasks`]).
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => {}
    }
}

/// Never zero: a timer that is a little early would otherwise spin.
fn until(now: Instant, at: Instant) -> Duration {
    at.saturating_duration_since(now).max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

    use jiff::Timestamp;
    use portolan_runtime::Clock;

    use super::*;
    use crate::sabotage::{Fault, set_fault};
    use crate::settings::Settings;

    /// Writes one thing, and again whenever that failed. Counts pauses.
    struct Stubborn(Queue<()>, Arc<AtomicUsize>);

    impl Reconciler for Stubborn {
        const NAME: &'static str = "stubborn";
        type Input = Instant;
        type Write = ();

        fn handle(&mut self, at: Instant) {
            self.0.failed(&(), at);
        }

        fn paused(&mut self, _now: Instant, late: Duration) {
            self.1
                .fetch_add(usize::from(late >= Duration::from_secs(6)), Ordering::SeqCst);
        }

        fn due(&mut self, now: Moment, room: usize) -> Vec<()> {
            self.0.poll(now.instant, room, |()| Action::Write(()))
        }

        fn next_due(&self) -> Option<Instant> {
            self.0.next()
        }
    }

    fn stubborn() -> Stubborn {
        let mut queue = Queue::new(Duration::from_secs(1));
        queue.enqueue(());
        Stubborn(queue, Arc::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_ends_although_the_wall_clock_is_set_back_in_the_middle_of_it() {
        let (wall, tries) = (Arc::new(AtomicI64::new(10_000)), Arc::new(AtomicUsize::new(0)));
        let (shown, counted) = (wall.clone(), tries.clone());
        let clock = Clock::new(move || Timestamp::from_second(shown.load(Ordering::SeqCst)).unwrap());
        let context = fake::live::context(&Settings::new(clock));
        let (sender, inputs) = mpsc::channel(1);
        let kept = tokio::spawn(run(stubborn(), inputs, context, move |()| {
            counted.fetch_add(1, Ordering::SeqCst);
            wall.fetch_sub(3600, Ordering::SeqCst);
            async { Instant::now() }
        }));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(tries.load(Ordering::SeqCst) > 50, "{tries:?}");
        drop(sender);
        kept.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_was_paused_is_told_apart_from_one_that_waits() {
        let context = fake::live::context(&Settings::new(Clock::new(|| Timestamp::UNIX_EPOCH)));
        let (_sender, inputs) = mpsc::channel(1);
        let idle = Stubborn(Queue::new(Duration::from_secs(1)), Arc::default());
        let pauses = idle.1.clone();
        tokio::spawn(run(idle, inputs, context, |()| async { Instant::now() }));
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(pauses.load(Ordering::SeqCst), 0);
        // No task runs while the clock is moved: less than a minute is enough.
        tokio::time::advance(Duration::from_secs(26)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(pauses.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_panics_ends_its_loop_and_is_named() {
        let context = fake::live::context(&Settings::new(Clock::new(|| Timestamp::UNIX_EPOCH)));
        let tasks = context.tasks.clone();
        let (_sender, inputs) = mpsc::channel(1);
        set_fault(Stubborn::NAME, Fault::WritePanics);
        tasks.spawn(
            Stubborn::NAME,
            run(stubborn(), inputs, context, |()| async { Instant::now() }),
        );
        assert_eq!(
            tasks.failed().await,
            "the task stubborn panicked: as the test asked"
        );
    }
}
