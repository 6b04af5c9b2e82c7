//! Follows the workloads of a member and gives them their status.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::fate::Fate;
use super::Workload;
use crate::{clock, live};

const MANAGER: &str = "portolan-simulated-workloads";
/// A status that could not be written is tried again after this time.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    kind: &'static str,
    namespace: String,
    name: String,
}

/// Plays the workload controllers of a member until it is dropped.
pub(crate) async fn run(member: Client, mut fate: watch::Receiver<Fate>) {
    let kinds = [("apps", "Deployment"), ("batch", "Job")];
    let resource = |group: &str, kind: &str| ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    let watches = kinds.map(|(group, kind)| {
        let api: Api<DynamicObject> = Api::all_with(member.clone(), &resource(group, kind));
        watcher::watcher(api, watcher::Config::default())
            .default_backoff()
            .map(move |event| (kind, event))
            .boxed()
    });
    let mut events = futures::stream::select_all(watches);
    let mut workloads: HashMap<Key, Value> = HashMap::new();
    let mut timers: BTreeSet<(Timestamp, Key)> = BTreeSet::new();
    loop {
        let pause = timers.first().map(|(at, _)| until(clock::now(), *at));
        let due: Vec<Key> = tokio::select! {
            event = events.next() => match event {
                Some((kind, event)) => hear(&mut workloads, kind, event).into_iter().collect(),
                None => return,
            },
            changed = fate.changed() => match changed {
                Ok(()) => workloads.keys().cloned().collect(),
                Err(_) => return,
            },
            () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {
                let now = clock::now();
                let mut due = Vec::new();
                while timers.first().is_some_and(|(at, _)| *at <= now) {
                    due.extend(timers.pop_first().map(|(_, key)| key));
                }
                due
            }
        };
        for key in due {
            let Some(object) = workloads.get(&key) else {
                continue;
            };
            let now = clock::now();
            let step = Workload {
                object,
                fate: *fate.borrow_and_update(),
                now,
            }
            .step();
            let mut again = step.again;
            if let Some(status) = step.status {
                let group = kinds
                    .iter()
                    .find(|(_, kind)| *kind == key.kind)
                    .map(|(group, _)| *group);
                let resource = resource(group.unwrap_or_default(), key.kind);
                let api: Api<DynamicObject> = Api::namespaced_with(member.clone(), &key.namespace, &resource);
                if write(&api, &key.name, object, &status).await.is_err() {
                    again = Some(now + AGAIN);
                }
            }
            timers.extend(again.map(|at| (at, key)));
        }
    }
}

/// Takes note. Which workload is to be looked at.
fn hear(
    workloads: &mut HashMap<Key, Value>,
    kind: &'static str,
    event: watcher::Result<Event<DynamicObject>>,
) -> Option<Key> {
    let key = |object: &DynamicObject| Key {
        kind,
        namespace: object.metadata.namespace.clone().unwrap_or_default(),
        name: object.metadata.name.clone().unwrap_or_default(),
    };
    match event {
        Ok(Event::Apply(mut object)) | Ok(Event::InitApply(mut object)) => {
            let key = key(&object);
            // As much again as the rest, and nobody reads it.
            object.metadata.managed_fields = None;
            let mut value = serde_json::to_value(&object).unwrap_or_default();
            value["kind"] = json!(kind);
            workloads.insert(key.clone(), value);
            Some(key)
        }
        Ok(Event::Delete(object)) => {
            workloads.remove(&key(&object));
            None
        }
        Ok(Event::Init | Event::InitDone) => None,
        Err(error) => {
            tracing::warn!(
                kind,
                error = live::describe(&error),
                "simulated workloads cannot be watched"
            );
            None
        }
    }
}

/// Replaces the status. Somebody who changed the object meanwhile is heard of.
async fn write(api: &Api<DynamicObject>, name: &str, object: &Value, status: &Value) -> kube::Result<()> {
    // A merge leaves what it does not name, so what is to go is named.
    let mut patch = status.clone();
    for field in object["status"]
        .as_object()
        .into_iter()
        .flat_map(|old| old.keys())
    {
        if patch.get(field).is_none() {
            patch[field] = Value::Null;
        }
    }
    let how = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patch =
        json!({"metadata": {"resourceVersion": object["metadata"]["resourceVersion"]}, "status": patch});
    match api.patch_status(name, &how, &Patch::Merge(patch)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => {
            tracing::warn!(
                name,
                error = live::describe(&error),
                "a simulated status cannot be written"
            );
            Err(error)
        }
    }
}

/// Never zero: a timer that is a little early would otherwise spin.
fn until(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now))
        .unwrap_or_default()
        .max(Duration::from_millis(1))
}
