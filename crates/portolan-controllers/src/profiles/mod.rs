//! ClusterProfiles for ManagedClusters, so that the references in decision slices resolve.
//!
//! Each namespace with a bound ManagedClusterSetBinding and a Placement has one ClusterProfile per cluster of its bound
//! sets that is not being deleted; with `--profile-namespace` that one namespace has them all. Labels, spec and
//! status are those that OCM writes with its own gate on.
//!
//! **Whose profile it is.** `spec.clusterManager.name` and the label say `open-cluster-management`: that is what
//! manages a ManagedCluster, what consumers of such a hub select by, and the field can never be changed later. What
//! Portolan published it knows by the annotation `portolan.dev/published-by: portolan`. A profile without it, or with
//! another manager, is somebody else's: it is never written nor deleted, and it serves as the profile of its name.
//! Beside OCM's own publishing nobody fights: both write the same content to ours, and we none to OCM's.
//!
//! **When one goes.** Its cluster is gone, is being deleted, or is in no bound set any more, and complete lists say so.
//! It then stays for [`GRACE`], so that decisions can follow first, and while a decision slice refers to it, but no
//! longer than [`LONGEST_HOLD`]: a slice of a scheduler that never lets go must not keep a dead cluster in the inventory.
//! One that was never wanted since the process started stays while its cluster, or what makes it eligible, may be on its
//! way from a backup ([`portolan_runtime::watch::CrdAge`]). With a set that cannot be evaluated in its bindings, a namespace loses no profile.
//!
//! **What is compared.** Of each profile a hash of what we would write, and its version; of each cluster the same
//! and the status to publish, packed. A heartbeat that changes neither costs no write. Who edits our profile is corrected;
//! who deletes it sees it come back, slower each time.

mod bound_namespaces;
mod cluster;
mod content;
mod message;
mod namespace;
mod published_profiles;
mod references;
mod state;
#[cfg(test)]
mod tests;
mod write;

use std::time::Duration;

use kube::Client;
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use portolan_api::multicluster::ClusterProfile;
use portolan_runtime::watch::Subscriber;
use tokio::sync::mpsc;

use crate::health::Outputs;
use crate::reconcile::{self, RequestContext};
use crate::settings::Settings;

use message::Input;
pub(crate) use published_profiles::Profiles;
use state::State;

/// How long a profile stays after its cluster left: decisions follow within this, and whoever replaces the only
/// Placement of a namespace does not lose and regain a fleet of profiles.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// How long a profile stays at most because a slice refers to it.
pub(crate) const LONGEST_HOLD: Duration = Duration::from_secs(60);

/// Messages between the watches and the state. Small, because a message may hold a whole object.
const CHANNEL: usize = 256;

/// Publishes ClusterProfiles.
pub(crate) struct Publisher {
    client: Client,
    state: State,
    inputs: mpsc::Receiver<Input>,
    context: RequestContext,
    /// Whether slices of all namespaces may refer to the profiles.
    shared: bool,
}

/// What [`Publisher`] wants to hear. It ends when all of them are dropped. Where a watch has several listeners, this one
/// should come first: it then knows a cluster before a decision can name it.
pub(crate) struct Subscribers {
    pub(crate) clusters: Subscriber<ManagedCluster>,
    pub(crate) sets: Subscriber<ManagedClusterSet>,
    pub(crate) bindings: Subscriber<ManagedClusterSetBinding>,
    pub(crate) placements: Subscriber<Placement>,
    pub(crate) profiles: Subscriber<ClusterProfile>,
}

impl Publisher {
    /// A publisher that writes through `client`. Whoever refers to profiles waits for them with [`Profiles`].
    pub(crate) fn new(
        client: Client,
        settings: &Settings,
        context: RequestContext,
        outputs: Outputs,
    ) -> (Publisher, Subscribers, Profiles) {
        let (sender, inputs) = mpsc::channel(CHANNEL);
        let subscribers = Subscribers {
            clusters: Subscriber::new(sender.clone(), Input::Cluster),
            sets: Subscriber::new(sender.clone(), Input::Set),
            bindings: Subscriber::new(sender.clone(), Input::Binding),
            placements: Subscriber::new(sender.clone(), Input::Placement),
            profiles: Subscriber::new(sender, Input::Profile),
        };
        let profiles = Profiles::new();
        let state = State::new(
            settings.profile_namespace.as_deref(),
            settings.longest_backoff,
            settings.restore_grace,
            profiles.clone(),
            outputs,
        );
        let publisher = Publisher {
            client,
            state,
            inputs,
            context,
            shared: settings.profile_namespace.is_some(),
        };
        (publisher, subscribers, profiles)
    }

    /// Runs until its subscribers are dropped.
    pub(crate) async fn run(self) {
        let (client, context, shared) = (self.client, self.context.clone(), self.shared);
        reconcile::run(self.state, self.inputs, self.context, move |write| {
            write::carry_out(client.clone(), context.clone(), shared, write)
        })
        .await;
    }
}
