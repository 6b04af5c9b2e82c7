//! Bodies of requests and answers.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use futures::{Stream, StreamExt as _};
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use serde_json::Value;

use super::in_flight::BodyBytes;
use super::status::{Answer, Failure};

/// The body of an answer: whole, or the stream of a watch.
pub struct Body(Content);

enum Content {
    Whole(Bytes),
    Stream(Chunks),
}

/// What a stream of a watch is made of.
pub(crate) type Chunks = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// The largest request, as in Kubernetes.
pub(crate) const LARGEST: usize = 3 << 20;

impl Body {
    /// The same body, with something that lives as long as any part of it. Parts outlive the body: a connection drops the body
    /// when it has taken the last part, and sends the parts when the client reads.
    pub(crate) fn holding(self, held: impl Send + Sync + 'static) -> Self {
        Self(match self.0 {
            Content::Whole(bytes) => Content::Whole(holding(bytes, held)),
            Content::Stream(chunks) => Content::Stream(Box::pin(chunks.map(move |chunk| {
                let _ = &held;
                chunk
            }))),
        })
    }

    /// The number of bytes, unless it is a stream.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.0 {
            Content::Whole(bytes) => Some(bytes.len() as u64),
            Content::Stream(_) => None,
        }
    }
}

/// The same bytes, with something that lives until the last copy of a part of them is dropped.
fn holding(bytes: Bytes, held: impl Send + Sync + 'static) -> Bytes {
    struct Holding<T> {
        bytes: Bytes,
        _held: T,
    }
    impl<T> AsRef<[u8]> for Holding<T> {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }
    Bytes::from_owner(Holding { bytes, _held: held })
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Content::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Content::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Content::Stream(chunks) => chunks
                .poll_next_unpin(context)
                .map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Content::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        self.length().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Body")
            .field("length", &self.length())
            .finish()
    }
}

pub(crate) fn json(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    typed(code, "application/json", text)
}

pub(crate) fn value(code: StatusCode, value: &Value) -> Response<Body> {
    json(code, value.to_string())
}

pub(crate) fn plain(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    typed(code, "text/plain; charset=utf-8", text)
}

pub(crate) fn typed(code: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Response<Body> {
    with_type(code, kind, Body(Content::Whole(text.into())))
}

pub(crate) fn stream(kind: &'static str, chunks: Chunks) -> Response<Body> {
    with_type(StatusCode::OK, kind, Body(Content::Stream(chunks)))
}

pub(crate) fn failure(failure: &Failure) -> Response<Body> {
    let mut response = value(failure.code(), &failure.status());
    if failure.code() == StatusCode::TOO_MANY_REQUESTS {
        // Without it clients do not try again.
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn with_type(code: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Reads a whole request, up to the limit. Its bytes count until the last copy is dropped.
pub(crate) async fn read<B>(body: B, mut counted: Option<BodyBytes>) -> Answer<Bytes>
where
    B: http_body::Body,
{
    let mut body = std::pin::pin!(body);
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|_| Failure::bad_request("the body of the request could not be read to its end"))?;
        if let Ok(mut data) = frame.into_data() {
            if all.len() + data.remaining() > LARGEST {
                return Err(Failure::too_large(LARGEST));
            }
            if let Some(counted) = &mut counted {
                counted.add(data.remaining() as u64)?;
            }
            while data.has_remaining() {
                let chunk = data.chunk();
                all.extend_from_slice(chunk);
                let read = chunk.len();
                data.advance(read);
            }
        }
    }
    let all = all.freeze();
    Ok(match counted {
        Some(counted) if !all.is_empty() => holding(all, counted),
        _ => all,
    })
}
