//! How the evaluation of a placement ended.

use serde::Serialize;

/// Worst thing that happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Code {
    /// Everything went as asked.
    #[default]
    Success,
    /// The decision stands, but on incomplete information, such as an expired score.
    Warning,
    /// The placement itself is wrong; the last decision is kept.
    Misconfigured,
    /// The decision could not be computed; the last decision is kept.
    Error,
}

/// Result of an evaluation: code, the plugin that said so, and its words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Worst thing that happened.
    pub code: Code,
    /// Plugin that reported it; empty on success and for problems outside of any plugin.
    pub plugin: String,
    /// What is wrong and what would be accepted; empty on success.
    pub message: String,
}

impl Status {
    pub(crate) fn misconfigured(plugin: &str, message: impl Into<String>) -> Status {
        Status {
            code: Code::Misconfigured,
            plugin: plugin.to_owned(),
            message: message.into(),
        }
    }

    /// The evaluation went on, and the message is shown.
    pub fn warning(plugin: &str, message: impl Into<String>) -> Status {
        Status {
            code: Code::Warning,
            plugin: plugin.to_owned(),
            message: message.into(),
        }
    }

    /// The evaluation ended.
    pub fn error(plugin: &str, message: impl Into<String>) -> Status {
        Status {
            code: Code::Error,
            plugin: plugin.to_owned(),
            message: message.into(),
        }
    }

    /// Whether the last decision must be kept because there is no new one.
    pub fn keeps_last_decision(&self) -> bool {
        matches!(self.code, Code::Misconfigured | Code::Error)
    }
}
