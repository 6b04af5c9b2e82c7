//! A refusal, in the words of whoever refuses.

use serde_json::{Value, json};

/// Why a write is not admitted; the client sees it as a `Status`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) causes: Vec<Value>,
}

impl Refusal {
    /// A refusal with an HTTP code and a reason such as `Invalid` or `TooManyRequests`. A code that is no error becomes
    /// 403.
    pub fn new(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: if (400..600).contains(&code) { code } else { 403 },
            reason: reason.into(),
            message: message.into(),
            causes: Vec::new(),
        }
    }

    /// A refusal as most are: 403 Forbidden.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "Forbidden", message)
    }

    /// Adds a cause: a reason such as `FieldValueInvalid`, what is wrong, and the field it is about.
    #[must_use]
    pub fn cause(mut self, reason: &str, message: &str, field: &str) -> Self {
        self.causes
            .push(json!({"reason": reason, "message": message, "field": field}));
        self
    }
}
