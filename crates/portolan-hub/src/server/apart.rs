//! Long computations, on threads that serve no other request meanwhile.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Most objects that are written by the thread that a request came on. It serves other requests and watches as well, and more
/// objects take longer than these should wait; to hand a thread of the runtime over costs about as much as to write so many.
pub(crate) const MOST_AT_ONCE: usize = 500;

/// Computes something about so many objects. If they are many, the thread is none of the runtime's meanwhile: another one takes
/// its place.
pub(super) fn apart<T>(objects: usize, compute: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) if objects > MOST_AT_ONCE => tokio::task::block_in_place(compute),
        // Few objects, or there is no other thread.
        _ => compute(),
    }
}

/// The same whatever it is about.
pub(crate) fn apart_always<T>(compute: impl FnOnce() -> T) -> T {
    apart(usize::MAX, compute)
}

/// Serves a request whose computation may take long. Its thread is none of the runtime's until the answer is there.
pub(crate) async fn serve_apart<T>(work: impl Future<Output = T>) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| Handle::current().block_on(work)),
        // There is no other thread.
        _ => work.await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_runtime_serves_others_while_a_large_list_is_written() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let (answer, answered) = mpsc::channel();
        runtime.block_on(async {
            let patience = Duration::from_secs(30);
            let written =
                tokio::spawn(
                    async move { apart(MOST_AT_ONCE + 1, || answered.recv_timeout(patience).unwrap()) },
                );
            // The runtime has one thread, and this needs it.
            tokio::spawn(async move { answer.send(7).unwrap() })
                .await
                .unwrap();
            assert_eq!(written.await.unwrap(), 7);
        });
    }

    #[test]
    fn a_list_is_written_without_another_thread_and_without_a_runtime() {
        assert_eq!(apart(MOST_AT_ONCE + 1, || 7), 7);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(async { apart(MOST_AT_ONCE + 1, || 7) }), 7);
    }

    #[test]
    fn a_runtime_serves_others_while_a_large_write_is_computed() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let (answer, answered) = mpsc::channel();
        runtime.block_on(async {
            let longest = Duration::from_secs(30);
            let written = tokio::spawn(serve_apart(
                async move { answered.recv_timeout(longest).unwrap() },
            ));
            tokio::spawn(async move { answer.send(7).unwrap() })
                .await
                .unwrap();
            assert_eq!(written.await.unwrap(), 7);
        });
    }

    #[test]
    fn a_large_write_is_served_without_another_thread() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(serve_apart(async { 7 })), 7);
    }
}
