//! What follows from the hub's acceptance of a cluster, and what is left when the cluster goes.
//!
//! * An accepted ManagedCluster has a namespace of its name, and the condition `HubAcceptedManagedCluster`. A namespace
//!   that is there is used as it is. One that was accepted and is not any more gets the condition with False; one that
//!   never was gets none, as with OCM.
//! * The namespace of a cluster that is being deleted keeps its agent's Role and RoleBinding until its works are gone:
//!   the agent needs them to remove the works. `portolan join` gives them a finalizer, which is taken off here.
//! * When the ManagedCluster and the namespace are both gone, so is the use of the agent's ServiceAccount, which is deleted.
//!
//! Nothing else is deleted, and no work.

mod state;
#[cfg(test)]
mod tests;
mod write;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::ocm;
use portolan_runtime::watch::{Delta, Subscriber, Watch};
use tokio::sync::mpsc;

use crate::reconcile::{self, RequestContext};
use crate::settings::Settings;

use state::{Input, Standing, State};

/// Messages between the watches and the state. Small, because a message may hold a whole object.
const CHANNEL: usize = 256;

/// Looks after the namespaces of clusters, the condition that says that they are accepted, and the end of their accounts.
pub(crate) struct Acceptance {
    client: Client,
    state: State,
    inputs: mpsc::Receiver<Input>,
    context: RequestContext,
}

/// What [`Acceptance`] wants to hear. It ends when all of them are dropped.
pub(crate) struct Subscribers {
    pub(crate) clusters: Subscriber<ManagedCluster>,
    pub(crate) namespaces: Subscriber<Namespace>,
}

/// The watch of the namespaces that belong to clusters.
pub(crate) fn namespaces(client: Client, subscriber: Subscriber<Namespace>) -> Watch<Namespace> {
    Watch::new(client, vec![subscriber]).labelled(ocm::CLUSTER_NAME)
}

impl Acceptance {
    /// Acceptance through `client`.
    pub(crate) fn new(
        client: Client,
        settings: &Settings,
        context: RequestContext,
    ) -> (Acceptance, Subscribers) {
        let (sender, inputs) = mpsc::channel(CHANNEL);
        let subscribers = Subscribers {
            clusters: Subscriber::filtered(sender.clone(), Input::Cluster, standing_changes()),
            namespaces: Subscriber::new(sender, Input::Namespace),
        };
        let acceptance = Acceptance {
            client,
            state: State::new(settings.longest_backoff),
            inputs,
            context,
        };
        (acceptance, subscribers)
    }

    /// Runs until the feeds are dropped.
    pub(crate) async fn run(self) {
        let (client, context) = (self.client, self.context.clone());
        reconcile::run(self.state, self.inputs, self.context, move |write| {
            write::carry_out(client.clone(), context.clone(), write)
        })
        .await;
    }
}

/// Passes on what is said of a cluster that is accepted, denied or deleted. A fleet's heartbeats say nothing of that.
fn standing_changes() -> impl Fn(&Delta<ManagedCluster>) -> bool {
    let known: Mutex<HashMap<String, Standing>> = Mutex::new(HashMap::new());
    move |delta| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        match delta {
            Delta::Applied(cluster) => {
                let name = cluster.metadata.name.clone().unwrap_or_default();
                let standing = Standing::of(cluster);
                known.insert(name, standing) != Some(standing)
            }
            Delta::Deleted(key) => {
                known.remove(&key.name);
                true
            }
            _ => true,
        }
    }
}
