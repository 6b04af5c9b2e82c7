//! Findings of the checks, and the report that collects findings.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::registry::{CheckId, Level};

/// Longest message of a finding in bytes. Decisions can name ten thousand clusters; a finding names enough of them
/// to start looking.
pub const MESSAGE_LIMIT: usize = 400;

/// How many names a message lists before it only counts the rest.
const LISTED: usize = 5;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A statement that is optional in the documents does not hold.
    Warning,
    /// A statement that is required does not hold.
    Error,
}

/// One statement that does not hold for one subject, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Finding {
    /// The statement.
    pub check: CheckId,
    /// Error for a required statement, warning for an optional one.
    pub severity: Severity,
    /// What it is about: kind, namespace and name.
    pub subject: String,
    /// The evidence: clusters, objects and values, at most [`MESSAGE_LIMIT`] bytes.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}[{}] {}: {}", self.check, self.subject, self.message)
    }
}

/// What the checks found, in the order they ran, without repetitions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[must_use = "an unread report checks nothing"]
pub struct Report {
    /// The findings. Empty means that every statement looked at holds.
    pub findings: Vec<Finding>,
}

impl Report {
    /// A report without findings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Whether a required statement does not hold.
    pub fn has_errors(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Error)
    }

    /// The checks that found something, each once, in registry order.
    pub fn failed(&self) -> Vec<CheckId> {
        let mut checks: Vec<CheckId> = self.findings.iter().map(|finding| finding.check).collect();
        checks.sort_unstable();
        checks.dedup();
        checks
    }

    /// The findings of one check.
    pub fn of(&self, check: CheckId) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.check == check)
    }

    /// Adds the findings of another report, leaving out what is already here.
    pub fn extend(&mut self, other: Report) {
        for finding in other.findings {
            self.push(finding);
        }
    }

    pub(crate) fn add(&mut self, check: CheckId, subject: impl fmt::Display, message: impl Into<String>) {
        let severity = match check.check().level {
            Level::Required => Severity::Error,
            Level::Optional => Severity::Warning,
        };
        self.push(Finding {
            check,
            severity,
            subject: subject.to_string(),
            message: bounded(message.into()),
        });
    }

    fn push(&mut self, finding: Finding) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return writeln!(f, "no findings");
        }
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        let errors = self
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count();
        writeln!(f, "{errors} errors, {} warnings", self.findings.len() - errors)
    }
}

/// The first few items and how many more there are.
pub(crate) fn listed<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut items = items.into_iter();
    let mut text = items
        .by_ref()
        .take(LISTED)
        .map(|item| item.to_string())
        .collect::<Vec<_>>()
        .join(", ");
    let more = items.count();
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn bounded(mut message: String) -> String {
    if message.len() > MESSAGE_LIMIT {
        let mut end = MESSAGE_LIMIT - '…'.len_utf8();
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        message.push('…');
    }
    message
}
