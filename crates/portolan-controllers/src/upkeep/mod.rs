//! What keepers of objects share: a queue, a loop, and how errors and versions are read.
//!
//! A keeper is a pure state machine ([`Keeper`]) that hears what is there and says what to write; [`keep`] is the
//! loop that listens for it, carries its writes out in parallel and tells it how they ended. Nothing here knows what
//! is kept.

mod conditions;
#[cfg(test)]
pub(crate) mod fake;
mod membership;
mod pace;
mod queue;
mod version;

use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub(crate) use conditions::{Wanted, with_condition};
pub(crate) use membership::{Labels, Membership};
pub(crate) use pace::{Pace, creating, patching};
pub(crate) use queue::{Decision, Queue, backoff};
pub(crate) use version::Version;

pub(crate) use crate::request::Failure;
use crate::sabotage;
use crate::tasks::LONGEST_WAIT;
use crate::watch::Delta;

/// How many messages are handled before it is asked again what is due: enough to take a whole list in a few rounds,
/// few enough that writes start while it is still coming in.
const BATCH: usize = 1024;

/// Decides what to write; does nothing itself.
pub(crate) trait Keeper {
    /// Names its loop where it is said that the loop died or stands still.
    const NAME: &'static str;
    /// What it hears: what watches say, and how its writes ended.
    type Input: Send + 'static;
    /// What it wants done.
    type Write: Send + 'static;

    /// Takes note.
    fn handle(&mut self, input: Self::Input);

    /// What is to be done now, `room` things at most. What is returned counts as under way until it is heard of.
    fn due(&mut self, now: Timestamp, room: usize) -> Vec<Self::Write>;

    /// When something may become due without anything being heard.
    fn next_due(&self) -> Option<Timestamp>;
}

/// Runs a keeper until nobody sends to `inputs` any more; writes under way are then waited for.
pub(crate) async fn keep<K, F>(
    mut keeper: K,
    mut inputs: mpsc::Receiver<K::Input>,
    pace: Pace,
    carry_out: impl Fn(K::Write) -> F,
) where
    K: Keeper,
    F: Future<Output = K::Input> + Send + 'static,
{
    let turns = pace.tasks.turns(K::NAME);
    let mut under_way = JoinSet::new();
    loop {
        turns.turn();
        sabotage::at_turn(K::NAME).await;
        let now = pace.clock.now();
        let room = pace.parallel.saturating_sub(under_way.len());
        for write in keeper.due(now, room) {
            let write = carry_out(write);
            under_way.spawn(async move {
                sabotage::at_write(K::NAME);
                write.await
            });
        }
        // With no room left only the end of a write can change anything.
        let pause = match keeper.next_due() {
            Some(at) if under_way.len() < pace.parallel => until(now, at).min(LONGEST_WAIT),
            _ => LONGEST_WAIT,
        };
        tokio::select! {
            input = inputs.recv() => {
                let Some(input) = input else { break };
                keeper.handle(input);
                for _ in 1..BATCH {
                    let Ok(input) = inputs.try_recv() else { break };
                    keeper.handle(input);
                }
            }
            Some(ended) = under_way.join_next(), if !under_way.is_empty() => hear(&mut keeper, ended),
            () = tokio::time::sleep(pause) => {}
        }
        while let Some(ended) = under_way.try_join_next() {
            hear(&mut keeper, ended);
        }
    }
    while let Some(ended) = under_way.join_next().await {
        hear(&mut keeper, ended);
    }
}

fn hear<K: Keeper>(keeper: &mut K, ended: Result<K::Input, tokio::task::JoinError>) {
    match ended {
        Ok(input) => keeper.handle(input),
        // A task ends early only when the runtime does, or by a panic, which is passed on: what the keeper believes to be
        // under way would stay so for ever. The end of the loop is noticed and ends the process ([`crate::tasks`]).
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => {}
    }
}

/// Never zero: a timer that is a little early would otherwise spin.
fn until(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now))
        .unwrap_or_default()
        .max(Duration::from_millis(1))
}

/// How much of a kind is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// Not all of it, yet or again.
    #[default]
    Partial,
    /// All of it.
    Complete,
    /// The server does not have the kind.
    Unserved,
}

impl Knowledge {
    /// What is known after a delta of the kind.
    pub(crate) fn after<T>(&mut self, delta: &Delta<T>) {
        *self = match delta {
            Delta::Applied(_) | Delta::Deleted(_) | Delta::Held(_) | Delta::Founded(_) => return,
            Delta::Listing => Knowledge::Partial,
            Delta::Synced => Knowledge::Complete,
            Delta::Unserved => Knowledge::Unserved,
        };
    }

    pub(crate) fn is_complete(self) -> bool {
        self == Knowledge::Complete
    }
}
