//! One request to the API server: within the shared limit, tried again where that can help, counted.

use std::time::Duration;

use tokio::sync::Semaphore;
use tracing::Instrument;

use crate::metrics::Metrics;
use crate::trace;

/// Who we are in `managedFields`.
pub(crate) const FIELD_MANAGER: &str = "portolan";

/// How often a request is tried again at once. Beyond that the caller decides anew.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    /// The object is not there.
    #[error("{0}")]
    NotFound(String),
    /// The object is another version, or is there already.
    #[error("{0}")]
    Conflict(String),
    /// The server is busy, unreachable or broken.
    #[error("{0}")]
    Transient(String),
    /// The server will not do it.
    #[error("{0}")]
    Refused(String),
}

impl Problem {
    fn of(error: &kube::Error) -> Problem {
        match error {
            kube::Error::Api(status) => {
                let message = status.message.clone();
                match status.code {
                    404 => Problem::NotFound(message),
                    409 => Problem::Conflict(message),
                    408 | 429 | 500 | 502 | 503 | 504 => Problem::Transient(message),
                    _ => Problem::Refused(message),
                }
            }
            kube::Error::SerdeError(_) | kube::Error::BuildRequest(_) => Problem::Refused(describe(error)),
            _ => Problem::Transient(describe(error)),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Problem::NotFound(_) => "not_found",
            Problem::Conflict(_) => "conflict",
            Problem::Transient(_) => "error",
            Problem::Refused(_) => "refused",
        }
    }
}

/// Makes a request, and makes it again when the server was busy.
pub(crate) async fn call<T, F>(
    slots: &Semaphore,
    metrics: &Metrics,
    verb: &'static str,
    resource: &'static str,
    request: impl Fn() -> F,
) -> Result<T, Problem>
where
    F: Future<Output = kube::Result<T>>,
{
    let count = |result| {
        // Reading is no write.
        if verb != "get" {
            metrics.wrote(resource, verb, result);
        }
    };
    let mut pause = FIRST_PAUSE;
    for attempt in 1.. {
        let span = trace::request(verb, resource, attempt);
        let result = async {
            // The semaphore is never closed.
            let _slot = slots.acquire().await;
            request().await
        }
        .instrument(span.clone())
        .await;
        let problem = match result {
            Ok(value) => {
                trace::ended(&span, "ok");
                count("ok");
                return Ok(value);
            }
            Err(error) => Problem::of(&error),
        };
        trace::ended(&span, problem.word());
        count(problem.word());
        if attempt >= ATTEMPTS || !matches!(problem, Problem::Transient(_)) {
            return Err(problem);
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    unreachable!("the loop has no end but by return")
}

/// The error with its causes: the outermost alone says only that something failed.
pub(crate) fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
