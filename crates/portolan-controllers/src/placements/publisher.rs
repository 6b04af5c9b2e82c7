//! Carries out the writes of one job: phases in order, the writes of a phase side by side, the status of the placement
//! last. What the server acknowledged is reported whether or not the rest went well.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{join, join_all};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Client};
use portolan_api::cluster::{self, Placement, PlacementStatus};
use portolan_api::multicluster;
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{Plan, Reference, Write};
use portolan_runtime::logging::FailureLog;
use portolan_runtime::watch::Key;
use serde_json::json;
use tokio::sync::{Semaphore, SemaphorePermit};
use tracing::Instrument;

use super::answer::Objects;
use super::backoff::Severity;
use super::job::{Acknowledged, Failure, Job, Report, Teardown, phases};
use crate::metrics::Metrics;
use crate::profiles::Profiles;
use crate::request::{self, Problem};
use crate::trace;

/// How long a write that no reader waits for lets others go first.
const LONGEST_STEP_BACK: Duration = Duration::from_millis(250);

/// Writes what the scheduler decided.
#[derive(Clone)]
pub(crate) struct Publisher {
    pub(crate) client: Client,
    /// Shared by all controllers: how many requests may be under way.
    pub(crate) slots: Arc<Semaphore>,
    /// How many of them may be writes that no reader of decisions waits for.
    pub(crate) low_priority: Arc<Semaphore>,
    /// Says when the profiles that slices refer to are there.
    pub(crate) profiles: Profiles,
    pub(crate) metrics: Metrics,
    /// Failures of all controllers.
    pub(crate) log: FailureLog,
}

