//! Agents that report success for each work as soon as they see it, and when that was.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures::StreamExt;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use portolan_api::work::ManifestWork;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::clock::now;
use crate::clock::timestamp;

/// Reports that may be under way.
const PARALLEL: usize = 32;

/// What was seen, in nanoseconds since the start.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// When works were seen to be there, in order.
    pub(super) works: Vec<u64>,
    /// When reports of success were acknowledged, in order.
    pub(super) successes: Vec<u64>,
}

/// All agents, as one task.
pub(super) struct Agents {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
    start: Instant,
}

impl Agents {
    pub(super) fn start(client: Client) -> Agents {
        let (seen, start) = (Arc::<Mutex<Seen>>::default(), now());
        let task = tokio::spawn(answer(client, seen.clone(), start));
        Agents { seen, task, start }
    }

    /// Nanoseconds since the start.
    pub(super) fn elapsed(&self) -> u64 {
        since(self.start)
    }

    pub(super) fn stop(self) -> Seen {
        self.task.abort();
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

async fn answer(client: Client, seen: Arc<Mutex<Seen>>, start: Instant) {
    let note = |write: fn(&mut Seen, u64)| {
        write(
            &mut seen.lock().unwrap_or_else(PoisonError::into_inner),
            since(start),
        );
    };
    let api = Api::<ManifestWork>::all(client.clone());
    let fresh = watcher::watcher(api, watcher::Config::default()).filter_map(async |event| match event {
        Ok(Event::Apply(work) | Event::InitApply(work)) if work.status.is_none() => Some(work),
        _ => None,
    });
    let reports = fresh.map(|work| {
        note(|seen, now| seen.works.push(now));
        report(client.clone(), work)
    });
    let mut acknowledged = reports.buffer_unordered(PARALLEL).boxed();
    while let Some(done) = acknowledged.next().await {
        if done {
            note(|seen, now| seen.successes.push(now));
        }
    }
}

/// Whether the report was taken.
async fn report(client: Client, work: ManifestWork) -> bool {
    let (name, namespace) = (
        work.metadata.name.unwrap_or_default(),
        work.metadata.namespace.unwrap_or_default(),
    );
    let now = timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |type_: &str| {
        json!({
            "type": type_, "status": "True", "reason": "Simulated", "message": "",
            "observedGeneration": work.metadata.generation, "lastTransitionTime": now,
        })
    };
    let patch =
        Patch::Merge(json!({"status": {"conditions": [condition("Applied"), condition("Available")]}}));
    let api = Api::<ManifestWork>::namespaced(client, &namespace);
    api.patch_status(&name, &PatchParams::default(), &patch)
        .await
        .is_ok()
}
