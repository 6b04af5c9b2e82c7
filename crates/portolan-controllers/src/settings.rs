//! What a user can set, in the words of the command line.

use std::time::Duration;

use portolan_engine::fleet::Inventory;
use portolan_engine::layout::PublishScores;
use portolan_runtime::Clock;

/// Whether one of the outputs is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Whenever its CRD is served.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Whether a controller runs that OCM has, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrying {
    /// Where Portolan schedules every Placement, and so OCM's controllers do not run.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// Settings of the controllers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the time comes from.
    pub clock: Clock,
    /// Which objects are the clusters.
    pub inventory: Inventory,
    /// Whether OCM-shaped decisions are written.
    pub ocm_decisions: Output,
    /// Whether KEP-shaped decision slices are written.
    pub slices: Output,
    /// Whether ClusterProfiles are published from ManagedClusters.
    pub cluster_profiles: Output,
    /// The one namespace for published ClusterProfiles. Without it each bound namespace that has a Placement gets its own.
    pub profile_namespace: Option<String>,
    /// Whether works are made from Works with a placement-key, for each cluster of the decisions with that key.
    pub work_syncer: Output,
    /// Namespaces whose ClusterProfiles the decisions of every namespace may name for works, besides the one for published
    /// profiles; `*` stands for all. Other decisions reach the profiles of their own namespace.
    pub shared_profiles: Vec<String>,
    /// Whether to look after sets, bindings and availability taints as OCM's registration controllers do.
    pub registration: bool,
    /// Whether Placements are decided. Where they are not, another scheduler decides.
    pub scheduling: Output,
    /// Whether ManifestWorkReplicaSets are carried out.
    pub replica_sets: Carrying,
    /// Whether a decision makes works, through a ManifestWorkReplicaSet or the work syncer, only for ManagedClusters of the
    /// sets that are bound to its namespace, whoever wrote it.
    pub require_bindings: Carrying,
    /// Whether ManifestWorks are deleted that are complete and have a time to live.
    pub finished_works: Carrying,
    /// When decisions carry scores.
    pub publish_scores: PublishScores,
    /// Writes a second, over the whole hub, that may be spent on refreshing nothing but scores.
    pub score_writes_per_second: f64,
    /// Requests that may be under way at the same time.
    pub parallel_writes: usize,
    /// Longest wait between two attempts after errors.
    pub longest_backoff: Duration,
    /// How long objects may be missing after their CustomResourceDefinition was created, before they count as deleted.
    pub restore_grace: Duration,
    /// Whether only Placements with the annotation that hands them to Portolan are scheduled.
    pub only_handed_over: bool,
}

impl Settings {
    /// Whether a controller runs: where OCM's controllers run, two who do the same would each make works.
    pub(crate) fn carries(&self, what: Carrying) -> bool {
        match what {
            Carrying::Auto => self.scheduling == Output::Auto && !self.only_handed_over,
            Carrying::On => true,
            Carrying::Off => false,
        }
    }

    /// Whether bindings are looked at before a work is made. Without ManagedClusters there are none.
    pub(crate) fn requires_bindings(&self) -> bool {
        self.inventory == Inventory::ManagedClusters && self.carries(self.require_bindings)
    }

    /// The defaults, with a clock.
    pub fn new(clock: Clock) -> Settings {
        Settings {
            clock,
            inventory: Inventory::ManagedClusters,
            ocm_decisions: Output::Auto,
            slices: Output::Auto,
            cluster_profiles: Output::Auto,
            profile_namespace: None,
            work_syncer: Output::Auto,
            shared_profiles: Vec::new(),
            registration: false,
            scheduling: Output::Auto,
            replica_sets: Carrying::Auto,
            finished_works: Carrying::Auto,
            require_bindings: Carrying::Auto,
            publish_scores: PublishScores::Always,
            score_writes_per_second: 5.0,
            parallel_writes: 32,
            longest_backoff: Duration::from_secs(30),
            restore_grace: Duration::from_secs(300),
            only_handed_over: false,
        }
    }
}