/// Kind and name.
type Object = (&'static str, String);
/// UID and resource version.
type Version = (String, String);

/// The versions that objects have after writes of the same job, and what was acknowledged.
#[derive(Default)]
struct Ledger {
    versions: Mutex<HashMap<Object, Version>>,
    acknowledged: Mutex<Vec<Acknowledged>>,
}

impl Ledger {
    /// UID and version that a write has to name: those of the last acknowledged write, else those observed.
    fn current(&self, kind: &'static str, metadata: &mut ObjectMeta) {
        let versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let name = metadata.name.clone().unwrap_or_default();
        if let Some((uid, version)) = versions.get(&(kind, name)) {
            metadata.uid = Some(uid.clone());
            metadata.resource_version = Some(version.clone());
        }
    }

    fn wrote(&self, kind: &'static str, metadata: &ObjectMeta) {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.insert(
            (kind, text(&metadata.name)),
            (text(&metadata.uid), text(&metadata.resource_version)),
        );
    }

    fn acknowledge(&self, acknowledged: Acknowledged) {
        let mut all = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(acknowledged);
    }

    fn into_acknowledged(self) -> Vec<Acknowledged> {
        self.acknowledged
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Publisher {
    /// Publishes a decision.
    pub(crate) async fn publish(&self, job: Job) -> Report {
        let key = job.summary.key;
        let ledger = Ledger::default();
        if job.confirm
            && let Err(failure) = self.confirm(&key, &job.placement).await
        {
            return Report {
                key,
                acknowledged: Vec::new(),
                result: Err(failure),
            };
        }
        let slices = async {
            if let Some((namespace, names)) = job.profiles {
                let waiting = self.profiles.published(&namespace, &names);
                waiting.instrument(trace::profiles(names.len())).await;
            }
            self.carry_out(&key, "kep", job.slices, &ledger).await
        };
        let decisions = self.carry_out(&key, "ocm", job.decisions, &ledger);
        let (decisions, slices) = join(decisions, slices).await;
        let mut result = decisions.and(slices);
        // A status that speaks of objects that are not there yet would mislead every reader.
        if let (Ok(()), Some(status)) = (&result, job.status) {
            result = self.status(&job.placement, status, &ledger).await;
        }
        Report {
            key,
            acknowledged: ledger.into_acknowledged(),
            result,
        }
    }

    /// Makes sure that the placement is there and is not being deleted.
    async fn confirm(&self, key: &PlacementKey, placement: &Reference) -> Result<(), Failure> {
        let placements = Api::<Placement>::namespaced(self.client.clone(), &key.namespace);
        let found = self
            .call("get", PLACEMENTS, &key, || placements.get_metadata_opt(&key.name))
            .await
            .map_err(|problem| failure(format!("get Placement {key}"), problem))?;
        let stays = found.is_some_and(|found| {
            found.metadata.uid == placement.uid && found.metadata.deletion_timestamp.is_none()
        });
        stays.then_some(()).ok_or_else(|| Failure {
            severity: Severity::Conflict,
            operation: format!("take over the objects of Placement {key}"),
            message: "the placement is gone or being deleted".to_owned(),
        })
    }

    /// Deletes what a placement left behind, once the server confirms that it is gone.
    pub(crate) async fn tear_down(&self, teardown: Teardown) -> Report {
        let ledger = Ledger::default();
        let key = teardown.key;
        let placements = Api::<Placement>::namespaced(self.client.clone(), &key.namespace);
        let found = self
            .call("get", PLACEMENTS, &key, || placements.get_metadata_opt(&key.name))
            .await;
        let result = match found {
            Ok(None) => match self.confirm_gone().await {
                Ok(()) => self.carry_out(&key, "all", teardown.plan, &ledger).await,
                Err(failure) => Err(failure),
            },
            Ok(Some(_)) => {
                ledger.acknowledge(Acknowledged::PlacementExists);
                Ok(())
            }
            Err(problem) => Err(failure(format!("get Placement {key}"), problem)),
        };
        Report {
            key,
            acknowledged: ledger.into_acknowledged(),
            result,
        }
    }

    async fn carry_out(
        &self,
        key: &PlacementKey,
        kind: &'static str,
        plan: Plan,
        ledger: &Ledger,
    ) -> Result<(), Failure> {
        for (number, phase) in phases(plan).into_iter().enumerate() {
            let span = trace::phase(kind, number + 1, phase.writes.len());
            let writes = phase.writes.into_iter().map(|write| async {
                // The clusters of a decision that are there already are not held up by it.
                let _afterthought = match &write {
                    Write::DecisionMetadata(_) if number > 0 => self.yield_to_urgent().await,
                    _ => None,
                };
                self.write(key, write, ledger).await
            });
            // Every write of the phase is waited for: what was acknowledged must be known.
            join_all(writes)
                .instrument(span)
                .await
                .into_iter()
                .collect::<Result<(), Failure>>()?;
        }
        Ok(())
    }

    async fn write(&self, key: &PlacementKey, write: Write, ledger: &Ledger) -> Result<(), Failure> {
        let decisions = Objects::<cluster::PlacementDecision>::new(&self.client, &key.namespace);
        let slices = Objects::<multicluster::PlacementDecision>::new(&self.client, &key.namespace);
        match write {
            Write::CreateDecision(mut object) => {
                object.metadata = self
                    .call("create", OCM, &Named(&object.metadata), || {
                        decisions.create(&object)
                    })
                    .await
                    .map_err(|problem| failed("create", OCM, &object.metadata, problem))?;
                ledger.wrote(OCM, &object.metadata);
                ledger.acknowledge(Acknowledged::Decision(object));
            }
            Write::DecisionMetadata(metadata) => {
                let mut object = cluster::PlacementDecision {
                    metadata: *metadata,
                    status: None,
                };
                ledger.current(OCM, &mut object.metadata);
                let metadata = self
                    .call("update", OCM, &Named(&object.metadata), || {
                        decisions.replace(&object)
                    })
                    .await
                    .map_err(|problem| failed("update", OCM, &object.metadata, problem))?;
                ledger.wrote(OCM, &metadata);
                ledger.acknowledge(Acknowledged::DecisionMetadata(Box::new(metadata)));
            }
            Write::DecisionStatus { object, status } => {
                let mut object = Box::new(cluster::PlacementDecision {
                    metadata: metadata(&object),
                    status: Some(status),
                });
                ledger.current(OCM, &mut object.metadata);
                object.metadata = self
                    .call("update", OCM_STATUS, &Named(&object.metadata), || {
                        decisions.replace_status(&object)
                    })
                    .await
                    .map_err(|problem| failed("update the status of", OCM, &object.metadata, problem))?;
                ledger.wrote(OCM, &object.metadata);
                ledger.acknowledge(Acknowledged::Decision(object));
            }
            Write::CreateSlice(mut slice) => {
                slice.metadata = self
                    .call("create", KEP, &Named(&slice.metadata), || slices.create(&slice))
                    .await
                    .map_err(|problem| failed("create", KEP, &slice.metadata, problem))?;
                ledger.wrote(KEP, &slice.metadata);
                ledger.acknowledge(Acknowledged::Slice(slice));
            }
            Write::ReplaceSlice(mut slice) => {
                ledger.current(KEP, &mut slice.metadata);
                slice.metadata = self
                    .call("update", KEP, &Named(&slice.metadata), || slices.replace(&slice))
                    .await
                    .map_err(|problem| failed("update", KEP, &slice.metadata, problem))?;
                ledger.wrote(KEP, &slice.metadata);
                ledger.acknowledge(Acknowledged::Slice(slice));
            }
            Write::DeleteDecision(object) => {
                let api = Api::<cluster::PlacementDecision>::namespaced(self.client.clone(), &key.namespace);
                let gone = self.delete(&api, OCM, &object, ledger).await?;
                ledger.acknowledge(Acknowledged::DecisionDeleted(gone));
            }
            Write::DeleteSlice(object) => {
                let api =
                    Api::<multicluster::PlacementDecision>::namespaced(self.client.clone(), &key.namespace);
                let gone = self.delete(&api, KEP, &object, ledger).await?;
                ledger.acknowledge(Acknowledged::SliceDeleted(gone));
            }
            // Written on its own, after everything else.
            Write::PlacementStatus(_) => {}
        }
        Ok(())
    }

    /// Deletes one object in the version that was looked at. One that is gone already is as good.
    async fn delete<K>(
        &self,
        api: &Api<K>,
        kind: &'static str,
        object: &Reference,
        ledger: &Ledger,
    ) -> Result<Key, Failure>
    where
        K: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let mut metadata = metadata(object);
        ledger.current(kind, &mut metadata);
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: metadata.uid.clone(),
                resource_version: metadata.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        let deleted = self
            .call("delete", kind, &Named(&metadata), || {
                api.delete(&object.name, &parameters)
            })
            .await;
        match deleted {
            Ok(_) => Ok(Key::of(&metadata)),
            Err(problem) if problem.failure == request::Failure::Missing => Ok(Key::of(&metadata)),
            Err(problem) => Err(failed("delete", kind, &metadata, problem)),
        }
    }

    async fn status(
        &self,
        placement: &Reference,
        status: PlacementStatus,
        ledger: &Ledger,
    ) -> Result<(), Failure> {
        let placements = Objects::<Placement>::new(&self.client, &placement.namespace);
        let mut patched = json!({});
        if let Some(version) = &placement.resource_version {
            patched["resourceVersion"] = json!(version);
        }
        let patch = json!({"metadata": patched, "status": status});
        let _afterthought = self.yield_to_urgent().await;
        let patched = self
            .call("patch", "placements/status", &Named(&metadata(placement)), || {
                placements.merge_status(&placement.name, &patch)
            })
            .await;
        match patched {
            Ok(metadata) => {
                let (metadata, status) = (Box::new(metadata), Box::new(status));
                ledger.acknowledge(Acknowledged::PlacementStatus { metadata, status });
                Ok(())
            }
            // The object is gone, so no event is needed.
            Err(problem) if problem.failure == request::Failure::Missing => Ok(()),
            Err(problem) => {
                let operation = format!(
                    "patch the status of Placement {}/{}",
                    placement.namespace, placement.name
                );
                Err(failure(operation, problem))
            }
        }
    }

    /// Lets writes go first that readers wait for, but not for long: a few that the server does not answer must not hold
    /// up the next decisions of everybody else.
    async fn yield_to_urgent(&self) -> Option<SemaphorePermit<'_>> {
        let turn = tokio::time::timeout(LONGEST_STEP_BACK, self.low_priority.acquire()).await;
        turn.ok().and_then(Result::ok)
    }

    /// One request, within the shared limit, counted.
    pub(super) async fn call<T, F>(
        &self,
        verb: &'static str,
        resource: &'static str,
        object: &(dyn Display + Sync),
        request: impl Fn() -> F,
    ) -> Result<T, Problem>
    where
        F: Future<Output = kube::Result<T>>,
    {
        let asked = (verb, resource, object);
        request::call(&self.slots, &self.metrics, Some(&self.log), asked, request).await
    }
}

