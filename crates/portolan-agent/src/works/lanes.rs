//! How many works are dealt with side by side. A work whose objects take long, because a webhook of the member cluster does not answer
//! for example, goes on beside the others and takes nobody's turn.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Works that are dealt with side by side.
const AT_ONCE: usize = 8;
/// How long a work may take before it counts as slow. Longer, and the next works wait longer for slow ones; shorter, and a large work
/// would count as slow where nothing is.
const SLOW_AFTER: Duration = Duration::from_secs(3);
/// Slow works beside the others. More would fill the memory with what they hold; they are as many as wait for one answer each.
const SLOW_AT_ONCE: usize = 256;

/// The turns of works. They are common to all works, whatever the executor or the namespace of a work is: the works of one executor
/// whose objects are slow may take all slow turns, and then also usual ones until a request of theirs times out.
#[derive(Debug)]
pub(super) struct Lanes {
    usual: Semaphore,
    slow: Semaphore,
}

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes {
            usual: Semaphore::new(AT_ONCE),
            slow: Semaphore::new(SLOW_AT_ONCE),
        }
    }
}

impl Lanes {
    /// Waits for a turn, and does something in it.
    pub(super) async fn in_turn<T>(&self, work: impl Future<Output = T>) -> T {
        // The semaphores are never closed.
        let turn = self.usual.acquire().await;
        let mut work = pin!(work);
        if let Ok(done) = timeout(SLOW_AFTER, &mut work).await {
            return done;
        }
        // Where too many are slow, it keeps its turn.
        let slow = self.slow.try_acquire();
        let kept = turn.ok().filter(|_| slow.is_err());
        let done = work.await;
        drop((kept, slow));
        done
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::{Instant, sleep};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// Starts so many works that take an hour.
    fn start(lanes: &Arc<Lanes>, works: usize) {
        for _ in 0..works {
            let lanes = lanes.clone();
            tokio::spawn(async move { lanes.in_turn(sleep(HOUR)).await });
        }
    }

    /// How long another work waits.
    async fn waits(lanes: &Lanes) -> Duration {
        let from = Instant::now();
        tokio::task::yield_now().await;
        lanes.in_turn(async { from.elapsed() }).await
    }

    #[tokio::test(start_paused = true)]
    async fn slow_works_do_not_hold_up_the_others() {
        let lanes = Arc::new(Lanes::default());
        assert_eq!(waits(&lanes).await, Duration::ZERO);
        start(&lanes, AT_ONCE);
        assert_eq!(waits(&lanes).await, SLOW_AFTER);
        assert_eq!(waits(&lanes).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_works_are_dealt_with_at_once_than_there_is_room_for() {
        let lanes = Arc::new(Lanes::default());
        start(&lanes, SLOW_AT_ONCE + AT_ONCE);
        // Until all of them have begun.
        sleep(HOUR / 2).await;
        let waited = waits(&lanes).await;
        assert!(waited >= HOUR / 4, "{waited:?}");
    }
}
