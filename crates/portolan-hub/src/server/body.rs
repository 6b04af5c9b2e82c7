//! Bodies of requests and answers.

use std::convert::Infallible;
use std::pin::Pin;

use bytes::{Buf, Bytes, BytesMut};
use futures::{Stream, StreamExt as _};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use serde_json::Value;

use super::status::{Answer, Failure};

/// The body of an answer: whole, or the stream of a watch.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What a stream of a watch is made of.
pub(crate) type Chunks = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// The largest request, as in Kubernetes.
pub(crate) const LARGEST: usize = 3 << 20;

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
    let body = Full::new(text.into()).boxed_unsync();
    with_type(code, kind, body)
}

pub(crate) fn stream(chunks: Chunks) -> Response<Body> {
    let body = StreamBody::new(chunks.map(|chunk| Ok(Frame::data(chunk)))).boxed_unsync();
    with_type(StatusCode::OK, "application/json", body)
}

/// The same whole answer, with something that lives until the client has read it. Its length stays known.
pub(crate) fn answer_holding(mut response: Response<Body>, held: impl Send + 'static) -> Response<Body> {
    if let Some(length) = http_body::Body::size_hint(response.body()).exact() {
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    response.map(|body| holding(body, held))
}

/// The same body, with something that lives as long as it.
pub(crate) fn holding(body: Body, held: impl Send + 'static) -> Body {
    body.map_frame(move |frame| {
        let _ = &held;
        frame
    })
    .boxed_unsync()
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

/// Reads a whole request, up to the limit.
pub(crate) async fn read<B>(body: B) -> Answer<Bytes>
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
            while data.has_remaining() {
                let chunk = data.chunk();
                all.extend_from_slice(chunk);
                let read = chunk.len();
                data.advance(read);
            }
        }
    }
    Ok(all.freeze())
}
