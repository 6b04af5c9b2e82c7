//! What the hub has of a running member: its ManagedCluster, its namespace and its works.
//!
//! The agent of a member that is no cluster any more goes on until its works are gone: nothing else removes their objects. A
//! namespace that is made anew has none of the rights of the agent, and gets them again.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use portolan_agent::Agent;
use tokio::sync::watch;

use super::injected_fault::InjectedFault;
use crate::clock;
use crate::join::{Newcomer, enroll};
use crate::leave;

/// Pause between two looks at the works of a member that leaves, and before rights are given another time.
const PAUSE: Duration = Duration::from_secs(1);

/// The UID of the namespace of each member, by name. Nothing while there is none.
pub(super) type Namespaces = Arc<HashMap<String, watch::Sender<Option<String>>>>;

/// Passes on which namespaces there are, until it is dropped.
pub(super) async fn follow(hub: Client, namespaces: Namespaces) {
    let api: Api<PartialObjectMeta<Namespace>> = Api::all(hub);
    let mut events = watcher::watcher(api, watcher::Config::default())
        .default_backoff()
        .boxed();
    while let Some(event) = events.next().await {
        let (namespace, is_there) = match event {
            Ok(Event::Apply(namespace) | Event::InitApply(namespace)) => (namespace, true),
            Ok(Event::Delete(namespace)) => (namespace, false),
            _ => continue,
        };
        let is_there = is_there && namespace.metadata.deletion_timestamp.is_none();
        let now = namespace.metadata.uid.filter(|_| is_there);
        let name = namespace.metadata.name.as_deref().unwrap_or_default();
        if let Some(known) = namespaces.get(name) {
            known.send_if_modified(|before| std::mem::replace(before, now.clone()) != now);
        }
    }
}

/// A member, and what is heard of it.
pub(super) struct Standing<'m> {
    pub(super) newcomer: Newcomer,
    pub(super) agent: &'m Agent,
    pub(super) fate: watch::Receiver<InjectedFault>,
    pub(super) namespace: watch::Receiver<Option<String>>,
}

impl Standing<'_> {
    /// Gives the agent its rights again in a namespace that is made anew, and ends the agent of a member that has left.
    pub(super) async fn keep(mut self, hub: &Client) -> Infallible {
        // The UID of the namespace in which the agent has its rights.
        let mut enrolled: Option<String> = None;
        loop {
            let fate = *self.fate.borrow_and_update();
            let namespace = self.namespace.borrow_and_update().clone();
            let is_settled = match (fate, namespace) {
                (InjectedFault::Left, _) => {
                    if !self.has_works(hub).await {
                        self.dismiss();
                        return std::future::pending().await;
                    }
                    false
                }
                (_, None) => true,
                (_, Some(uid)) => {
                    let has_rights =
                        enrolled.as_ref().is_none_or(|before| *before == uid) || self.enroll(hub).await;
                    if has_rights {
                        enrolled = Some(uid);
                    }
                    has_rights
                }
            };
            let heard = tokio::select! {
                change = self.fate.changed() => change.is_ok(),
                change = self.namespace.changed() => change.is_ok(),
                () = tokio::time::sleep(PAUSE), if !is_settled => true,
            };
            if !heard {
                // The process stops.
                return std::future::pending().await;
            }
        }
    }

    /// Whether the hub has works of the member. One that does not answer may have some.
    async fn has_works(&self, hub: &Client) -> bool {
        leave::has_works(hub, &self.newcomer.name).await.unwrap_or(true)
    }

    fn dismiss(&self) {
        self.agent.dismiss();
        tracing::info!(
            cluster = self.newcomer.name,
            "the member cluster has left the hub and its agent has ended; the next start of up joins it again"
        );
    }

    /// Makes what an agent needs on the hub. Whether that was done.
    async fn enroll(&self, hub: &Client) -> bool {
        let cluster = self.newcomer.name.as_str();
        match enroll(hub, &self.newcomer, clock::now()).await {
            Ok(_) => {
                tracing::info!(
                    cluster,
                    "the namespace of the member cluster was deleted and made anew; the agent has its rights there again"
                );
                true
            }
            Err((doing, error)) => {
                tracing::debug!(cluster, "cannot {doing}: {error}");
                false
            }
        }
    }
}
