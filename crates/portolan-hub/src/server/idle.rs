//! Connections without a request: after a while they are closed.
//!
//! A client needs no credentials to open a connection and to answer the pings of HTTP/2, so it could keep as many as there
//! are file descriptors for as long as it likes.

use std::time::Duration;

use tokio::sync::watch;

/// How many requests of a connection are under way. Clones count together.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay(watch::Sender<usize>);

/// One request, from its head to the end of its answer.
#[derive(Debug)]
pub(super) struct Counted(watch::Sender<usize>);

impl UnderWay {
    pub(super) fn count(&self) -> Counted {
        self.0.send_modify(|requests| *requests += 1);
        Counted(self.0.clone())
    }

    /// Returns when there was no request for so long.
    pub(crate) async fn none_for(&self, limit: Duration) {
        let mut requests = self.0.subscribe();
        loop {
            // The sender is here, so there is always an answer.
            let _ = requests.wait_for(|requests| *requests == 0).await;
            // A request that came and went is a change although the number is the same.
            if tokio::time::timeout(limit, requests.changed()).await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|requests| *requests -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_under_way_is_waited_for_however_long_it_takes() {
        let under_way = UnderWay::default();
        let counted = under_way.count();
        let idle = under_way.none_for(LIMIT);
        let mut idle = std::pin::pin!(idle);
        assert!(tokio::time::timeout(100 * LIMIT, idle.as_mut()).await.is_err());
        drop(counted);
        assert!(tokio::time::timeout(LIMIT / 2, idle.as_mut()).await.is_err());
        // Another one in time.
        drop(under_way.count());
        assert!(tokio::time::timeout(LIMIT / 2, idle.as_mut()).await.is_err());
        assert!(tokio::time::timeout(LIMIT, idle).await.is_ok());
    }
}
