//! The vocabulary of labels, annotations, finalizers, taints, conditions and reasons, each named once.

/// Name Portolan gives as the scheduler of its decisions.
pub const SCHEDULER_NAME: &str = "portolan";

/// Prefix of every label and annotation that is Portolan's own.
pub const PORTOLAN_PREFIX: &str = "portolan.dev/";

/// Labels on KEP decision slices and ClusterProfiles.
pub mod multicluster {
    /// Links the slices of one logical decision. The value is the placement's name, cut if it is too long.
    pub const DECISION_KEY: &str = "multicluster.x-k8s.io/decision-key";
    /// Position of a slice, a decimal number from 0.
    pub const DECISION_INDEX: &str = "multicluster.x-k8s.io/decision-index";
    /// Generation of a decision set, a decimal number. Slices of one revision belong together.
    pub const DECISION_REVISION: &str = "multicluster.x-k8s.io/decision-revision";
    /// How many slices the revision has, a decimal number from 1.
    pub const DECISION_SLICE_COUNT: &str = "multicluster.x-k8s.io/decision-slice-count";
    /// Index of the decision group of a slice, a decimal number from 0: the order in which groups are processed.
    pub const DECISION_GROUP_INDEX: &str = "multicluster.x-k8s.io/decision-group-index";
    /// Name of the decision group of a slice, for people.
    pub const DECISION_GROUP_NAME: &str = "multicluster.x-k8s.io/decision-group-name";
    /// Links a decision to the workload it was made for.
    pub const PLACEMENT_KEY: &str = "multicluster.x-k8s.io/placement-key";
    /// The placement of a slice, as the first revision of the KEP names it.
    pub const PLACEMENT: &str = "multicluster.x-k8s.io/placement";
    /// The scheduler of a slice, as the first revision of the KEP names it.
    pub const SCHEDULER: &str = "multicluster.x-k8s.io/scheduler";
    /// The cluster set of a ClusterProfile or of its namespace.
    pub const CLUSTER_SET: &str = "multicluster.x-k8s.io/clusterset";
    /// Identity of a member cluster inside one inventory; two profiles with the same value are duplicates.
    pub const INVENTORY_MEMBER_ID: &str = "multicluster.x-k8s.io/inventory-member-id";
    /// The manager of a ClusterProfile, equal to `spec.clusterManager.name`.
    pub const CLUSTER_MANAGER: &str = "x-k8s.io/cluster-manager";
    /// Finalizer of a Work whose objects are still on the member cluster.
    pub const WORK_FINALIZER: &str = "multicluster.x-k8s.io/work-cleanup";
    /// Finalizer of an AppliedWork: its agent decides what becomes of the objects that it owns before it goes.
    pub const APPLIED_WORK_FINALIZER: &str = "multicluster.x-k8s.io/applied-work-cleanup";
    /// Largest number of slices one decision may have.
    pub const MAX_SLICES: usize = 1000;
}

