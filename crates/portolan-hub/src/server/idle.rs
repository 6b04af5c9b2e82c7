//! Connections without a request: after a while they are closed.
//!
//! A client needs no credentials to open a connection and to answer the pings of HTTP/2, so it could keep as many as there
//! are file descriptors for as long as it likes.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use tokio::sync::watch;

use super::Service;
use super::body::Body;

/// How many requests of a connection are under way. Clones count together.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay(watch::Sender<usize>);

/// One request, from its head to the end of its answer.
#[derive(Debug)]
struct Counted(watch::Sender<usize>);

impl UnderWay {
    fn count(&self) -> Counted {
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

/// The service for one connection.
#[derive(Clone, Debug)]
pub(crate) struct Attended {
    pub(crate) service: Service,
    pub(crate) under_way: UnderWay,
}

impl<B> tower::Service<Request<B>> for Attended
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let counted = self.under_way.count();
        let answer = tower::Service::call(&mut self.service, request);
        Box::pin(async move {
            let response = answer.await?;
            Ok(response.map(|body| Answer {
                body,
                _counted: counted,
            }))
        })
    }
}

/// The body of an answer. The request is under way until it is dropped.
#[derive(Debug)]
pub(crate) struct Answer {
    body: Body,
    _counted: Counted,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
