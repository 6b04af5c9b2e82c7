//! Limits how much is read of what a server sends. A server that never ends an event, an answer or a list would otherwise
//! fill the memory of every process that talks to it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::client::Body;
use tower::BoxError;

use crate::failure::TooLarge;

/// Bytes of one event of a watch. The largest object of etcd has 1.5 MiB and that of our hub 4 MiB; defaults of a definition
/// make it larger when it is sent. A smaller number could end a watch for good at one legitimate object.
const EVENT_BYTES: usize = 32 << 20;
/// Bytes of one answer to a controller or an agent. A page of 100 objects of etcd's largest size has 150 MiB; one of our
/// hub's largest objects has 400 MiB, and is asked for in parts ([`super::paging`]). A list of the metadata of 100,000
/// objects fits.
pub(super) const ANSWER_BYTES: usize = 256 << 20;
/// Bytes of all pages of one list. etcd is made for at most 8 GiB of everything, and our hub stores 4 GiB unless told
/// otherwise.
pub(super) const LIST_BYTES: u64 = 8 << 30;
/// Every page counts as so many bytes at least, so that pages without objects come to an end. The 40,000 pages of the
/// largest list count as less than half of [`LIST_BYTES`].
const PAGE_BYTES: u64 = 64 << 10;

/// What a client reads at most.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Bytes of one event of a watch.
    pub(super) event: usize,
    /// Bytes of an answer that is not a watch.
    pub(super) answer: usize,
    /// The list whose pages are counted together, if the client is for one list at a time.
    pub(super) list: Option<Pages>,
}

/// The pages of one list.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    most: u64,
    read: Arc<AtomicU64>,
}

impl Pages {
    pub(super) fn of(most: u64) -> Pages {
        Pages {
            most,
            read: Arc::default(),
        }
    }

    /// Counts an answer. One to a request without a token begins another list.
    fn add(&self, query: &str, answer: &Bytes, asked: &str) -> Result<(), BoxError> {
        let is_first = !query.split('&').any(|part| part.starts_with("continue="));
        let before = match is_first {
            true => 0,
            false => self.read.load(Ordering::Relaxed),
        };
        let read = before.saturating_add((answer.len() as u64).max(PAGE_BYTES));
        self.read.store(read, Ordering::Relaxed);
        let most = self.most;
        match read > most {
            true => Err(TooLarge::List {
                asked: asked.to_owned(),
                most,
            }
            .into()),
            false => Ok(()),
        }
    }
}

impl Sizes {
    pub(super) fn answers_of(answer: usize) -> Sizes {
        Sizes {
            event: EVENT_BYTES,
            answer,
            list: None,
        }
    }

    /// The response as far as it is read: a watch event by event, anything else at once.
    pub(super) async fn read(
        &self,
        asked: &str,
        query: &str,
        response: Response<Body>,
    ) -> Result<Response<Answer>, BoxError> {
        let is_watch = query.split('&').any(|part| part.starts_with("watch="));
        let (head, body) = response.into_parts();
        // kube reads the answer to a watch that was refused as a whole.
        if is_watch && head.status.is_success() {
            let events = Events::new(body, asked, self.event);
            return Ok(Response::from_parts(head, Answer::Events(events)));
        }
        let most = self.answer;
        let read = Limited::new(body, most).collect().await;
        let read = read.map_err(|error| match error.is::<LengthLimitError>() {
            true => TooLarge::Answer {
                asked: asked.to_owned(),
                most,
            }
            .into(),
            false => error,
        })?;
        let answer = read.to_bytes();
        if let Some(pages) = &self.list {
            pages.add(query, &answer, asked)?;
        }
        Ok(Response::from_parts(head, Answer::Whole(Some(answer))))
    }
}

/// What was, or is, read of a response.
pub(super) enum Answer {
    Whole(Option<Bytes>),
    Events(Events),
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut *self {
            Answer::Whole(answer) => {
                let answer = answer.take().filter(|answer| !answer.is_empty());
                Poll::Ready(answer.map(|answer| Ok(Frame::data(answer))))
            }
            Answer::Events(events) => events.poll_frame(context),
        }
    }
}

/// The body of a watch, which ends with an error when an event is too long.
pub(super) struct Events {
    /// Nothing after the error.
    body: Option<Body>,
    asked: String,
    most: usize,
    /// Bytes of the event that has not ended yet.
    begun: usize,
}

impl Events {
    fn new(body: Body, asked: &str, most: usize) -> Events {
        Events {
            body: Some(body),
            asked: asked.to_owned(),
            most,
            begun: 0,
        }
    }

    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let Some(frame) = ready!(http_body::Body::poll_frame(Pin::new(body), context)) else {
            return Poll::Ready(None);
        };
        let frame = frame.map_err(BoxError::from)?;
        if let Some(data) = frame.data_ref()
            && !self.fits(data)
        {
            // What was read of the event is of no use, and the rest must not be read.
            self.body = None;
            let (asked, most) = (&self.asked, self.most);
            return Poll::Ready(Some(Err(format!(
                "the server has sent more than {most} bytes of one event of the watch {asked}; accepted: events of at most \
                 {most} bytes, each on a line"
            )
            .into())));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    /// Counts more of the body. Each event ends with a line break. Events that are in `data` as a whole are in memory
    /// already.
    fn fits(&mut self, data: &[u8]) -> bool {
        let is_end = |byte: &u8| *byte == b'\n';
        let first = data.iter().position(is_end).unwrap_or(data.len());
        let is_first_short = self.begun + first <= self.most;
        self.begun = match data.iter().rposition(is_end) {
            Some(end) => data.len() - end - 1,
            None => self.begun + data.len(),
        };
        is_first_short && self.begun <= self.most
    }
}

#[cfg(test)]
#[path = "size_tests.rs"]
mod tests;