/// Labels, annotations, taints and finalizers of the OCM groups.
pub mod ocm {
    /// The placement a decision object belongs to.
    pub const PLACEMENT: &str = "cluster.open-cluster-management.io/placement";
    /// Index of the decision group of a decision object, a decimal number from 0.
    pub const DECISION_GROUP_INDEX: &str = "cluster.open-cluster-management.io/decision-group-index";
    /// Name of the decision group of a decision object, present but empty for unnamed groups.
    pub const DECISION_GROUP_NAME: &str = "cluster.open-cluster-management.io/decision-group-name";
    /// The exclusive cluster set of a ManagedCluster.
    pub const CLUSTER_SET: &str = "cluster.open-cluster-management.io/clusterset";
    /// Name of the ManagedCluster behind a ClusterProfile.
    pub const CLUSTER_NAME: &str = "open-cluster-management.io/cluster-name";
    /// Annotation that keeps OCM's own scheduler away from a Placement when its value is `true`.
    pub const SCHEDULING_DISABLE: &str = "cluster.open-cluster-management.io/experimental-scheduling-disable";
    /// Annotation that keeps a built-in cluster set as edited when its value is `false`.
    pub const AUTO_UPDATE: &str = "cluster.open-cluster-management.io/autoupdate";
    /// Taint of a cluster whose availability is False.
    pub const TAINT_UNAVAILABLE: &str = "cluster.open-cluster-management.io/unavailable";
    /// Taint of a cluster whose availability is Unknown or was never reported.
    pub const TAINT_UNREACHABLE: &str = "cluster.open-cluster-management.io/unreachable";
    /// Taint of a cluster that is being deleted.
    pub const TAINT_TERMINATING: &str = "cluster.open-cluster-management.io/terminating";
    /// Owner of a generated ManifestWork: `<namespace>.<name>` of the replica set.
    pub const REPLICA_SET: &str = "work.open-cluster-management.io/manifestworkreplicaset";
    /// Placement a generated ManifestWork comes from.
    pub const REPLICA_SET_PLACEMENT: &str = "work.open-cluster-management.io/placementname";
    /// Finalizer of a replica set whose works are still there.
    pub const REPLICA_SET_FINALIZER: &str = "work.open-cluster-management.io/manifest-work-cleanup";
    /// Finalizer of a ManifestWork whose objects are still on the member cluster.
    pub const MANIFEST_WORK_FINALIZER: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";
    /// Finalizer of an AppliedManifestWork: its agent decides what becomes of the objects that it owns before it goes.
    pub const APPLIED_MANIFEST_WORK_FINALIZER: &str =
        "cluster.open-cluster-management.io/applied-manifest-work-cleanup";
    /// Annotation of an object some of whose fields are ignored: hash of the manifest that it was last applied from.
    pub const SPEC_HASH: &str = "open-cluster-management.io/config-spec-hash";
    /// The Lease in a cluster's namespace that its agent renews.
    pub const CLUSTER_LEASE: &str = "managed-cluster-lease";
    /// Value of the cluster-manager label on ClusterProfiles that OCM writes.
    pub const CLUSTER_MANAGER_NAME: &str = "open-cluster-management";
    /// The built-in set that goes by the exclusive label.
    pub const DEFAULT_CLUSTER_SET: &str = "default";
    /// The built-in set that every cluster is in.
    pub const GLOBAL_CLUSTER_SET: &str = "global";
    /// How many clusters one OCM decision object holds at rest.
    pub const MAX_DECISIONS: usize = 100;
}

