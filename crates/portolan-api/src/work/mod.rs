//! Group `work.open-cluster-management.io`: workload distribution with rollout strategies.

mod applied;
mod config;
mod identifier;
mod manifest_work;
mod replica_set;
mod rollout;
mod well_known;

pub use applied::{
    AppliedManifestResourceMeta, AppliedManifestWork, AppliedManifestWorkSpec, AppliedManifestWorkStatus,
};
pub use config::{
    ConditionRule, ConditionRuleType, FeedbackRule, FeedbackScrapeType, FeedbackType, IgnoreField,
    IgnoreFieldsCondition, JsonPath, ManifestConfigOption, ServerSideApplyConfig, UpdateStrategy,
    UpdateStrategyType,
};
pub use manifest_work::{
    DeleteOption, DeletePropagationPolicy, Executor, ExecutorServiceAccount, ExecutorSubject,
    ExecutorSubjectType, FeedbackValue, FieldValue, FieldValueType, ManifestCondition, ManifestResourceMeta,
    ManifestResourceStatus, ManifestWork, ManifestWorkSpec, ManifestWorkStatus, ManifestsTemplate,
    ResourceIdentifier, SelectivelyOrphan, StatusFeedback,
};
pub use replica_set::{
    CascadeDeletionPolicy, LocalPlacementReference, ManifestWorkReplicaSet, ManifestWorkReplicaSetSpec,
    ManifestWorkReplicaSetStatus, PlacementSummary, Summary,
};
pub(crate) use rollout::without_effect;
pub use rollout::{
    MandatoryDecisionGroup, RolloutAll, RolloutConfig, RolloutProgressive, RolloutProgressivePerGroup,
    RolloutStrategy, RolloutType,
};
pub use well_known::well_known_conditions;

/// The API group of every kind in this module.
pub const GROUP: &str = "work.open-cluster-management.io";

/// How many bytes the manifests of one ManifestWork may have together.
pub const MAX_MANIFESTS_BYTES: usize = 500 * 1024;

/// How many bytes a spec may have beside its manifests. Larger, and the status of the work would find no room in an object of etcd,
/// which has 1.5 MiB; smaller, and a work of many small objects could not have an option for each.
pub const MAX_OPTIONS_BYTES: usize = 500 * 1024;
