//! What the syncer's state hears, and what it wants done.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_api::multicluster::{ClusterProfile, PlacementDecision, Work};
use portolan_runtime::watch::Delta;
use tokio::time::Instant;

use super::key::{Target, TemplateKey};
use super::template::Content;
use crate::events::EventDraft;
use crate::reconcile::{Failure, Version};

/// What can be due.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// The watch of ClusterProfiles.
    Profiles,
    /// The watch of decisions in a namespace.
    Decisions(String),
    /// A work.
    Work(Target),
    /// What a template's condition says.
    Status(TemplateKey),
}

impl Item {
    /// The namespace of the templates that it is about.
    pub(super) fn namespace(&self) -> &str {
        match self {
            Item::Profiles => "",
            Item::Decisions(namespace) => namespace,
            Item::Work(target) => &target.template.0,
            Item::Status(key) => &key.0,
        }
    }
}

/// What the state hears.
#[derive(Debug)]
pub(super) enum Input {
    Work(Delta<Work>),
    Profile(Delta<ClusterProfile>),
    Cluster(Delta<ManagedCluster>),
    ClusterSet(Delta<ManagedClusterSet>),
    Binding(Delta<ManagedClusterSetBinding>),
    /// From one watch of a namespace; a later one has a higher number.
    Slice {
        namespace: String,
        watch: u64,
        delta: Delta<PlacementDecision>,
    },
    Ended {
        at: Instant,
        item: Item,
        outcome: Outcome,
    },
}

/// How a write ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// This was written, and this is what the work looks like.
    Shown(Arc<Work>, Arc<Content>),
    /// The work is gone.
    Removed,
    /// Nothing is there to be seen.
    Done,
    /// It was not carried out.
    Failed(Failure),
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Write {
    /// Begins to watch ClusterProfiles.
    WatchProfiles,
    /// Begins to watch the decisions of a namespace.
    WatchDecisions { namespace: String, watch: u64 },
    /// Ends that.
    EndDecisions { namespace: String },
    /// Creates a work.
    Create { target: Target, content: Arc<Content> },
    /// Puts a work right.
    Update {
        target: Target,
        version: Version,
        content: Arc<Content>,
    },
    /// Deletes a work.
    Delete {
        target: Target,
        name: String,
        version: Version,
    },
    /// Says in a template how it stands with it, and tells people.
    Status {
        template: TemplateKey,
        version: Version,
        conditions: Vec<Condition>,
        notes: Vec<(ObjectReference, EventDraft)>,
    },
}

impl Write {
    /// What is under way while it is carried out.
    pub(super) fn item(&self) -> Item {
        match self {
            Write::WatchProfiles => Item::Profiles,
            Write::WatchDecisions { namespace, .. } | Write::EndDecisions { namespace } => {
                Item::Decisions(namespace.clone())
            }
            Write::Create { target, .. } | Write::Update { target, .. } | Write::Delete { target, .. } => {
                Item::Work(target.clone())
            }
            Write::Status { template, .. } => Item::Status(template.clone()),
        }
    }
}
