//! What was done with a manifest, and what is there: the input of a report.

use portolan_api::work::ManifestResourceMeta;
use serde_json::Value;

use crate::work::Target;

/// What came of applying a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApplyOutcome {
    Done,
    /// It is complete, and not touched any more.
    Finished,
    /// With a reason, and the server's own words.
    Failed {
        reason: String,
        message: String,
    },
}

impl ApplyOutcome {
    /// Whether it is to be tried again.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self, ApplyOutcome::Failed { .. })
    }
}

/// What is there now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ObservedObject {
    There(Box<Value>),
    /// It is there, and whoever the work is applied for may not read it.
    Hidden,
    Missing,
    /// It could not be found out, in words.
    Unknown(String),
}

/// What is known about one manifest after it was dealt with.
#[derive(Clone, Debug)]
pub(crate) struct ManifestResult {
    pub(crate) meta: ManifestResourceMeta,
    /// `None` where the manifest has no place on the member cluster.
    pub(crate) target: Option<Target>,
    pub(crate) applied: ApplyOutcome,
    pub(crate) found: ObservedObject,
}

/// Whether nothing of the work is touched any more.
pub(crate) fn is_over(findings: &[ManifestResult]) -> bool {
    !findings.is_empty()
        && findings
            .iter()
            .all(|finding| finding.applied == ApplyOutcome::Finished)
}
