//! Records and objects that another agent, or an earlier version of this one, has left.

mod in_turn;
mod killed;
mod left;
mod records;

use kube::Api;
use kube::api::{Patch, PatchParams};
use portolan_api::work::AppliedManifestWork;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::world::World;

fn records(world: &World) -> Api<AppliedManifestWork> {
    Api::all(world.spoke.client())
}

fn hub_hash(world: &World) -> String {
    let digest = Sha256::digest(world.settings().hub_server);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of the record of a work, as every agent of this hub gives it.
fn record_name(world: &World, work: &str) -> String {
    format!("{}-{work}", hub_hash(world))
}

async fn patch(world: &World, record: &str, patch: Value) {
    let how = PatchParams::default();
    let patched = records(world).patch(record, &how, &Patch::Merge(patch)).await;
    patched.unwrap();
}

async fn agent_id(world: &World, record: &str) -> String {
    let record = records(world).get(record).await.unwrap();
    record.spec.agent_id.unwrap_or_default()
}
