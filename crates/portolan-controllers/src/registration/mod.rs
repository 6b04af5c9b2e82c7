//! What OCM's registration controllers do, for a hub without them.
//!
//! * The built-in ManagedClusterSets `default` and `global` exist; their selectors are put right unless the set is
//!   annotated `cluster.open-cluster-management.io/autoupdate: "false"`.
//! * A ManagedCluster without a cluster set label, or with an empty one, gets `default`. OCM does this when the
//!   object is admitted; here it follows a moment later.
//! * ManagedClusterSets carry `ClusterSetEmpty`, with the number of their clusters. A change of the number alone is
//!   written once a second at most, so that a fleet that registers does not cost a write per cluster.
//! * ManagedClusterSetBindings carry `Bound`. Which set is bound goes by the binding's name, as scheduling does.
//! * ManagedClusters carry the taint `unreachable` or `unavailable` after their Available condition. Other taints,
//!   also such with the same key and another value or effect, stay what and where they are. Until the taint is written,
//!   scheduling selects the cluster only where the taint is tolerated.
//! * A ManagedCluster whose Lease `managed-cluster-lease` was not renewed for five lease durations has Available
//!   Unknown. That it is available again is its agent's to say. A cluster without a Lease keeps what it has.
//!
//! It never deletes anything, and leaves objects alone that are being deleted. What follows from acceptance, the namespace
//! of a cluster and the end of its agent's account, is in [`acceptance`].

pub(crate) mod acceptance;
mod clusters;
mod heartbeat;
mod message;
mod sets;
mod state;
#[cfg(test)]
mod tests;
mod write;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_runtime::watch::{Subscriber, Watch};
use tokio::sync::mpsc;

use crate::reconcile::{self, RequestContext};
use crate::settings::Settings;

pub(crate) use clusters::with_missing_taint;
use state::{Input, State};

/// Messages between the watches and the state. Small, because a message may hold a whole object.
const CHANNEL: usize = 256;

/// Looks after sets, bindings and availability taints.
pub(crate) struct Registration {
    client: Client,
    state: State,
    inputs: mpsc::Receiver<Input>,
    context: RequestContext,
}

/// What [`Registration`] wants to hear. It ends when all of them are dropped.
pub(crate) struct Subscribers {
    pub(crate) clusters: Subscriber<ManagedCluster>,
    pub(crate) sets: Subscriber<ManagedClusterSet>,
    pub(crate) bindings: Subscriber<ManagedClusterSetBinding>,
    pub(crate) leases: Subscriber<Lease>,
}

/// The watch of the Leases that are heartbeats. A server has others, some of which are renewed every other second.
pub(crate) fn leases(client: Client, subscriber: Subscriber<Lease>) -> Watch<Lease> {
    Watch::new(client, vec![subscriber]).named(heartbeat::LEASE)
}

impl Registration {
    /// Registration through `client`.
    pub(crate) fn new(
        client: Client,
        settings: &Settings,
        context: RequestContext,
    ) -> (Registration, Subscribers) {
        let (sender, inputs) = mpsc::channel(CHANNEL);
        let subscribers = Subscribers {
            clusters: Subscriber::new(sender.clone(), Input::Cluster),
            sets: Subscriber::new(sender.clone(), Input::Set),
            bindings: Subscriber::new(sender.clone(), Input::Binding),
            leases: Subscriber::new(sender, Input::Lease),
        };
        let registration = Registration {
            client,
            state: State::new(settings.longest_backoff),
            inputs,
            context,
        };
        (registration, subscribers)
    }

    /// Runs until its subscribers are dropped.
    pub(crate) async fn run(self) {
        let (client, context) = (self.client, self.context.clone());
        reconcile::run(self.state, self.inputs, self.context, move |write| {
            write::carry_out(client.clone(), context.clone(), write)
        })
        .await;
    }
}
