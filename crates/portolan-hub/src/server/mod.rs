//! The server: requests in, answers out. One set of handlers for every kind.
//!
//! [`Core`] is what all handlers share; [`Service`] is the entry, usable in process and behind a listener. Handlers never
//! keep state of their own: what is not in the store is not there after a restart.

mod accept;
mod admit;
mod apart;
mod arrival;
mod attended;
mod body;
mod call;
mod checks;
mod definitions;
mod delete;
mod duplicates;
mod first_words;
mod gate;
mod idle;
mod impersonate;
mod in_flight;
mod journal;
mod limits;
mod listen;
mod media_type;
mod metadata;
mod metrics;
mod open_files;
mod patch;
mod quota;
mod read;
pub(crate) mod request;
pub(crate) mod roles;
mod scale;
mod selector;
mod serve;
mod service;
mod show;
mod snapshots;
mod status;
mod turns;
mod unread;
mod warnings;
mod watch;
mod watch_options;
mod watches;
mod write;
mod yaml;

#[cfg(test)]
mod authorization_tests;
#[cfg(test)]
mod forbidden_tests;
#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

pub(crate) use accept::{Form, form};
pub(crate) use apart::{MOST_AT_ONCE, apart_always, serve_apart};
pub use body::Body;
pub(crate) use body::{json as json_response, plain, value};
pub(crate) use delete::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};
pub(crate) use gate::{Gate, Peer};
use in_flight::InFlight;
pub use limits::ClientLimits;
pub(crate) use listen::Listener;
use metrics::Metrics;
pub(crate) use open_files::raise as raise_open_files;
pub use service::Service;
use snapshots::Snapshots;
pub(crate) use status::{Answer, Failure};
pub(crate) use turns::LONG_FROM;
use watches::Watches;
pub(crate) use write::is_free;

use crate::admission::Chain;
use crate::clock::Clock;
use crate::kinds::{Registry, prepare};
use crate::store::{Change, Expect, Key, Store, Write};
use crate::supervision::Supervision;

/// What every handler works on.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    gate: Gate,
    admission: Chain,
    in_flight: InFlight,
    pub(crate) metrics: Arc<Metrics>,
    registry: RwLock<Arc<Registry>>,
    /// Held while names are given out, so that no two definitions get the same.
    naming: tokio::sync::Mutex<()>,
    /// The watches that are open, by resource.
    pub(crate) watches: Watches,
    /// What watches that have just begun are still to send.
    pub(crate) snapshots: Snapshots,
    pub(crate) supervision: Arc<Supervision>,
    /// Turns true when the hub stops; watches end then.
    stopping: tokio::sync::watch::Receiver<bool>,
}

impl Core {
    pub(crate) fn new(
        store: Store,
        clock: Clock,
        gate: Gate,
        admission: Chain,
        limits: ClientLimits,
        stopping: tokio::sync::watch::Receiver<bool>,
    ) -> Self {
        let registry = RwLock::new(Arc::new(Registry::builtin()));
        Self {
            store,
            clock,
            gate,
            admission,
            in_flight: InFlight::new(limits),
            metrics: Arc::default(),
            registry,
            naming: tokio::sync::Mutex::default(),
            watches: Watches::default(),
            snapshots: Snapshots::default(),
            supervision: Supervision::new(stopping.clone()),
            stopping,
        }
    }

    /// A core without a hub around it: no objects, no tasks.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Arc<Self> {
        Self::in_memory_with(ClientLimits {
            requests_per_user: 1,
            watches_per_user: 1,
            ..ClientLimits::default()
        })
    }

    #[cfg(test)]
    pub(crate) fn in_memory_with(limits: ClientLimits) -> Arc<Self> {
        let (_, stopping) = tokio::sync::watch::channel(false);
        let accounts = crate::access::account_tokens::AccountTokens::in_memory("test");
        let store = Store::in_memory(crate::hub::HISTORY);
        let gate = Gate::new(accounts.expect("there is randomness"), &store);
        Arc::new(Self::new(
            store,
            Clock::system(),
            gate,
            Chain::default(),
            limits,
            stopping,
        ))
    }

    /// The kinds served now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Writes objects that must be there and are not.
    pub(crate) async fn ensure(&self, objects: Vec<Value>) -> Answer<()> {
        let registry = self.registry();
        let missing = objects.into_iter().filter_map(|mut object| {
            let api_version = object["apiVersion"].as_str().unwrap_or_default();
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let resource = registry.by_kind(group, version, object["kind"].as_str().unwrap_or_default())?;
            let namespace = metadata::text(&object, "namespace").to_owned();
            let key = Key::new(
                &resource.storage_group,
                &resource.plural,
                &namespace,
                metadata::text(&object, "name"),
            );
            if self.store.get(&key).is_some() {
                return None;
            }
            metadata::stamp_new(resource, &mut object, &namespace, &self.clock.stamp());
            prepare::complete(resource, &mut object, None);
            Some(self.commit(Write {
                key,
                expect: Expect::Absent,
                change: Change::Put(object),
            }))
        });
        // Together, so that they share one commit.
        for outcome in futures::future::join_all(missing).await {
            outcome.map_err(|error| Failure::internal(error.to_string()))?;
        }
        Ok(())
    }

    fn replace_registry(&self, registry: Registry) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
    }
}
