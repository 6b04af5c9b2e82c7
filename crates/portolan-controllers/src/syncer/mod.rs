//! The KEP's consumer: a Work for each cluster that a decision of any scheduler names.
//!
//! A `Work` with a `placement-key` is a template: each cluster that a decision with that key in the same namespace names
//! gets a work with its objects, in the namespace that is called like the cluster. The key is copied to the work and to
//! each object in it. Several decisions with one key add up; several templates with one key are all handed out.
//!
//! **Whose work it is.** What the syncer made has the label `portolan.dev/synced-by: portolan`, an annotation with its
//! template, and the name that follows from that. Any other work is never written nor deleted; one that has the name of
//! ours is reported and stays.
//!
//! **When one goes.** Its cluster is in no decision for it any more, or the decisions or the template are gone, and
//! complete lists say so. A decision that cannot be acted on (half a revision), a cluster without a ClusterProfile or with
//! an ambiguous name, a template with mistakes in it, and kinds that are not served keep every work as it is.
//!
//! **How far it reaches.** A decision sends works to clusters whose ClusterProfile is in the decision's own namespace or in
//! one that is shared ([`reach`]): who may write decisions in one namespace does not rule the whole fleet by that. A ManagedCluster
//! gets a work only if one of its sets is bound to the decision's namespace, where bindings are asked for ([`crate::bound`]): a
//! profile that somebody made there is no binding.
//!
//! **What it costs.** Works with a placement-key are watched always; decisions only in namespaces that have a template,
//! ClusterProfiles only once there is one.

mod decide;
mod inventory;
mod key;
mod message;
mod namespace_decisions;
mod reach;
mod report;
mod state;
mod template;
#[cfg(test)]
mod tests;
mod unreadable;
mod write;

use std::time::Duration;

use kube::Client;
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_api::labels::multicluster as labels;
use portolan_api::multicluster::Work;
use portolan_runtime::watch::{Subscriber, Watch};
use tokio::sync::mpsc;

use crate::bound::label_changes;
use crate::events::Events;
use crate::reconcile::{self, RequestContext};
use crate::settings::Settings;

use message::Input;
use reach::Reach;
use state::State;
use write::{Executor, Watches};

/// Messages between the watches and the state. Small, because a message may hold a whole object.
const CHANNEL: usize = 256;

/// Makes works from templates.
pub(crate) struct Syncer {
    client: Client,
    restore_grace: Duration,
    state: State,
    works: mpsc::Receiver<Input>,
    context: RequestContext,
    events: Events,
}

/// What a [`Syncer`] that asks for bindings wants to hear.
pub(crate) struct Subscribers {
    pub(crate) clusters: Subscriber<ManagedCluster>,
    pub(crate) sets: Subscriber<ManagedClusterSet>,
    pub(crate) bindings: Subscriber<ManagedClusterSetBinding>,
}

impl Syncer {
    /// A syncer that writes through `client`, and the watch that it follows. It ends when that does and its subscribers are dropped.
    pub(crate) fn new(
        client: Client,
        settings: &Settings,
        context: RequestContext,
        events: Events,
    ) -> (Syncer, Watch<Work>, Option<Subscribers>) {
        let (sender, works) = mpsc::channel(CHANNEL);
        let state = State::new(settings.longest_backoff, Reach::of(settings));
        let (state, subscribers) = match settings.requires_bindings() {
            false => (state, None),
            true => {
                let subscribers = Subscribers {
                    clusters: Subscriber::filtered(sender.clone(), Input::Cluster, label_changes()),
                    sets: Subscriber::new(sender.clone(), Input::ClusterSet),
                    bindings: Subscriber::new(sender.clone(), Input::Binding),
                };
                (state.requiring_bindings(), Some(subscribers))
            }
        };
        let watch = Watch::new(client.clone(), vec![Subscriber::new(sender, Input::Work)])
            .labelled(labels::PLACEMENT_KEY)
            .guarded(client.clone(), settings.restore_grace)
            .logging(&context.log);
        let syncer = Syncer {
            client,
            restore_grace: settings.restore_grace,
            state,
            works,
            context,
            events,
        };
        (syncer, watch, subscribers)
    }

    /// Runs until its watch ends.
    pub(crate) async fn run(mut self) {
        let (sender, inputs) = mpsc::channel(CHANNEL);
        let executor = Executor {
            client: self.client,
            restore_grace: self.restore_grace,
            context: self.context.clone(),
            events: self.events,
            inputs: sender.downgrade(),
            watches: Watches::default(),
        };
        let watches = executor.watches.clone();
        let forward = async move {
            while let Some(input) = self.works.recv().await {
                if sender.send(input).await.is_err() {
                    break;
                }
            }
            // The watches that were started here have to end for the channel to close.
            watches.end();
        };
        let keep = reconcile::run(self.state, inputs, self.context, move |write| {
            executor.clone().carry_out(write)
        });
        tokio::join!(forward, keep);
    }
}
