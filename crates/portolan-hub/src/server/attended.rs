//! The service for one connection, which notes how far the client has read each answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};

use super::Service;
use super::body::Body;
use super::idle::UnderWay;
use super::unread::{Reading, Unread};

/// Larger, and a client on a slow line could not read a part in the time that it has; smaller, and a large answer would be
/// written in many small pieces.
const PART: usize = 16 << 10;

/// The service for one connection.
#[derive(Clone, Debug)]
pub(crate) struct Attended {
    pub(crate) service: Service,
    pub(crate) under_way: UnderWay,
    pub(crate) unread: Unread,
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
        let unread = self.unread.clone();
        let answer = tower::Service::call(&mut self.service, request);
        Box::pin(async move {
            let response = answer.await?;
            Ok(response.map(|body| {
                let reading = match body.length() {
                    Some(_) => unread.answer(),
                    None => unread.watch(),
                };
                Answer {
                    // Until the last part was sent: only then the request is no longer under way.
                    body: body.holding((counted, reading.clone())),
                    rest: Bytes::new(),
                    reading,
                }
            }))
        })
    }
}

/// The body of an answer, in parts that are small enough to see whether the client reads.
#[derive(Debug)]
pub(crate) struct Answer {
    body: Body,
    rest: Bytes,
    reading: Reading,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            match std::task::ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                None => return Poll::Ready(None),
                Some(Err(never)) => match never {},
            }
        }
        self.reading.went_on();
        let part = self.rest.len().min(PART);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(part)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.body.length() {
            Some(length) => SizeHint::with_exact(length + self.rest.len() as u64),
            None => SizeHint::default(),
        }
    }
}
