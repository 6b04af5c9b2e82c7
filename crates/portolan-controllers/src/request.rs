//! One request to the API server: within the shared limit, tried again where that can help, counted.

use std::fmt::Display;
use std::time::Duration;

use portolan_runtime::failure::error_chain;
use portolan_runtime::logging::FailureLog;
use tokio::sync::Semaphore;
use tracing::Instrument;

use crate::metrics::Metrics;
use crate::trace;
pub(crate) use portolan_runtime::failure::Failure;

/// The field manager of all writes.
pub(crate) const FIELD_MANAGER: &str = "portolan";

/// How often a request is tried again at once. Beyond that the caller decides anew.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

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
            message: error_chain(error),
        }
    }
}

/// Makes a request, and makes it again when the server was busy. A failure is logged where there is a log.
pub(crate) async fn call<T, F>(
    slots: &Semaphore,
    metrics: &Metrics,
    log: Option<&FailureLog>,
    (verb, resource, object): (&'static str, &'static str, &(dyn Display + Sync)),
    request: impl Fn() -> F,
) -> Result<T, Problem>
where
    F: Future<Output = kube::Result<T>>,
{
    let count = |result| metrics.requested(resource, verb, result);
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
        let error = match result {
            Ok(value) => {
                trace::ended(&span, "ok");
                count("ok");
                if let Some(log) = log {
                    log.request_succeeded(verb, resource, object);
                }
                return Ok(value);
            }
            Err(error) => error,
        };
        let problem = Problem::of(&error);
        trace::ended(&span, problem.failure.word());
        count(problem.failure.word());
        if attempt >= ATTEMPTS || problem.failure != Failure::Transient {
            if let Some(log) = log {
                log.request_failed(verb, resource, object, &error);
            }
            return Err(problem);
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    unreachable!("the loop has no end but by return")
}
