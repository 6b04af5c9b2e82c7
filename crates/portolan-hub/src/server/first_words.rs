//! A connection whose client must begin to speak.
//!
//! Which protocol a client speaks is read off its first bytes, and the timeouts of either protocol begin after that. A client
//! that connects and sends nothing, or half of what HTTP/2 begins with, would keep its connection for as long as it likes,
//! without having said who it is.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// As many bytes as HTTP/2 begins with, which is what it takes to tell the protocols apart.
const ENOUGH: usize = 24;

#[derive(Debug)]
pub(crate) struct FirstWords<S> {
    stream: S,
    read: usize,
    /// None once enough was read.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> FirstWords<S> {
    pub(crate) fn within(limit: Duration, stream: S) -> Self {
        Self {
            stream,
            read: 0,
            deadline: Some(Box::pin(sleep(limit))),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FirstWords<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.read = self.read.saturating_add(buffer.filled().len() - before);
        if self.read >= ENOUGH {
            self.deadline = None;
        }
        match (&polled, &mut self.deadline) {
            (Poll::Pending, Some(deadline)) => match deadline.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                Poll::Pending => Poll::Pending,
            },
            _ => polled,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FirstWords<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
