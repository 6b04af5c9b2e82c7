//! Carries out what the state decided.

use std::sync::Arc;

use futures::{StreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, Preconditions};
use portolan_api::work::{GROUP, ManifestWork, ManifestWorkReplicaSet};
use serde_json::json;

use super::key::WorkKey;
use super::message::{Ending, Input, Job, SetWrite, WorkEnding, WorkWrite};
use crate::reconcile::{Failure, RequestContext, Version, creating, patching};

const WORKS: &str = "manifestworks";
const SETS: &str = "manifestworkreplicasets";

type WorkResult = Result<Option<Arc<ManifestWork>>, Failure>;

/// Writes the works of a job in parallel, then the replica set, and says how that ended.
pub(super) async fn carry_out(client: Client, context: RequestContext, mut job: Job) -> Input {
    let sender = Sender { client, context };
    if job.is_farewell && !job.works.is_empty() && sender.is_definition_leaving().await {
        tracing::warn!(set = %job.set, "the CustomResourceDefinition of ManifestWorkReplicaSets is being deleted; the ManifestWorks are kept");
        job.works.clear();
    }
    let parallel = sender.context.parallel;
    let works: Vec<WorkEnding> = stream::iter(job.works)
        .map(|write| sender.write(write))
        .buffer_unordered(parallel)
        .collect()
        .await;
    let object = match job.object {
        // A replica set goes after its works.
        Some(write) if works.iter().all(|work| work.result.is_ok()) => {
            Some(sender.write_set(&job.set, write).await)
        }
        _ => None,
    };
    Input::Ended(Box::new(Ending {
        set: job.set,
        at: tokio::time::Instant::now(),
        works,
        template: job.template,
        object,
    }))
}

struct Sender {
    client: Client,
    context: RequestContext,
}

impl Sender {
    fn works(&self, cluster: &str) -> Api<ManifestWork> {
        Api::namespaced(self.client.clone(), cluster)
    }

    async fn write(&self, write: WorkWrite) -> WorkEnding {
        let key = write.key();
        let kind = write.kind();
        let result = match write {
            WorkWrite::Create(work) => self.create(&key, &work).await,
            WorkWrite::Replace { version, work } => self.replace(&key, &version, &work).await,
            WorkWrite::Labels { version, labels, .. } => {
                let patch = json!({"metadata": {"resourceVersion": version.as_str(), "labels": labels}});
                let sent = async {
                    self.works(&key.cluster)
                        .patch(&key.name, &patching(), &Patch::Merge(patch))
                        .await
                };
                shown(self.context.request("patch", WORKS, &key, sent).await)
            }
            WorkWrite::Delete { uid, .. } => self.delete(&key, uid).await,
        };
        WorkEnding { key, kind, result }
    }

    async fn create(&self, key: &WorkKey, work: &ManifestWork) -> WorkResult {
        let sent = async { self.works(&key.cluster).create(&creating(), work).await };
        shown(self.context.request("create", WORKS, key, sent).await)
    }

    /// Reads the work first: its spec is replaced as a whole, and everything else about it stays.
    async fn replace(&self, key: &WorkKey, version: &Version, wanted: &ManifestWork) -> WorkResult {
        let api = self.works(&key.cluster);
        let mut work = self
            .context
            .request("get", WORKS, key, api.get(&key.name))
            .await?;
        if Version::of(&work.metadata) != *version {
            return Err(Failure::Conflict);
        }
        work.spec = wanted.spec.clone();
        work.status = None;
        let (labels, annotations) = (&wanted.metadata.labels, &wanted.metadata.annotations);
        work.metadata
            .labels
            .get_or_insert_default()
            .extend(labels.clone().unwrap_or_default());
        work.metadata
            .annotations
            .get_or_insert_default()
            .extend(annotations.clone().unwrap_or_default());
        let sent = async { api.replace(&key.name, &creating(), &work).await };
        shown(self.context.request("update", WORKS, key, sent).await)
    }

    async fn delete(&self, key: &WorkKey, uid: String) -> WorkResult {
        // Not one that came after it under the same name.
        let same = DeleteParams::default().preconditions(Preconditions {
            uid: Some(uid),
            resource_version: None,
        });
        let sent = async {
            match self.works(&key.cluster).delete(&key.name, &same).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
                other => other.map(|answer| answer.left()),
            }
        };
        let work = self.context.request("delete", WORKS, key, sent).await?;
        // A work that waits for its objects to go is answered as it is; what has gone already is a status.
        Ok(work
            .filter(|work| work.metadata.deletion_timestamp.is_some())
            .map(Arc::new))
    }

    async fn write_set(
        &self,
        key: &super::key::SetKey,
        write: SetWrite,
    ) -> Result<Option<Arc<ManifestWorkReplicaSet>>, Failure> {
        let api: Api<ManifestWorkReplicaSet> = Api::namespaced(self.client.clone(), &key.namespace);
        let answer = match write {
            SetWrite::Finalizers { version, finalizers } => {
                let patch =
                    json!({"metadata": {"resourceVersion": version.as_str(), "finalizers": finalizers}});
                let sent = async {
                    match api.patch(&key.name, &patching(), &Patch::Merge(patch)).await {
                        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
                        other => other.map(Some),
                    }
                };
                self.context.request("patch", SETS, key, sent).await?
            }
            SetWrite::Status { version, status } => {
                let patch = json!({"metadata": {"resourceVersion": version.as_str()}, "status": status});
                let sent = async {
                    api.patch_status(&key.name, &patching(), &Patch::Merge(patch))
                        .await
                };
                Some(
                    self.context
                        .request("patch", "manifestworkreplicasets/status", key, sent)
                        .await?,
                )
            }
        };
        Ok(answer.map(Arc::new))
    }

    /// Whether replica sets go because their definition does. Then nobody meant their works.
    async fn is_definition_leaving(&self) -> bool {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        match definitions.get_metadata_opt(&format!("{SETS}.{GROUP}")).await {
            Ok(found) => found.is_none_or(|found| found.metadata.deletion_timestamp.is_some()),
            // Without permission to read definitions, the server's answer counts.
            Err(kube::Error::Api(status)) if status.code == 403 => false,
            Err(_) => true,
        }
    }
}

fn shown(result: Result<ManifestWork, Failure>) -> WorkResult {
    result.map(|work| Some(Arc::new(work)))
}