/// Portolan's own annotations.
pub mod portolan {
    /// Hash over group and sorted clusters of an OCM decision object; a reader waits while status differs from it.
    pub const CONTENT: &str = "portolan.dev/content";
    /// Scores of the clusters in a KEP slice, which has no field for them.
    pub const SCORES: &str = "portolan.dev/scores";
    /// Scheduler a Placement is handed to; with the value `portolan` it is ours.
    pub const SCHEDULER: &str = "portolan.dev/scheduler";
    /// Full placement name where the label had to be cut.
    pub const PLACEMENT_NAME: &str = "portolan.dev/placement-name";
    /// Full decision group name where the label had to be cut.
    pub const DECISION_GROUP_NAME: &str = "portolan.dev/decision-group-name";
    /// Full decision key where the label had to be cut.
    pub const DECISION_KEY: &str = "portolan.dev/decision-key";
    /// Stand-in for `spec.decisionStrategy.updateStrategy.type` on a hub whose CRD lacks the field.
    pub const UPDATE_STRATEGY: &str = "portolan.dev/update-strategy";
    /// Stand-in for `spec.decisionStrategy.groupStrategy.assignment` on a hub whose CRD lacks the field.
    pub const GROUP_ASSIGNMENT: &str = "portolan.dev/group-assignment";
    /// Stand-in for `spec.sortBy` on a hub whose CRD lacks the field.
    pub const SORT_BY: &str = "portolan.dev/sort-by";
    /// Stand-in for `spec.scoreRateLimit` on a hub whose CRD lacks the field.
    pub const SCORE_RATE_LIMIT: &str = "portolan.dev/score-rate-limit";
    /// Annotation of a ClusterProfile that was published from a ManagedCluster, with the name of who did.
    pub const PUBLISHED_BY: &str = "portolan.dev/published-by";
    /// Annotation of a ManifestWorkReplicaSet whose rollouts start nothing new while it is `true`.
    pub const ROLLOUT_PAUSED: &str = "portolan.dev/rollout-paused";
    /// Annotation of a ManifestWorkReplicaSet whose template goes no further: `true`, the template that it is about
    /// as `portolan rollout abort` writes it, or the generation.
    pub const ROLLOUT_ABORTED: &str = "portolan.dev/rollout-aborted";
    /// When a generated ManifestWork got the template that it carries.
    pub const ROLLOUT_SINCE: &str = "portolan.dev/rollout-since";
    /// Decision group, as `<index>/<name>`, in which a generated ManifestWork got the template that it carries.
    pub const ROLLOUT_GROUP: &str = "portolan.dev/rollout-group";
    /// UID of the work that an AppliedManifestWork or AppliedWork is the record of.
    pub const WORK_UID: &str = "portolan.dev/work-uid";
    /// Newest generation of the work that was applied.
    pub const WORK_GENERATION: &str = "portolan.dev/work-generation";
    /// Hash of what that generation said.
    pub const WORK_CONTENT: &str = "portolan.dev/work-content";
    /// The generation of the work at which nothing is removed, because the hub may be an older copy of itself.
    pub const KEEP_AT_GENERATION: &str = "portolan.dev/keep-at-generation";
    /// Keys of the labels of a record that were copied from its work, with commas in between.
    pub const WORK_LABELS: &str = "portolan.dev/work-labels";
    /// Label of an object that was just made: UID of the AppliedManifestWork or AppliedWork that it was made for. It is there
    /// until the object names that record as its owner, a moment later. (An annotation would count as an edit of a
    /// Deployment when it goes.)
    pub const MADE_FOR: &str = "portolan.dev/made-for";
    /// UIDs of the referenced ClusterProfiles, which a reference has no field for.
    pub const PROFILE_UIDS: &str = "portolan.dev/profile-uids";
    /// Label of a Work that was made from a template, with the name of who did.
    pub const SYNCED_BY: &str = "portolan.dev/synced-by";
    /// Annotation of such a Work: namespace and name of its template, with a slash in between.
    pub const TEMPLATE: &str = "portolan.dev/template";
    /// Label of every member that `portolan up --spokes` serves, for placements to select by. Anybody may give it to a
    /// cluster.
    pub const EMBEDDED_MEMBER: &str = "portolan.dev/embedded-member";
    /// Annotation of such a member that an earlier `portolan up` has started and the running one has not.
    pub const EMBEDDED_MEMBER_STOPPED: &str = "portolan.dev/embedded-member-stopped";
    /// Namespace on the hub with the ServiceAccounts of all agents, each called like its cluster. It is not the cluster's
    /// own namespace: a token ends with its ServiceAccount, and an agent needs its token while that namespace goes.
    pub const AGENT_NAMESPACE: &str = "portolan-agents";
    /// Role and RoleBinding of an agent in the namespace of its cluster.
    pub const AGENT_ROLE: &str = "portolan-agent";
    /// Finalizer of that Role and RoleBinding: they go after the works of the cluster, which their agent has to remove.
    pub const WAIT_FOR_WORKS: &str = "portolan.dev/wait-for-works";
    /// Finalizer of a ManagedCluster that `portolan leave` is removing, and that is shown until everything of it is gone.
    pub const LEAVE: &str = "portolan.dev/leave";
}

