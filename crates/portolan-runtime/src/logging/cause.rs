//! What failures have in common that are counted together.

use std::fmt;

use super::limiter::Ends;
use crate::failure::{Failure, TooLarge, shortened};

/// What was tried: `patch placements/status shop/web`.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// The verb of the API: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
    pub verb: &'a str,
    /// The plural, with its group where that is known.
    pub resource: &'a str,
    /// Namespace and name of the object; empty for a list.
    pub object: &'a str,
}

impl fmt::Display for Operation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, self.resource)?;
        match self.object {
            "" => Ok(()),
            object => write!(formatter, " {}", shortened(object, 120)),
        }
    }
}

/// What failures have in common that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The server does not answer at all.
    Unreachable,
    /// The server does not accept the credentials.
    Unauthorized,
    /// The server answers, but is overloaded or broken.
    Broken { code: u16 },
    /// An operation that is not allowed.
    Forbidden { operation: String },
    /// An operation that cannot be carried out on some objects.
    Objects { operation: String, failure: Failure },
}

impl Cause {
    /// The cause, and the subject of it that failed.
    pub(super) fn of(operation: Operation<'_>, error: &kube::Error) -> (Cause, String) {
        let asked = format!("{} {}", operation.verb, operation.resource);
        let code = match error {
            kube::Error::Api(status) => Some(status.code),
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Some(200),
            // The server was reached, and sent more than is read.
            error if TooLarge::is_cause_of(error) => Some(200),
            _ => None,
        };
        match (code, Failure::of(error)) {
            (Some(401), _) => (Cause::Unauthorized, asked),
            (Some(403), _) => (Cause::Forbidden { operation: asked }, String::new()),
            (Some(code), Failure::Transient) => (Cause::Broken { code }, asked),
            (None, Failure::Transient) => (Cause::Unreachable, asked),
            (_, failure) => {
                let cause = Cause::Objects {
                    operation: asked,
                    failure,
                };
                (cause, operation.object.to_owned())
            }
        }
    }

    /// What a success of an operation says about the cause.
    pub(super) fn ended_by(&self, operation: Operation<'_>) -> Ends {
        let asked = || format!("{} {}", operation.verb, operation.resource);
        match self {
            Cause::Unreachable | Cause::Unauthorized => Ends::All,
            Cause::Broken { .. } => Ends::Subject(asked()),
            Cause::Forbidden { operation: failed } if *failed == asked() => Ends::All,
            Cause::Objects {
                operation: failed, ..
            } if *failed == asked() => Ends::Subject(operation.object.to_owned()),
            Cause::Forbidden { .. } | Cause::Objects { .. } => Ends::Nothing,
        }
    }

    /// Whether the failure is part of everyday life unless it lasts: objects change and go while they are written.
    pub(super) fn is_everyday(&self) -> bool {
        matches!(
            self,
            Cause::Objects {
                failure: Failure::Conflict | Failure::Missing,
                ..
            }
        )
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn answered(code: u16, reason: &str, message: &str) -> kube::Error {
        kube::Error::Api(Box::new(Status::failure(message, reason).with_code(code)))
    }

    fn forbidden() -> kube::Error {
        answered(403, "Forbidden", "works is forbidden")
    }

    #[test]
    fn failures_are_counted_by_what_they_have_in_common() {
        let operation = |object: &'static str| Operation {
            verb: "patch",
            resource: "works",
            object,
        };
        let cause = |error: &kube::Error, object: &'static str| Cause::of(operation(object), error);
        let gone = kube::Error::Service("connection refused".into());
        assert_eq!(
            cause(&gone, "a").0,
            cause(&kube::Error::Service("other".into()), "b").0
        );
        let too_large = kube::Error::Service(
            TooLarge::Answer {
                asked: "GET /works".to_owned(),
                most: 5,
            }
            .into(),
        );
        assert_eq!(cause(&too_large, "a").0, Cause::Broken { code: 200 });
        assert_eq!(cause(&answered(401, "", ""), "a").0, Cause::Unauthorized);
        assert_eq!(cause(&forbidden(), "a"), cause(&forbidden(), "b"));
        assert_ne!(
            cause(&answered(500, "", ""), "a").0,
            cause(&answered(503, "", ""), "a").0
        );
        let (invalid, subject) = cause(&answered(422, "Invalid", ""), "shop/web");
        assert_eq!(subject, "shop/web");
        assert_eq!(
            invalid.ended_by(operation("shop/web")),
            Ends::Subject("shop/web".to_owned())
        );
        assert!(!invalid.is_everyday() && cause(&answered(409, "Conflict", ""), "a").0.is_everyday());
    }
}
