//! What not every server can do.

use std::fmt;

/// Something a test may need that older real servers lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feature {
    /// `x-kubernetes-validations` in schemas.
    CelRules,
    /// Watches with `sendInitialEvents`.
    StreamingLists,
    /// `fieldValidation=Strict|Warn`.
    FieldValidation,
    /// `SelfSubjectReview`, which `kubectl auth whoami` asks for.
    SelfSubjectReview,
    /// Discovery of all groups in one answer.
    AggregatedDiscovery,
    /// `/openapi/v3`.
    OpenApiV3,
    /// `batch/v1` CronJobs.
    CronJobs,
    /// `selectableFields` of custom resources.
    SelectableFields,
    /// Refusals that a later write of the same value does not meet again.
    ValidationRatcheting,
    /// The formats `int32` and `int64` of numbers in schemas.
    NumberFormats,
    /// Dependents that go with their owners. Needs controllers.
    GarbageCollection,
    /// Namespaces that end. Needs controllers.
    NamespaceDeletion,
}

impl Feature {
    /// The first version whose servers have it as they come; `None` if that depends on controllers instead.
    pub fn since(self) -> Option<(u32, u32)> {
        Some(match self {
            Self::CronJobs => (1, 21),
            Self::OpenApiV3 => (1, 24),
            Self::CelRules | Self::FieldValidation => (1, 25),
            Self::SelfSubjectReview => (1, 28),
            Self::AggregatedDiscovery | Self::ValidationRatcheting => (1, 30),
            Self::SelectableFields => (1, 31),
            // Not in 1.20; no version between was looked at.
            Self::NumberFormats => (1, 36),
            // On in 1.32, off in 1.33, and on again.
            Self::StreamingLists => (1, 34),
            Self::GarbageCollection | Self::NamespaceDeletion => return None,
        })
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CelRules => "CEL rules in schemas",
            Self::StreamingLists => "streaming lists",
            Self::FieldValidation => "field validation",
            Self::SelfSubjectReview => "SelfSubjectReview",
            Self::AggregatedDiscovery => "aggregated discovery",
            Self::CronJobs => "CronJobs in batch/v1",
            Self::OpenApiV3 => "OpenAPI v3",
            Self::SelectableFields => "selectable fields of custom resources",
            Self::ValidationRatcheting => "validation ratcheting",
            Self::NumberFormats => "formats of numbers",
            Self::GarbageCollection => "garbage collection",
            Self::NamespaceDeletion => "namespace deletion",
        })
    }
}
