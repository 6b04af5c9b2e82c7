//! Classifies failed requests to the member cluster.

use kube::Error;
use portolan_runtime::failure::{Failure, TooLarge, error_chain};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    /// It is not there.
    #[error("{0}")]
    NotFound(String),
    /// It is another version, is there already, or has fields that others manage.
    #[error("{0}")]
    Conflict(String),
    /// The server will not do it.
    #[error("{0}")]
    Refused(String),
    /// The server is busy, unreachable or broken: there is no answer.
    #[error("{0}")]
    Unanswered(String),
    /// The server answers with more than is read.
    #[error("{0}")]
    TooLarge(String),
}

/// How a server begins its answer to an apply whose fields have wrong types. Its code is 500, as if the server were broken,
/// and the same apply is never answered otherwise; nothing was written.
const NOT_TYPED: &str = "failed to create typed patch object";

impl Problem {
    /// What an error means.
    pub(crate) fn of(error: &Error) -> Problem {
        let message = error_chain(error);
        if TooLarge::is_cause_of(error) {
            return Problem::TooLarge(message);
        }
        if matches!(error, Error::Api(status) if status.message.starts_with(NOT_TYPED)) {
            return Problem::Refused(message);
        }
        match Failure::of(error) {
            Failure::Missing => Problem::NotFound(message),
            Failure::Conflict => Problem::Conflict(message),
            Failure::Forbidden | Failure::Invalid => Problem::Refused(message),
            Failure::Transient => Problem::Unanswered(message),
        }
    }

    /// Whether the server has no place for objects of the kind, at least not where it was asked: its answer is not about one object.
    /// A server that is built of several says so in one of two ways, and neither has more than these words.
    pub(crate) fn is_unserved(&self) -> bool {
        const WORDS: [&str; 2] = ["could not find the requested resource", "404 page not found"];
        matches!(self, Problem::NotFound(why) if WORDS.iter().any(|words| why.contains(words)))
    }

    /// The class of the failure, for the log.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Problem::NotFound(_) => Failure::Missing,
            Problem::Conflict(_) => Failure::Conflict,
            Problem::Refused(_) => Failure::Forbidden,
            Problem::Unanswered(_) | Problem::TooLarge(_) => Failure::Transient,
        }
    }

    /// A short word for conditions.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Problem::NotFound(_) => "NotFound",
            Problem::Conflict(_) => "Conflict",
            Problem::Refused(_) => "Refused",
            // What the server did is unknown in both cases.
            Problem::Unanswered(_) | Problem::TooLarge(_) => "Unanswered",
        }
    }
}
