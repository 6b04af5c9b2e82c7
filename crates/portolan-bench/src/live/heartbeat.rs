//! Status updates of clusters that no placement has a reason to look at.

use std::time::Duration;

use anyhow::Context;
use kube::Api;
use kube::api::{Patch, PatchParams};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::conditions;
use serde::Serialize;
use serde_json::json;

use super::process::Process;
use super::scene::Scene;
use super::server::Server;
use crate::figures::rounded;

/// Time for the last of them to arrive.
const ARRIVAL: Duration = Duration::from_millis(500);

/// What a heartbeat takes.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Heartbeats {
    /// CPU of the controllers per heartbeat.
    cpu_ms: f64,
    /// The same / the CPU of a program that only watches.
    cpu_ratio: f64,
    evaluations: u64,
    writes: u64,
    heartbeats: usize,
}

/// One after the other: together they would be cheaper, as one waking-up would serve many.
pub(super) async fn measure(
    server: &Server,
    scene: &Scene,
    process: &mut Process,
    reader: &Process,
    count: usize,
) -> anyhow::Result<Heartbeats> {
    let api = Api::<ManagedCluster>::all(server.client.clone());
    let before = process.metrics().await?;
    let (cpu, read) = (process.cpu_ns()?, reader.cpu_ns()?);
    for beat in 0..count {
        let cluster = scene.cluster(beat % scene.clusters());
        let name = cluster.metadata.name.unwrap_or_default();
        let mut status = cluster.status.unwrap_or_default();
        for condition in &mut status.conditions {
            if condition.type_ == conditions::AVAILABLE {
                condition.message = format!("Managed cluster is available, heartbeat {beat}");
            }
        }
        let patch = Patch::Merge(json!({"status": {"conditions": status.conditions}}));
        let patched = api.patch_status(&name, &PatchParams::default(), &patch).await;
        patched.with_context(|| format!("cannot write the status of ManagedCluster {name}"))?;
    }
    tokio::time::sleep(ARRIVAL).await;
    let (cpu, read) = (process.cpu_ns()? - cpu, reader.cpu_ns()? - read);
    let after = process.metrics().await?;
    Ok(Heartbeats {
        cpu_ms: rounded(cpu as f64 / 1e6 / count.max(1) as f64),
        cpu_ratio: rounded(cpu as f64 / read.max(1) as f64),
        evaluations: after.evaluations - before.evaluations,
        writes: after.writes - before.writes,
        heartbeats: count,
    })
}
