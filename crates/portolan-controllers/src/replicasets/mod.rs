//! ManifestWorkReplicaSets: one ManifestWork on every cluster that the placements select, rolled out step by step.
//!
//! Which clusters are next is `portolan-rollout`'s to say; here it is read what there is, and written what follows.
//!
//! * **A work is current** when its spec is the template. A work with another spec is not there as far as the rollout is
//!   concerned: its cluster waits for its turn and the work stays what it is until then.
//! * **Success counts for the generation that was applied** and no other. `Progressing` says it where something
//!   produces that condition; otherwise `Available` does. Soak times and deadlines count from what a controller saw or the
//!   hub wrote down, and never begin before the cluster was given the template, which the work's annotation
//!   `portolan.dev/rollout-since` tells.
//! * **Several placements**: a cluster that more than one of them selects belongs to the first in the order of the
//!   references, and is counted there.
//! * **Clusters that left** lose their works, whatever template those carry. Not on doubt: while a placement is missing, a
//!   decision is being rewritten, or the placement's status tells of other decisions than there are, works stay, and
//!   the conditions say so. Not while they cannot be reached, either, unless others took their place ([`crate::absence`]).
//! * **Clusters that are being deleted** get no work.
//! * **Labels** of the replica set are put on its works at once; they are no part of the template.
//! * **Pause and abort**: with the annotation `portolan.dev/rollout-paused: "true"` no cluster is started. With
//!   `portolan.dev/rollout-aborted` of `true`, of a digest of the template or of the replica set's generation, this template goes no
//!   further; what has it keeps it, and a new template rolls out again.
//! * **Bindings**: where they are asked for, a work is made only for a cluster of a set that is bound to the namespace of the
//!   replica set, whoever wrote the decision ([`crate::bound`]). Works that are there stay and are kept up to date.
//! * **A mistake** in template or strategy is a condition; all works stay as they are.
//! * A cluster that has no namespace, or whose server refuses the work, counts as failed after a few attempts, and is
//!   tried again.

mod attempts;
mod decide;
mod decisions;
mod evaluate;
mod failures;
mod index;
mod key;
mod message;
pub mod overview;
mod refusals;
mod rollout;
mod set;
mod state;
mod status;
#[cfg(test)]
mod tests;
mod verdict;
mod works;
mod write;

pub use set::{abortion, mistakes};

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kube::Client;
use portolan_api::cluster::{
    ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement, PlacementDecision,
};
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_engine::fleet::Inventory;
use portolan_runtime::watch::{Delta, Subscriber};
use tokio::sync::mpsc;

use crate::absence::Standing;
use crate::reconcile::{self, Labels, RequestContext};
use crate::settings::Settings;

use message::Input;
use state::State;

/// Messages between the watches and the state. Small, because a message may hold a whole object.
const CHANNEL: usize = 256;

/// Carries ManifestWorkReplicaSets out.
pub(crate) struct ReplicaSets {
    client: Client,
    state: State,
    inputs: mpsc::Receiver<Input>,
    context: RequestContext,
}

/// What [`ReplicaSets`] wants to hear. It ends when all of them are dropped.
pub(crate) struct Subscribers {
    pub(crate) sets: Subscriber<ManifestWorkReplicaSet>,
    pub(crate) works: Subscriber<ManifestWork>,
    pub(crate) placements: Subscriber<Placement>,
    pub(crate) decisions: Subscriber<PlacementDecision>,
    /// Only where clusters are ManagedClusters.
    pub(crate) clusters: Option<Subscriber<ManagedCluster>>,
    /// Only where works are for clusters of bound sets alone.
    pub(crate) cluster_sets: Option<Subscriber<ManagedClusterSet>>,
    pub(crate) bindings: Option<Subscriber<ManagedClusterSetBinding>>,
}

impl ReplicaSets {
    /// Replica sets through `client`.
    pub(crate) fn new(
        client: Client,
        settings: &Settings,
        context: RequestContext,
    ) -> (ReplicaSets, Subscribers) {
        let (sender, inputs) = mpsc::channel(CHANNEL);
        let hears_clusters = settings.inventory == Inventory::ManagedClusters;
        let requires_bindings = settings.requires_bindings();
        let subscribers = Subscribers {
            sets: Subscriber::new(sender.clone(), Input::Set),
            works: Subscriber::new(sender.clone(), Input::Work),
            placements: Subscriber::new(sender.clone(), Input::Placement),
            decisions: Subscriber::new(sender.clone(), Input::Decision),
            clusters: hears_clusters
                .then(|| Subscriber::filtered(sender.clone(), Input::Cluster, changes(requires_bindings))),
            cluster_sets: requires_bindings.then(|| Subscriber::new(sender.clone(), Input::ClusterSet)),
            bindings: requires_bindings.then(|| Subscriber::new(sender, Input::Binding)),
        };
        let sets = ReplicaSets {
            client,
            state: match requires_bindings {
                true => State::new(settings.longest_backoff, hears_clusters).requiring_bindings(),
                false => State::new(settings.longest_backoff, hears_clusters),
            },
            inputs,
            context,
        };
        (sets, subscribers)
    }

    /// Runs until its subscribers are dropped.
    pub(crate) async fn run(self) {
        let (client, context) = (self.client, self.context.clone());
        reconcile::run(self.state, self.inputs, self.context, move |job| {
            write::carry_out(client.clone(), context.clone(), job)
        })
        .await;
    }
}

/// Passes on what is said of a cluster that went offline, came back or is being removed, and with bindings also one whose
/// labels changed. A fleet's heartbeats say nothing else of it.
fn changes(with_labels: bool) -> impl Fn(&Delta<ManagedCluster>) -> bool {
    let known: Mutex<HashMap<String, (Standing, Labels)>> = Mutex::new(HashMap::new());
    move |delta| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        match delta {
            Delta::Applied(cluster) => {
                let name = cluster.metadata.name.clone().unwrap_or_default();
                let labels = cluster.metadata.labels.as_ref().filter(|_| with_labels);
                let now = (Standing::of(cluster), Labels::new(labels));
                let before = known.insert(name, now.clone());
                // One without labels may be in a set, too.
                with_labels && before.is_none() || before.unwrap_or_default() != now
            }
            Delta::Deleted(key) => known
                .remove(&key.name)
                .is_some_and(|last| with_labels || last.0 != Standing::default()),
            _ => true,
        }
    }
}