/// Condition types.
pub mod conditions {
    /// Placement: as many clusters are selected as were asked for.
    pub const PLACEMENT_SATISFIED: &str = "PlacementSatisfied";
    /// Placement: its settings cannot be evaluated.
    pub const PLACEMENT_MISCONFIGURED: &str = "PlacementMisconfigured";
    /// Placement: it is evaluated, and something in it hardly does what it is meant to. Only there while it is so.
    pub const PLACEMENT_WARNING: &str = "PlacementWarning";
    /// Placement: someone else's object has the key or the name of our decision, which is not written.
    pub const DECISION_KEY_CONFLICT: &str = "DecisionKeyConflict";
    /// ManagedCluster: the hub lets it in.
    pub const HUB_ACCEPTED: &str = "HubAcceptedManagedCluster";
    /// ManagedCluster: the hub keeps it out.
    pub const HUB_DENIED: &str = "HubDeniedManagedCluster";
    /// ManagedCluster: its agent has joined.
    pub const JOINED: &str = "ManagedClusterJoined";
    /// ManagedCluster: it can be reached and works.
    pub const AVAILABLE: &str = "ManagedClusterConditionAvailable";
    /// ManagedCluster: its clock agrees with the hub's.
    pub const CLOCK_SYNCED: &str = "ManagedClusterConditionClockSynced";
    /// ManagedCluster or ManifestWork: it is being deleted.
    pub const DELETING: &str = "Deleting";
    /// ManagedClusterSet: it has no cluster.
    pub const CLUSTER_SET_EMPTY: &str = "ClusterSetEmpty";
    /// ManagedClusterSetBinding: its set exists.
    pub const BOUND: &str = "Bound";
    /// ClusterProfile: the control plane of the cluster works.
    pub const CONTROL_PLANE_HEALTHY: &str = "ControlPlaneHealthy";
    /// ClusterProfile: the cluster has joined its manager.
    pub const PROFILE_JOINED: &str = "Joined";
    /// ManifestWork, Work: the objects were applied.
    pub const APPLIED: &str = "Applied";
    /// ManifestWork, Work: the objects exist.
    pub const WORK_AVAILABLE: &str = "Available";
    /// ManifestWork, Work: the objects are on their way.
    pub const PROGRESSING: &str = "Progressing";
    /// ManifestWork, Work: the objects are in bad health.
    pub const DEGRADED: &str = "Degraded";
    /// ManifestWork: the objects are done and are not updated any more.
    pub const COMPLETE: &str = "Complete";
    /// Work that is a template: there is one Work for it in the namespace of each chosen cluster.
    pub const SYNCED: &str = "Synced";
    /// ManifestWorkReplicaSet: its placements were found and have clusters.
    pub const PLACEMENT_VERIFIED: &str = "PlacementVerified";
    /// ManifestWorkReplicaSet: the rollout is done.
    pub const PLACEMENT_ROLLED_OUT: &str = "PlacementRolledOut";
    /// ManifestWorkReplicaSet: every work is applied and available.
    pub const MANIFESTWORK_APPLIED: &str = "ManifestworkApplied";
    /// ManifestWorkReplicaSet: clusters whose work the server does not take. Only there while there are such clusters.
    pub const WORKS_REFUSED: &str = "WorksRefused";
}

