//! The yardstick of a cold start: a client that writes the same objects with the same parallelism and does nothing else.

use std::time::Duration;

use anyhow::Context;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use portolan_api::cluster::{Placement, PlacementDecision};
use portolan_api::multicluster::{self, ClusterProfile};
use portolan_controllers::{Clock, Settings};
use serde_json::json;

use super::scene::Scene;
use super::server::Server;
use crate::clock::now;
use crate::clock::timestamp;

/// What the controllers wrote, object by object.
#[derive(Debug)]
pub(super) struct Written {
    decisions: Vec<PlacementDecision>,
    slices: Vec<multicluster::PlacementDecision>,
    pub(super) profiles: Vec<ClusterProfile>,
    placements: Vec<Placement>,
}

impl Written {
    pub(super) async fn read(server: &Server, scene: &Scene) -> anyhow::Result<Written> {
        let mut written = Written {
            decisions: server.all(scene).await?,
            slices: server.all(scene).await?,
            profiles: server.all(scene).await?,
            placements: server.all(scene).await?,
        };
        written
            .decisions
            .iter_mut()
            .for_each(|object| anew(&mut object.metadata));
        written
            .slices
            .iter_mut()
            .for_each(|object| anew(&mut object.metadata));
        written
            .profiles
            .iter_mut()
            .for_each(|object| anew(&mut object.metadata));
        Ok(written)
    }

    /// Writes all of it on a server that has none of it.
    pub(super) async fn write(&self, server: &Server) -> anyhow::Result<Duration> {
        let parallel = Settings::new(Clock::new(timestamp)).parallel_writes;
        let bare = Bare {
            server,
            parameters: PostParams {
                field_manager: Some("portolan".to_owned()),
                ..PostParams::default()
            },
        };
        let mut writes: Vec<BoxFuture<'_, anyhow::Result<()>>> = Vec::new();
        writes.extend(self.profiles.iter().map(|profile| bare.profile(profile).boxed()));
        writes.extend(
            self.decisions
                .iter()
                .map(|decision| bare.decision(decision).boxed()),
        );
        writes.extend(self.slices.iter().map(|slice| bare.slice(slice).boxed()));
        writes.extend(
            self.placements
                .iter()
                .map(|placement| bare.placement(placement).boxed()),
        );
        let started = now();
        stream::iter(writes)
            .buffer_unordered(parallel)
            .try_collect::<Vec<()>>()
            .await?;
        Ok(now() - started)
    }
}

/// What a server adds is left out.
fn anew(metadata: &mut ObjectMeta) {
    metadata.uid = None;
    metadata.resource_version = None;
    metadata.creation_timestamp = None;
    metadata.generation = None;
    metadata.managed_fields = None;
    metadata.self_link = None;
}

struct Bare<'a> {
    server: &'a Server,
    parameters: PostParams,
}

impl Bare<'_> {
    fn api<K>(&self, metadata: &ObjectMeta) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        Api::namespaced(self.server.client.clone(), namespace)
    }

    async fn decision(&self, decision: &PlacementDecision) -> anyhow::Result<()> {
        let api = self.api::<PlacementDecision>(&decision.metadata);
        let created = api.create(&self.parameters, decision).await?;
        let decision = PlacementDecision {
            metadata: created.metadata,
            status: decision.status.clone(),
        };
        let name = decision
            .metadata
            .name
            .as_deref()
            .context("an object without a name")?;
        api.replace_status(name, &self.parameters, &decision).await?;
        Ok(())
    }

    async fn slice(&self, slice: &multicluster::PlacementDecision) -> anyhow::Result<()> {
        let api = self.api::<multicluster::PlacementDecision>(&slice.metadata);
        api.create(&self.parameters, slice).await?;
        Ok(())
    }

    async fn profile(&self, profile: &ClusterProfile) -> anyhow::Result<()> {
        let api = self.api::<ClusterProfile>(&profile.metadata);
        let created = api.create(&self.parameters, profile).await?;
        let profile = ClusterProfile {
            metadata: created.metadata,
            ..profile.clone()
        };
        let name = profile
            .metadata
            .name
            .as_deref()
            .context("an object without a name")?;
        api.replace_status(name, &self.parameters, &profile).await?;
        Ok(())
    }

    async fn placement(&self, placement: &Placement) -> anyhow::Result<()> {
        let api = self.api::<Placement>(&placement.metadata);
        let patch = Patch::Merge(json!({"status": placement.status}));
        let parameters = PatchParams {
            field_manager: Some("portolan".to_owned()),
            ..PatchParams::default()
        };
        let name = placement
            .metadata
            .name
            .as_deref()
            .context("an object without a name")?;
        api.patch_status(name, &parameters, &patch).await?;
        Ok(())
    }
}
