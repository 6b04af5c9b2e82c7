//! The live hub: reaching it, reading it into the same manifests that files give, and saying what to do when that fails.
//!
//! Nothing here decides or writes. Commands that read use a [`Session`]; commands that follow or write take the client.

mod anonymous;
mod api_server;
mod connect;
pub(crate) mod connection;
mod credentials;
mod error;
mod events;
pub(crate) mod file;
mod list;
mod readable;
mod renewal;
mod retry;
mod server;
mod token;

use std::collections::BTreeSet;
use std::future::Future;

use anyhow::Context;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use portolan_engine::placement::PlacementKey;
use tokio::runtime::Runtime;

use crate::input::{Manifests, Notes};
use crate::world::Inventory;

pub(crate) use anonymous::refuse_anonymous;
pub(crate) use connect::{ConnectArgs, NoKubeconfig, config_of};
pub(crate) use error::{describe, explain, is_of_hub, is_unserved, no_usable_answer};
pub(crate) use events::Event;
pub(crate) use list::{Extent, Namespaces, read};
pub(crate) use readable::{LeftOut, note, readable, split};
pub(crate) use renewal::{Credentials, Renewable, follow};
pub(crate) use server::Server;

/// Runs what has to wait for a server, on this thread alone.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    runtime()?.block_on(work)
}

/// A hub that is asked more than once: a client lives as long as the runtime that it was made on.
pub(crate) struct Session {
    runtime: Runtime,
    server: Server,
}

impl Session {
    pub(crate) fn new(args: &ConnectArgs) -> anyhow::Result<Session> {
        let runtime = runtime()?;
        let server = runtime.block_on(args.connect())?;
        Ok(Session { runtime, server })
    }

    /// The namespace of the kubeconfig's context.
    pub(crate) fn namespace(&self) -> &str {
        &self.server.namespace
    }

    /// What the hub is called in messages.
    pub(crate) fn url(&self) -> &str {
        &self.server.url
    }

    /// The objects of the hub, as far as they are asked for.
    pub(crate) fn read(
        &self,
        extent: Extent,
        namespaces: Namespaces<'_>,
        inventory: Inventory,
        notes: &mut Notes,
    ) -> anyhow::Result<Manifests> {
        self.runtime
            .block_on(list::read(&self.server, extent, namespaces, inventory, notes))
    }

    /// Notes the namespaces of Placements that neither the hub nor the files have: the hub would refuse these Placements.
    pub(crate) fn note_missing_namespaces(
        &self,
        change: &Manifests,
        notes: &mut Notes,
    ) -> anyhow::Result<()> {
        let named = change
            .placements()
            .filter_map(|placement| placement.metadata.namespace.clone());
        let named: BTreeSet<String> = named.filter(|name| !notes.makes_namespace(name)).collect();
        let api: Api<Namespace> = Api::all(self.server.client.clone());
        for name in named {
            // Without permission to read namespaces nothing is known of them.
            if let Ok(None) = self.runtime.block_on(api.get_metadata_opt(&name)) {
                notes.warn(format!(
                    "the hub has no namespace {name}, and refuses objects in it; make it first: `kubectl create namespace {name}`"
                ));
            }
        }
        Ok(())
    }

    /// The events of a placement, newest last.
    pub(crate) fn events(&self, key: &PlacementKey) -> anyhow::Result<Vec<Event>> {
        self.runtime.block_on(events::of(&self.server, key))
    }
}

fn runtime() -> anyhow::Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start the runtime")
}
