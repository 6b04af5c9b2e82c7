//! Answers that a client does not read: after a while its connection is closed.
//!
//! The hub holds an answer in memory until the client has read it. A client with HTTP/2 need not read an answer to keep its
//! connection: it answers pings, and reads other answers. Watches are left alone here: a watch whose client does not read
//! holds one chunk, and ends when the history has moved past it.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// The answers of one connection that were not read to their end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unread(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// When a part of each answer was taken last.
    answers: BTreeMap<u64, Instant>,
    watches: usize,
}

/// One answer; it counts until the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Reading(Arc<Entry>);

#[derive(Debug)]
struct Entry {
    unread: Unread,
    /// None for a watch.
    answer: Option<u64>,
}

impl Unread {
    pub(super) fn answer(&self) -> Reading {
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        state.answers.insert(id, Instant::now());
        drop(state);
        self.reading(Some(id))
    }

    pub(super) fn watch(&self) -> Reading {
        self.lock().watches += 1;
        self.reading(None)
    }

    fn reading(&self, answer: Option<u64>) -> Reading {
        let unread = self.clone();
        Reading(Arc::new(Entry { unread, answer }))
    }

    /// Returns when no part of some answer was read for so long.
    pub(crate) async fn some_for(&self, limit: Duration) {
        loop {
            let oldest = self.lock().answers.values().min().copied();
            let now = Instant::now();
            match oldest {
                Some(oldest) if oldest + limit <= now => return,
                Some(oldest) => sleep_until(oldest + limit).await,
                // An answer that begins from now on has as long at least.
                None => sleep(limit).await,
            }
        }
    }

    fn has_watches(&self) -> bool {
        self.lock().watches > 0
    }

    /// A poisoned lock is safe to reuse: no code panics between two changes of the state.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    /// The client has read what was sent before.
    pub(super) fn went_on(&self) {
        if let Some(id) = self.0.answer {
            self.0.unread.lock().answers.insert(id, Instant::now());
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut state = self.unread.lock();
        match self.answer {
            Some(id) => {
                state.answers.remove(&id);
            }
            None => state.watches -= 1,
        }
    }
}

/// A connection whose client must take what is written to it, unless it watches. What was handed to a connection with
/// HTTP/1.1 is in its buffer, and no longer an answer that is not read.
#[derive(Debug)]
pub(crate) struct Draining<S> {
    stream: S,
    limit: Duration,
    unread: Unread,
    /// None while the client takes what is written.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Draining<S> {
    pub(crate) fn within(limit: Duration, stream: S, unread: Unread) -> Self {
        Self {
            stream,
            limit,
            unread,
            deadline: None,
        }
    }

    /// The outcome of an attempt to write, or an error when there was none for too long.
    fn unless_stuck<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(limit)));
        while deadline.as_mut().poll(context).is_ready() {
            if !self.unread.has_watches() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            deadline.as_mut().reset(Instant::now() + limit);
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Draining<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Draining<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_stuck(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.unless_stuck(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.unless_stuck(context, closed)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.unless_stuck(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
