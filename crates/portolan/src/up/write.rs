//! Writes for the simulated fleet: create what is missing, patch what changed.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use portolan_api::cluster::{AddOnPlacementScore, ManagedCluster};
use portolan_api::labels::ocm;
use portolan_api::structural;
use serde_json::{Value, json};

use super::demo::{Change, LABEL, SCORE, SCORE_NAME, cluster_conditions};

/// A score that is not renewed counts for nothing after this time.
const SCORE_VALID: SignedDuration = SignedDuration::from_mins(10);
const LEASE: &str = ocm::CLUSTER_LEASE;
const MANAGER: &str = "portolan-demo";

/// Writes on behalf of the clusters.
#[derive(Clone)]
pub(super) struct Writer {
    client: Client,
}

impl Writer {
    pub(super) fn new(client: Client) -> Writer {
        Writer { client }
    }

    /// The clusters of the demo that are there.
    pub(super) async fn clusters(&self) -> kube::Result<Vec<ManagedCluster>> {
        let list = Api::all(self.client.clone())
            .list(&ListParams::default().labels(LABEL))
            .await?;
        Ok(list.items)
    }

    pub(super) async fn delete_cluster(&self, name: &str) -> kube::Result<()> {
        let api: Api<ManagedCluster> = Api::all(self.client.clone());
        found(api.delete(name, &DeleteParams::default()).await.map(drop))
    }

    /// Creates a cluster with its status.
    pub(super) async fn create_cluster(&self, cluster: &ManagedCluster) -> kube::Result<()> {
        let api: Api<ManagedCluster> = Api::all(self.client.clone());
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        new(api.create(&PostParams::default(), cluster).await.map(drop))?;
        let status = Patch::Merge(json!({ "status": cluster.status }));
        api.patch_status(name, &PatchParams::default(), &status)
            .await
            .map(drop)
    }

    /// Creates an object of one of our kinds unless it is there: what was changed by hand stays.
    pub(super) async fn create(&self, object: &Value) -> kube::Result<()> {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let Some(known) = structural::find(api_version, kind) else {
            return Ok(());
        };
        let kind = GroupVersionKind::gvk(&known.group, &known.version, &known.kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, &known.plural);
        let api: Api<DynamicObject> = match text("/metadata/namespace") {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let object = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
        new(api.create(&PostParams::default(), &object).await.map(drop))
    }

    pub(super) async fn create_namespace(&self, name: &str) -> kube::Result<()> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let namespace = Namespace {
            metadata: kube::core::ObjectMeta {
                name: Some(name.to_owned()),
                ..Default::default()
            },
            ..Namespace::default()
        };
        new(api.create(&PostParams::default(), &namespace).await.map(drop))
    }

    /// Carries out a change of the fleet. A cluster that somebody deleted stays deleted.
    pub(super) async fn write(&self, change: &Change, now: Timestamp) -> kube::Result<()> {
        match change {
            Change::Health { cluster, health } => {
                let conditions = cluster_conditions(*health, now);
                self.patch_status(cluster, json!({ "conditions": conditions }))
                    .await
            }
            Change::Resources { cluster, cpu, memory } => {
                let allocatable = json!({ "cpu": cpu, "memory": memory });
                self.patch_status(cluster, json!({ "allocatable": allocatable }))
                    .await
            }
            Change::Score { cluster, value } => self.score(cluster, *value, now).await,
            Change::Heartbeat { cluster } => self.beat(cluster, now).await,
        }
    }

    async fn patch_status(&self, cluster: &str, status: Value) -> kube::Result<()> {
        let api: Api<ManagedCluster> = Api::all(self.client.clone());
        let patch = Patch::Merge(json!({ "status": status }));
        found(
            api.patch_status(cluster, &PatchParams::default(), &patch)
                .await
                .map(drop),
        )
    }

    async fn score(&self, cluster: &str, value: i32, now: Timestamp) -> kube::Result<()> {
        let api: Api<AddOnPlacementScore> = Api::namespaced(self.client.clone(), cluster);
        let status = json!({
            "scores": [{ "name": SCORE_NAME, "value": value }],
            "validUntil": seconds(now + SCORE_VALID),
        });
        let patch = Patch::Merge(json!({ "status": status }));
        match api.patch_status(SCORE, &PatchParams::default(), &patch).await {
            Err(kube::Error::Api(error)) if error.code == 404 => {}
            answer => return answer.map(drop),
        }
        self.create_namespace(cluster).await?;
        let mut score = AddOnPlacementScore::default();
        score.metadata.name = Some(SCORE.to_owned());
        new(api.create(&PostParams::default(), &score).await.map(drop))?;
        api.patch_status(SCORE, &PatchParams::default(), &patch)
            .await
            .map(drop)
    }

    async fn beat(&self, cluster: &str, now: Timestamp) -> kube::Result<()> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), cluster);
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": LEASE },
            "spec": { "leaseDurationSeconds": 60, "renewTime": format!("{now:.6}") },
        });
        let how = PatchParams::apply(MANAGER).force();
        match api.patch(LEASE, &how, &Patch::Apply(&lease)).await {
            // The first one: there is no namespace yet.
            Err(kube::Error::Api(error)) if error.code == 404 => {}
            answer => return answer.map(drop),
        }
        self.create_namespace(cluster).await?;
        api.patch(LEASE, &how, &Patch::Apply(&lease)).await.map(drop)
    }
}

fn seconds(time: Timestamp) -> String {
    format!("{time:.0}")
}

/// What is there already is fine.
fn new(answer: kube::Result<()>) -> kube::Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        answer => answer,
    }
}

/// What somebody deleted is fine too.
fn found(answer: kube::Result<()>) -> kube::Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer,
    }
}
