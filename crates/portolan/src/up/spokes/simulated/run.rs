//! Follows the workloads of a member, gives them their status, and makes the Jobs of CronJobs.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use portolan_runtime::logging::FailureLog;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::injected_fault::{ANNOTATION, InjectedFault, mistake};
use super::{KINDS, Step, Workload};
use crate::clock;

const MANAGER: &str = "portolan-simulated-workloads";
/// A status that could not be written is tried again after this time.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    kind: &'static str,
    namespace: String,
    name: String,
}

/// The workloads of a member as they were last seen.
#[derive(Default)]
struct Workloads {
    objects: HashMap<Key, Value>,
    /// The generation of each, and when it was first seen.
    since: HashMap<Key, (i64, Timestamp)>,
}

/// Plays the workload controllers of a member until it is dropped.
pub(crate) async fn run(member: Client, mut fate: watch::Receiver<InjectedFault>) {
    let watches = KINDS.map(|(group, kind)| {
        let api: Api<DynamicObject> = Api::all_with(member.clone(), &resource(group, kind));
        watcher::watcher(api, watcher::Config::default())
            .default_backoff()
            .map(move |event| (kind, event))
            .boxed()
    });
    let mut events = futures::stream::select_all(watches);
    let log = FailureLog::new("the member cluster");
    let mut workloads = Workloads::default();
    let mut timers: BTreeSet<(Timestamp, Key)> = BTreeSet::new();
    loop {
        let pause = timers.first().map(|(at, _)| until(clock::now(), *at));
        let due: Vec<Key> = tokio::select! {
            event = events.next() => match event {
                Some((kind, event)) => workloads.take(&log, kind, event, clock::now()),
                None => return,
            },
            changed = fate.changed() => match changed {
                Ok(()) => workloads.objects.keys().cloned().collect(),
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
            let now = clock::now();
            let Some((object, step)) = workloads.look(&key, *fate.borrow_and_update(), now) else {
                continue;
            };
            let mut again = step.again;
            if carry_out(&log, &member, &key, object, step).await.is_err() {
                again = Some(now + AGAIN);
            }
            timers.extend(again.map(|at| (at, key)));
        }
    }
}

fn resource(group: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}

impl Workloads {
    /// Takes note. Which workloads are to be looked at.
    fn take(
        &mut self,
        log: &FailureLog,
        kind: &'static str,
        event: watcher::Result<Event<DynamicObject>>,
        now: Timestamp,
    ) -> Vec<Key> {
        let key = |object: &DynamicObject| Key {
            kind,
            namespace: object.metadata.namespace.clone().unwrap_or_default(),
            name: object.metadata.name.clone().unwrap_or_default(),
        };
        match event {
            Ok(Event::Apply(mut object)) | Ok(Event::InitApply(mut object)) => {
                let key = key(&object);
                // As much again as the rest, and nothing here reads it.
                object.metadata.managed_fields = None;
                let generation = object.metadata.generation.unwrap_or(1);
                let since = self.since.entry(key.clone()).or_insert((generation, now));
                if since.0 != generation {
                    *since = (generation, now);
                }
                let annotations = object.metadata.annotations.as_ref();
                let said = annotations.and_then(|annotations| annotations.get(ANNOTATION));
                let before = self
                    .objects
                    .get(&key)
                    .map(|object| &object["metadata"]["annotations"][ANNOTATION]);
                if before.and_then(Value::as_str) != said.map(String::as_str)
                    && let Some(mistake) = mistake(annotations, &[InjectedFault::Failed])
                {
                    tracing::warn!(kind, namespace = key.namespace, name = key.name, "{mistake}");
                }
                let concerned = [Some(key.clone()), cron_job_of(&object)];
                let mut value = serde_json::to_value(&object).unwrap_or_default();
                value["kind"] = json!(kind);
                self.objects.insert(key, value);
                concerned.into_iter().flatten().collect()
            }
            Ok(Event::Delete(object)) => {
                self.objects.remove(&key(&object));
                self.since.remove(&key(&object));
                cron_job_of(&object).into_iter().collect()
            }
            Ok(Event::Init | Event::InitDone) => Vec::new(),
            // An older server serves CronJobs in another version, or a bare one no workloads at all.
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status))) if status.code == 404 => {
                Vec::new()
            }
            Err(error) => {
                log.watch_failed(&format!("simulated {kind}s"), &error);
                Vec::new()
            }
        }
    }

    /// The workload, and what is to become of it.
    fn look(&self, key: &Key, fate: InjectedFault, now: Timestamp) -> Option<(&Value, Step)> {
        let object = self.objects.get(key)?;
        let jobs: Vec<&Value> = match key.kind {
            "CronJob" => self.jobs_of(key, object),
            _ => Vec::new(),
        };
        let workload = Workload {
            object,
            jobs: &jobs,
            fate,
            since: self.since.get(key).map_or(now, |(_, since)| *since),
            now,
        };
        Some((object, workload.step()))
    }

    fn jobs_of(&self, key: &Key, cron_job: &Value) -> Vec<&Value> {
        let uid = &cron_job["metadata"]["uid"];
        let owned = |job: &Value| {
            let owners = job["metadata"]["ownerReferences"].as_array();
            owners.into_iter().flatten().any(|owner| owner["uid"] == *uid)
        };
        let jobs = self
            .objects
            .iter()
            .filter(|(other, job)| other.kind == "Job" && other.namespace == key.namespace && owned(job));
        jobs.map(|(_, job)| job).collect()
    }
}

