//! Classifies failed requests by what to do next.

use serde_json::error::Category;

/// Why a request was not carried out, as far as it matters for what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// The object has another version, or exists already: it changed while it was being written.
    Conflict,
    /// The object, its namespace or its kind does not exist.
    Missing,
    /// Not allowed, or the namespace is being deleted.
    Forbidden,
    /// The server does not accept the content.
    Invalid,
    /// It may work later: the network, an overloaded or a restarting server, an answer that cannot be read.
    Transient,
}

impl Failure {
    /// What an error means.
    pub fn of(error: &kube::Error) -> Failure {
        match error {
            kube::Error::Api(status) => match status.code {
                409 => Failure::Conflict,
                404 => Failure::Missing,
                401 | 403 => Failure::Forbidden,
                408 | 429 => Failure::Transient,
                400..500 => Failure::Invalid,
                _ => Failure::Transient,
            },
            // An answer that ends in the middle, or is no JSON at all, is not what the server meant to say.
            kube::Error::SerdeError(error)
                if matches!(error.classify(), Category::Eof | Category::Syntax) =>
            {
                Failure::Transient
            }
            kube::Error::SerdeError(_) | kube::Error::BuildRequest(_) => Failure::Invalid,
            _ => Failure::Transient,
        }
    }

    /// In metrics and traces.
    pub fn word(self) -> &'static str {
        match self {
            Failure::Conflict => "conflict",
            Failure::Missing => "not_found",
            Failure::Forbidden | Failure::Invalid => "refused",
            Failure::Transient => "error",
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn a_code_says_whether_trying_again_can_help() {
        for (code, expected) in [
            (400, Failure::Invalid),
            (401, Failure::Forbidden),
            (403, Failure::Forbidden),
            (404, Failure::Missing),
            (408, Failure::Transient),
            (409, Failure::Conflict),
            (422, Failure::Invalid),
            (429, Failure::Transient),
            (500, Failure::Transient),
            (501, Failure::Transient),
            (507, Failure::Transient),
            (0, Failure::Transient),
        ] {
            let status = Status::failure("no", "").with_code(code);
            assert_eq!(
                Failure::of(&kube::Error::Api(Box::new(status))),
                expected,
                "{code}"
            );
        }
    }

    #[test]
    fn an_answer_that_breaks_off_is_no_refusal() {
        let read = |text: &str| serde_json::from_str::<Vec<u8>>(text).unwrap_err();
        for (text, expected) in [
            ("[1,", Failure::Transient),
            ("<html>", Failure::Transient),
            ("[true]", Failure::Invalid),
        ] {
            assert_eq!(
                Failure::of(&kube::Error::SerdeError(read(text))),
                expected,
                "{text}"
            );
        }
    }
}
