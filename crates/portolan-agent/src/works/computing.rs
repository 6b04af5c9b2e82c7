//! Computing for a work, which may take a part of a second: neither on the threads that serve probes, Leases and requests, nor
//! on more threads than a part of the processors.

use std::sync::{Arc, LazyLock};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// How much is computed at once by all agents of the process: one processor stays for everything else.
static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(places())));

fn places() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.saturating_sub(1).clamp(1, 4)
}

/// What one agent computes. Those who wait for a place get it in the order in which they came, and an agent has no more of them in
/// that line than there are places: before something of one agent is computed, each other agent has a turn at each place, however
/// many works it has to think about.
#[derive(Debug)]
pub(super) struct Computing {
    line: Semaphore,
    places: Arc<Semaphore>,
}

impl Computing {
    /// Beside all other agents of the process.
    pub(super) fn of_process() -> Computing {
        Computing::beside(PLACES.clone(), places())
    }

    /// Beside all others who have these places, of which there are so many.
    fn beside(places: Arc<Semaphore>, count: usize) -> Computing {
        Computing {
            line: Semaphore::new(count),
            places,
        }
    }

    /// Computes something. The thread that does it is none of the runtime's meanwhile: another one takes its place.
    pub(super) async fn compute<T>(&self, compute: impl FnOnce() -> T) -> T {
        // They are never closed.
        let _turn = self.line.acquire().await;
        let _place = self.places.acquire().await;
        match Handle::current().runtime_flavor() {
            // There is no other thread.
            RuntimeFlavor::CurrentThread => compute(),
            _ => tokio::task::block_in_place(compute),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;

    /// For a runtime that does not go on.
    const STUCK_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);

    #[test]
    fn a_runtime_goes_on_while_something_is_computed() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (answer, answered) = mpsc::channel();
        runtime.block_on(async {
            let computed = tokio::spawn(async move {
                let computing = Computing::of_process();
                computing
                    .compute(move || answered.recv_timeout(STUCK_TIMEOUT).unwrap())
                    .await
            });
            // The runtime has one thread, and this needs it.
            tokio::spawn(async move { answer.send(7).unwrap() })
                .await
                .unwrap();
            assert_eq!(computed.await.unwrap(), 7);
        });
    }

    #[tokio::test]
    async fn an_agent_with_one_work_waits_for_one_turn_of_an_agent_with_many() {
        let places = Arc::new(Semaphore::new(1));
        let busy = Computing::beside(places.clone(), 1);
        let other = Computing::beside(places.clone(), 1);
        let order = Mutex::new(Vec::new());
        let taken = places.acquire().await.unwrap();
        let say = |who: &'static str| order.lock().unwrap().push(who);
        tokio::join!(
            // In this order they begin to wait.
            async {
                let all = (0..5).map(|_| busy.compute(|| say("busy")));
                futures::future::join_all(all).await;
            },
            other.compute(|| say("other")),
            async { drop(taken) },
        );
        let order = order.into_inner().unwrap();
        assert_eq!(order, ["busy", "other", "busy", "busy", "busy", "busy"]);
    }
}