/// Reasons of conditions.
pub mod reasons {
    /// No usable binding in the placement's namespace.
    pub const NO_MANAGED_CLUSTER_SET_BINDINGS: &str = "NoManagedClusterSetBindings";
    /// None of the sets the placement names is bound.
    pub const NO_INTERSECTION: &str = "NoIntersection";
    /// The bound sets have no cluster.
    pub const ALL_MANAGED_CLUSTER_SETS_EMPTY: &str = "AllManagedClusterSetsEmpty";
    /// No cluster got through the filters.
    pub const NO_MANAGED_CLUSTER_MATCHED: &str = "NoManagedClusterMatched";
    /// Everything that was asked for is selected.
    pub const ALL_DECISIONS_SCHEDULED: &str = "AllDecisionsScheduled";
    /// Fewer clusters are selected than were asked for.
    pub const NOT_ALL_DECISIONS_SCHEDULED: &str = "NotAllDecisionsScheduled";
    /// The placement's settings cannot be evaluated.
    pub const MISCONFIGURED: &str = "Misconfigured";
    /// A cluster set that the placement names is not bound to its namespace.
    pub const CLUSTER_SET_NOT_BOUND: &str = "ClusterSetNotBound";
    /// An expression of the placement fails for every cluster that it is evaluated for.
    pub const EXPRESSION_FAILS: &str = "ExpressionFails";
    /// A score or property of the placement is there for no cluster.
    pub const SCORE_NOT_PUBLISHED: &str = "ScoreNotPublished";
    /// Two decision groups of the placement have the same name.
    pub const GROUP_NAME_REPEATED: &str = "GroupNameRepeated";
    /// The size of the decision groups is no size.
    pub const GROUP_SIZE_OUT_OF_RANGE: &str = "GroupSizeOutOfRange";
    /// A toleration of the placement ends before the taint is added.
    pub const TOLERATION_SECONDS_NEGATIVE: &str = "TolerationSecondsNegative";
    /// Two configurations of the placement name the same prioritizer.
    pub const PRIORITIZER_REPEATED: &str = "PrioritizerRepeated";
    /// No cluster has the topology key of a spread constraint of the placement.
    pub const TOPOLOGY_KEY_NOT_FOUND: &str = "TopologyKeyNotFound";
    /// The placement's settings are sound.
    pub const SUCCEED_CONFIGURED: &str = "Succeedconfigured";
    /// The set has no cluster.
    pub const NO_CLUSTER_MATCHED: &str = "NoClusterMatched";
    /// The set has clusters.
    pub const CLUSTERS_SELECTED: &str = "ClustersSelected";
    /// The bound set exists.
    pub const CLUSTER_SET_BOUND: &str = "ClusterSetBound";
    /// The bound set does not exist.
    pub const CLUSTER_SET_NOT_FOUND: &str = "ClusterSetNotFound";
    /// A referenced placement does not exist.
    pub const PLACEMENT_DECISION_NOT_FOUND: &str = "PlacementDecisionNotFound";
    /// The referenced placements have no cluster.
    pub const PLACEMENT_DECISION_EMPTY: &str = "PlacementDecisionEmpty";
    /// All is as it should be.
    pub const AS_EXPECTED: &str = "AsExpected";
    /// Something is not as it should be.
    pub const NOT_AS_EXPECTED: &str = "NotAsExpected";
    /// Works are being applied.
    pub const PROCESSING: &str = "Processing";
    /// The rollout goes on.
    pub const PROGRESSING: &str = "Progressing";
    /// The rollout is done.
    pub const COMPLETE: &str = "Complete";
    /// The rollout is done because there is no cluster to roll out to.
    pub const NO_CLUSTERS: &str = "NoClusters";
    /// A decision is being rewritten, or its objects and the placement's status do not agree.
    pub const PLACEMENT_DECISION_UNSETTLED: &str = "PlacementDecisionUnsettled";
    /// More clusters failed than may; nothing new is started.
    pub const MAX_FAILURES_EXCEEDED: &str = "MaxFailuresExceeded";
    /// The rollout was paused by hand.
    pub const PAUSED: &str = "Paused";
    /// The rollout was aborted by hand.
    pub const ABORTED: &str = "Aborted";
    /// A setting of the rollout cannot be read.
    pub const INVALID_ROLLOUT_STRATEGY: &str = "InvalidRolloutStrategy";
    /// The template cannot be a ManifestWork.
    pub const INVALID_TEMPLATE: &str = "InvalidTemplate";
    /// The hub lets the cluster in.
    pub const HUB_ADMIN_ACCEPTED: &str = "HubClusterAdminAccepted";
    /// The hub let the cluster in and does not any more.
    pub const HUB_ADMIN_DENIED: &str = "HubClusterAdminDenied";
    /// The agent of a cluster no longer renews its Lease.
    pub const LEASE_UPDATE_STOPPED: &str = "ManagedClusterLeaseUpdateStopped";
    /// The owner label of the works would not be a valid label value.
    pub const INVALID_MANIFEST_WORK_NAME: &str = "InvalidManifestWorkName";
}

/// Messages of conditions that have no variable part.
pub mod messages {
    /// With [`super::reasons::NO_MANAGED_CLUSTER_SET_BINDINGS`].
    pub const NO_BINDINGS: &str = "No valid ManagedClusterSetBindings found in placement namespace";
    /// With [`super::reasons::NO_MANAGED_CLUSTER_MATCHED`].
    pub const NO_CLUSTER_MATCHED: &str = "No ManagedCluster matches any of the cluster predicate";
    /// With [`super::reasons::ALL_DECISIONS_SCHEDULED`].
    pub const ALL_SCHEDULED: &str = "All cluster decisions scheduled";
    /// With [`super::reasons::SUCCEED_CONFIGURED`].
    pub const CONFIGURED: &str = "Placement configurations check pass";
    /// With [`super::reasons::HUB_ADMIN_ACCEPTED`].
    pub const HUB_ADMIN_ACCEPTED: &str = "Accepted by hub cluster admin";
    /// With [`super::reasons::HUB_ADMIN_DENIED`].
    pub const HUB_ADMIN_DENIED: &str = "Denied by hub cluster admin";
}