/// The CronJob that has made an object.
fn cron_job_of(object: &DynamicObject) -> Option<Key> {
    let owners = object.metadata.owner_references.iter().flatten();
    let owner = owners.into_iter().find(|owner| owner.kind == "CronJob")?;
    Some(Key {
        kind: "CronJob",
        namespace: object.metadata.namespace.clone()?,
        name: owner.name.clone(),
    })
}

/// Makes and deletes Jobs, and then writes the status that says so.
async fn carry_out(
    log: &FailureLog,
    member: &Client,
    key: &Key,
    object: &Value,
    step: Step,
) -> kube::Result<()> {
    let jobs: Api<DynamicObject> =
        Api::namespaced_with(member.clone(), &key.namespace, &resource("batch", "Job"));
    if let Some(job) = step.create {
        let job = serde_json::from_value(job).map_err(kube::Error::SerdeError)?;
        let how = PostParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PostParams::default()
        };
        tolerate(log, &key.name, jobs.create(&how, &job).await.map(drop))?;
    }
    for name in &step.delete {
        let deleted = jobs.delete(name, &DeleteParams::background()).await;
        tolerate(log, name, deleted.map(drop))?;
    }
    let Some(status) = step.status else {
        return Ok(());
    };
    let group = KINDS
        .iter()
        .find(|(_, kind)| *kind == key.kind)
        .map(|(group, _)| *group);
    let resource = resource(group.unwrap_or_default(), key.kind);
    let api: Api<DynamicObject> = Api::namespaced_with(member.clone(), &key.namespace, &resource);
    write(log, &api, &key.name, object, &status).await
}

/// An object that is there already, is gone, or was changed meanwhile is heard of by its watch.
fn tolerate(log: &FailureLog, name: &str, answer: kube::Result<()>) -> kube::Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => {
            log.request_failed("write", "a simulated workload", &name, &error);
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}

/// Replaces the status. Somebody who changed the object meanwhile is heard of.
async fn write(
    log: &FailureLog,
    api: &Api<DynamicObject>,
    name: &str,
    object: &Value,
    status: &Value,
) -> kube::Result<()> {
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
    let answer = api.patch_status(name, &how, &Patch::Merge(patch)).await;
    tolerate(log, name, answer.map(drop))
}

/// Never zero: a timer that is a little early would otherwise spin.
fn until(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now))
        .unwrap_or_default()
        .max(Duration::from_millis(1))
}
