use kube::Error;

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
}

impl Problem {
    /// What an error means.
    pub(crate) fn of(error: &Error) -> Problem {
        match error {
            Error::Api(status) => {
                let message = match status.message.as_str() {
                    "" => format!("the server answered {} {}", status.code, status.reason),
                    message => message.to_owned(),
                };
                match status.code {
                    404 => Problem::NotFound(message),
                    409 => Problem::Conflict(message),
                    408 | 429 | 500 | 502 | 503 | 504 => Problem::Unanswered(message),
                    _ => Problem::Refused(message),
                }
            }
            Error::SerdeError(_) | Error::BuildRequest(_) => Problem::Refused(described(error)),
            _ => Problem::Unanswered(described(error)),
        }
    }

    /// A short word for conditions.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Problem::NotFound(_) => "NotFound",
            Problem::Conflict(_) => "Conflict",
            Problem::Refused(_) => "Refused",
            Problem::Unanswered(_) => "Unanswered",
        }
    }
}

/// The error with its causes: the outermost alone says only that something failed.
fn described(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
