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

/// Why a request was not carried out, as far as it matters for what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The object is another version, or is there already: somebody else was faster.
    Conflict,
    /// The object, its namespace or its kind is not there.
    Missing,
    /// Not allowed, or the namespace is on its way out.
    Forbidden,
    /// The server does not accept the content.
    Invalid,
    /// It may work later: the network, an overloaded or a restarting server.
    Transient,
}

impl Failure {
    pub(crate) fn of(error: &kube::Error) -> Failure {
        match error {
            kube::Error::Api(status) => match status.code {
                409 => Failure::Conflict,
                404 => Failure::Missing,
                401 | 403 => Failure::Forbidden,
                408 | 429 => Failure::Transient,
                400..500 => Failure::Invalid,
                _ => Failure::Transient,
            },
            kube::Error::SerdeError(_) | kube::Error::BuildRequest(_) => Failure::Invalid,
            _ => Failure::Transient,
        }
    }

    /// In metrics and traces.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Failure::Conflict => "conflict",
            Failure::Missing => "not_found",
            Failure::Forbidden | Failure::Invalid => "refused",
            Failure::Transient => "error",
        }
    }
}

/// A failure, and what the server said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Problem {
    pub(crate) failure: Failure,
    message: String,
}

impl Problem {
    fn of(error: &kube::Error) -> Problem {
        Problem {
            failure: Failure::of(error),
            message: match error {
                kube::Error::Api(status) => status.message.clone(),
                _ => describe(error),
            },
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
        trace::ended(&span, problem.failure.word());
        count(problem.failure.word());
        if attempt >= ATTEMPTS || problem.failure != Failure::Transient {
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
