//! Computing for a work, which may take a part of a second: neither on the threads that serve probes, Leases and requests, nor
//! on more threads than a part of the processors.

use std::sync::LazyLock;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// How much is computed at once by all agents of the process: one processor stays for everything else.
static PLACES: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Semaphore::new(processors.saturating_sub(1).clamp(1, 4))
});

/// Computes something. The thread that does it is none of the runtime's meanwhile: another one takes its place.
pub(super) async fn computing<T>(compute: impl FnOnce() -> T) -> T {
    // It is never closed.
    let _place = PLACES.acquire().await;
    match Handle::current().runtime_flavor() {
        // There is no other thread.
        RuntimeFlavor::CurrentThread => compute(),
        _ => tokio::task::block_in_place(compute),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// For a runtime that does not go on.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

    #[test]
    fn a_runtime_goes_on_while_something_is_computed() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (answer, answered) = mpsc::channel();
        runtime.block_on(async {
            let computed = tokio::spawn(computing(move || answered.recv_timeout(PATIENCE).unwrap()));
            // The runtime has one thread, and this needs it.
            tokio::spawn(async move { answer.send(7).unwrap() })
                .await
                .unwrap();
            assert_eq!(computed.await.unwrap(), 7);
        });
    }
}
