//! Whether the body of a request was read to its end.
//!
//! A request that is refused is answered before its body is read. With HTTP/1.1 the next request of the connection comes
//! behind that body, so the connection cannot be used again; a client that is not told so sends its next request into a
//! connection that is being closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::Version;

use super::status::Answer;

/// The arrival of one body. Clones are of the same one.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    /// Whether the next request of the connection comes behind this body.
    is_in_the_way: bool,
    is_read: Arc<AtomicBool>,
}

impl Arrival {
    pub(super) fn of(version: Version, body: &impl http_body::Body) -> Arrival {
        Arrival {
            is_in_the_way: version <= Version::HTTP_11,
            is_read: Arc::new(AtomicBool::new(body.is_end_stream())),
        }
    }

    /// Reads the body, and notes that it was read.
    pub(super) async fn noting(self, body: impl Future<Output = Answer<Bytes>>) -> Answer<Bytes> {
        let bytes = body.await;
        self.is_read.fetch_or(bytes.is_ok(), Ordering::Relaxed);
        bytes
    }

    /// Whether the answer has to be the last one of its connection.
    pub(super) fn ends_connection(&self) -> bool {
        self.is_in_the_way && !self.is_read.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{Empty, Full};

    use super::*;
    use crate::server::status::Failure;

    #[tokio::test]
    async fn a_connection_ends_with_the_answer_to_a_body_that_was_not_read() {
        let full = Full::new(Bytes::from_static(b"{}"));
        let unread = Arrival::of(Version::HTTP_11, &full);
        assert!(unread.ends_connection());
        let refused = async { Err(Failure::method_not_allowed()) };
        assert!(unread.clone().noting(refused).await.is_err());
        assert!(
            unread.ends_connection(),
            "a body that is too large has no end either"
        );
        let read = unread.clone().noting(async { Ok(Bytes::new()) }).await;
        assert!(read.is_ok() && !unread.ends_connection());
        assert!(!Arrival::of(Version::HTTP_2, &full).ends_connection());
        assert!(!Arrival::of(Version::HTTP_11, &Empty::<Bytes>::new()).ends_connection());
    }
}