pub(super) const PLACEMENTS: &str = "placements";
const OCM: &str = "placementdecisions.cluster.open-cluster-management.io";
const OCM_STATUS: &str = "placementdecisions.cluster.open-cluster-management.io/status";
const KEP: &str = "placementdecisions.multicluster.x-k8s.io";

fn metadata(object: &Reference) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(object.namespace.clone()),
        name: Some(object.name.clone()),
        uid: object.uid.clone(),
        resource_version: object.resource_version.clone(),
        ..ObjectMeta::default()
    }
}

/// Namespace and name of an object.
struct Named<'m>(&'m ObjectMeta);

impl Display for Named<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &'_ Option<String>| value.clone().unwrap_or_default();
        write!(formatter, "{}/{}", text(&self.0.namespace), text(&self.0.name))
    }
}

fn failed(verb: &str, kind: &str, metadata: &ObjectMeta, problem: Problem) -> Failure {
    failure(format!("{verb} {kind} {}", Named(metadata)), problem)
}

pub(super) fn failure(operation: String, problem: Problem) -> Failure {
    use request::Failure::{Conflict, Forbidden, Invalid, Missing, Transient};
    let severity = match problem.failure {
        Conflict | Missing => Severity::Conflict,
        Transient | Forbidden | Invalid => Severity::Error,
    };
    Failure {
        severity,
        operation,
        message: problem.to_string(),
    }
}
