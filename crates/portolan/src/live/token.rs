//! Tokens of requests. A file with a token mostly ends with a line break, which is no part of the token.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;

use super::file;

/// How long the file is not read again. Longer, and requests are refused after a token was renewed late; shorter, and every
/// other request reads the file.
const AGAIN: Duration = Duration::from_secs(30);

/// A file with a token that is renewed while a process runs.
#[derive(Clone, Debug)]
pub(super) struct TokenFile(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    last: Mutex<(HeaderValue, Instant)>,
}

impl TokenFile {
    /// Reads the file for the first time.
    pub(super) fn open(path: &Path) -> anyhow::Result<TokenFile> {
        let header = read(path)?;
        Ok(TokenFile(Arc::new(Shared {
            path: path.to_owned(),
            last: Mutex::new((header, Instant::now())),
        })))
    }

    /// The header for a request that is sent now. While the file cannot be used, the last token is: some are there for the
    /// start of a process alone.
    async fn header(&self) -> HeaderValue {
        let last = || self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = {
            let mut last = last();
            let is_due = last.1.elapsed() >= AGAIN;
            if is_due {
                // Others do not wait for the file.
                last.1 = Instant::now();
            }
            is_due
        };
        if is_due {
            let path = self.0.path.clone();
            let what = format!("the token file {}", path.display());
            match file::apart(&what, move || read(&path)).await.flatten() {
                Ok(header) => last().0 = header,
                Err(error) => tracing::warn!("{error:#}; the token that was read before is used"),
            }
        }
        last().0.clone()
    }

    /// A client whose requests carry the token.
    pub(super) fn authorize(self, client: Client, namespace: String) -> Client {
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let (token, client) = (self.clone(), client.clone());
            async move {
                request.headers_mut().insert(AUTHORIZATION, token.header().await);
                client.send(request).await
            }
        });
        Client::new(service, namespace)
    }
}

fn read(path: &Path) -> anyhow::Result<HeaderValue> {
    let token = file::read_text(path)
        .map_err(|error| anyhow::anyhow!("cannot read the token file {}: {error}", path.display()))?;
    let token = token.trim();
    match bearer(token) {
        Some(header) if !token.is_empty() => Ok(header),
        _ => anyhow::bail!(
            "cannot use the token file {}: the token is empty, or has a line break or another character that no HTTP header \
             can carry; accepted: the token as it was issued",
            path.display()
        ),
    }
}

/// `None` for a token that no header can carry.
pub(super) fn bearer(token: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::Response;

    use super::*;

    fn file(name: &str, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("portolan-token-{name}-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A server that answers with the token it was sent.
    fn echo() -> Client {
        let service = tower::service_fn(async |request: Request<Body>| {
            let token = request.headers()[AUTHORIZATION].to_str().unwrap().to_owned();
            Ok::<_, Infallible>(Response::new(Body::from(token.into_bytes())))
        });
        Client::new(service, "default")
    }

    async fn sent(client: &Client) -> String {
        let request = Request::get("/version").body(Vec::new()).unwrap();
        client.request_text(request).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_line_break_at_the_end_of_a_token_file_is_no_part_of_the_token() {
        let path = file("break", " ab.c-d\r\n");
        let client = TokenFile::open(&path)
            .unwrap()
            .authorize(echo(), "default".to_owned());
        assert_eq!(sent(&client).await, "Bearer ab.c-d");
        std::fs::remove_file(&path).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_is_renewed_in_its_file_is_sent_without_a_restart() {
        let path = file("renewed", "first\n");
        let client = TokenFile::open(&path)
            .unwrap()
            .authorize(echo(), "default".to_owned());
        std::fs::write(&path, "second\n").unwrap();
        tokio::time::sleep(AGAIN).await;
        assert_eq!(sent(&client).await, "Bearer second");
        for unusable in ["", "a\nb"] {
            std::fs::write(&path, unusable).unwrap();
            tokio::time::sleep(AGAIN).await;
            assert_eq!(sent(&client).await, "Bearer second");
        }
        std::fs::remove_file(&path).unwrap();
        tokio::time::sleep(AGAIN).await;
        assert_eq!(sent(&client).await, "Bearer second");
    }

    #[tokio::test]
    async fn a_token_file_that_cannot_be_used_is_refused_and_its_content_not_said() {
        for content in ["", "\n", "se\ncret", "se\0cret"] {
            let path = file("refused", content);
            let refused = TokenFile::open(&path).unwrap_err().to_string();
            std::fs::remove_file(&path).unwrap();
            assert!(
                refused.contains("accepted: the token as it was issued"),
                "{refused}"
            );
            assert!(!refused.contains("cret"), "a token is a secret: {refused}");
            let missing = TokenFile::open(&path).unwrap_err().to_string();
            assert!(missing.contains("cannot read the token file"), "{missing}");
        }
    }
}
