//! The server under test: the run's objects are put there, emptied and taken away. Nothing without the bench's label is
//! ever written or deleted.

use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{NamespaceResourceScope, Request};
use kube::{Api, Client, Resource};
use portolan_api::cluster::{
    ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement, PlacementDecision,
};
use portolan_api::multicluster::{self, ClusterProfile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::scene::{LABEL, Scene};
use crate::connect::connect;

/// Requests under way while the fleet is put there and taken away.
const PARALLEL: usize = 32;
/// How long a server may take to serve new definitions.
const ESTABLISHED_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection as an administrator.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) client: Client,
}

impl Server {
    pub(super) async fn connect(kubeconfig: &Path) -> anyhow::Result<Server> {
        let client = connect(kubeconfig).await?;
        Ok(Server { client })
    }

    /// Installs what is missing of the CRDs. They stay: others may have come to use them meanwhile.
    pub(super) async fn install_crds(&self) -> anyhow::Result<()> {
        let api = Api::<CustomResourceDefinition>::all(self.client.clone());
        let crds = portolan_api::crds();
        for crd in &crds {
            match api.create(&PostParams::default(), crd).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                created => drop(created.context("cannot install a CustomResourceDefinition")?),
            }
        }
        let established = async {
            for crd in &crds {
                let name = crd.metadata.name.as_deref().unwrap_or_default();
                while !is_established(&api.get(name).await?) {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
            anyhow::Ok(())
        };
        let waited = tokio::time::timeout(ESTABLISHED_TIMEOUT, established).await;
        waited.context("the CustomResourceDefinitions were not established in a minute")?
    }

    /// The controllers schedule every Placement of a server, so it must have none but ours.
    pub(super) async fn refuse_foreign_placements(&self) -> anyhow::Result<()> {
        let foreign = ListParams::default().labels(&format!("!{LABEL}")).limit(1);
        let found = Api::<Placement>::all(self.client.clone()).list(&foreign).await?;
        if let Some(placement) = found.items.first() {
            let metadata = &placement.metadata;
            bail!(
                "the server has Placements, such as {}/{}, and the controllers under test would schedule them; the \
                 bench needs a server without any",
                metadata.namespace.as_deref().unwrap_or_default(),
                metadata.name.as_deref().unwrap_or_default()
            );
        }
        Ok(())
    }

    pub(super) async fn put_fleet(&self, scene: &Scene) -> anyhow::Result<()> {
        for name in scene.namespaces() {
            let mut namespace = Namespace::default();
            namespace.metadata.name = Some(name);
            namespace.metadata.labels = Some(scene.labels());
            self.create(&namespace).await?;
        }
        for set in scene.sets() {
            self.create(&set).await?;
        }
        for binding in scene.bindings() {
            self.create(&binding).await?;
        }
        let clusters = stream::iter(0..scene.clusters()).map(|index| self.put_cluster(scene.cluster(index)));
        clusters
            .buffer_unordered(PARALLEL)
            .try_collect::<Vec<_>>()
            .await?;
        Ok(())
    }

    /// A cluster with its status, which is a write of its own.
    pub(super) async fn put_cluster(&self, cluster: ManagedCluster) -> anyhow::Result<()> {
        let created: ManagedCluster = self.create(&cluster).await?;
        let cluster = ManagedCluster {
            metadata: created.metadata,
            ..cluster
        };
        let name = cluster.metadata.name.clone().unwrap_or_default();
        let api = Api::<ManagedCluster>::all(self.client.clone());
        api.replace_status(&name, &PostParams::default(), &cluster)
            .await
            .with_context(|| format!("cannot write the status of ManagedCluster {name}"))?;
        Ok(())
    }

    pub(super) async fn put_placements(&self, placements: &[Placement]) -> anyhow::Result<()> {
        let placements = stream::iter(placements).map(|placement| self.create(placement));
        placements
            .buffer_unordered(PARALLEL)
            .try_collect::<Vec<_>>()
            .await?;
        Ok(())
    }

    /// Creates an object of any kind.
    pub(super) async fn create<K>(&self, object: &K) -> anyhow::Result<K>
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
    {
        let metadata = object.meta();
        let request = Request::new(K::url_path(&(), metadata.namespace.as_deref()));
        let request = request.create(&PostParams::default(), serde_json::to_vec(object)?)?;
        self.client.request(request).await.with_context(|| {
            let name = metadata.name.as_deref().unwrap_or_default();
            format!("cannot create {} {name}", K::kind(&()))
        })
    }

    /// Sets a label of a cluster.
    pub(super) async fn label(
        &self,
        cluster: &str,
        key: &str,
        value: &str,
    ) -> anyhow::Result<ManagedCluster> {
        let patch = Patch::Merge(json!({"metadata": {"labels": {key: value}}}));
        let api = Api::<ManagedCluster>::all(self.client.clone());
        api.patch(cluster, &PatchParams::default(), &patch)
            .await
            .with_context(|| format!("cannot label ManagedCluster {cluster}"))
    }

    /// Takes every decision away, as if nobody had decided yet. No controller may run.
    pub(super) async fn forget_decisions(&self, scene: &Scene) -> anyhow::Result<()> {
        for namespace in scene.namespaces() {
            self.empty::<PlacementDecision>(&namespace).await?;
            self.empty::<multicluster::PlacementDecision>(&namespace).await?;
            self.empty::<ClusterProfile>(&namespace).await?;
            let api = Api::<Placement>::namespaced(self.client.clone(), &namespace);
            let placements = api.list(&ListParams::default()).await?;
            let undecided = Patch::Merge(json!({"status": null}));
            let parameters = PatchParams::default();
            let emptied = stream::iter(placements.items).map(|placement| {
                let (api, undecided, parameters) = (&api, &undecided, &parameters);
                async move {
                    let name = placement.metadata.name.unwrap_or_default();
                    api.patch_status(&name, parameters, undecided).await
                }
            });
            emptied.buffer_unordered(PARALLEL).try_collect::<Vec<_>>().await?;
        }
        Ok(())
    }

    /// Deletes the placements too.
    pub(super) async fn forget_placements(&self, scene: &Scene) -> anyhow::Result<()> {
        for namespace in scene.namespaces() {
            self.empty::<Placement>(&namespace).await?;
        }
        self.forget_decisions(scene).await
    }

    /// Removes whatever any run has left. No controller may run.
    pub(super) async fn clean_up(&self) -> anyhow::Result<()> {
        let ours = ListParams::default().labels(LABEL);
        let namespaces = Api::<Namespace>::all(self.client.clone());
        for namespace in namespaces.list(&ours).await? {
            // A bare server has nobody to end a namespace, so what is in it is deleted one kind after the other.
            let name = namespace.metadata.name.unwrap_or_default();
            self.empty::<Placement>(&name).await?;
            self.empty::<PlacementDecision>(&name).await?;
            self.empty::<multicluster::PlacementDecision>(&name).await?;
            self.empty::<ClusterProfile>(&name).await?;
            self.empty::<ManagedClusterSetBinding>(&name).await?;
            if namespace.metadata.deletion_timestamp.is_none() {
                let _ = namespaces.delete(&name, &DeleteParams::default()).await?;
            }
        }
        let parameters = DeleteParams::default();
        let clusters = Api::<ManagedCluster>::all(self.client.clone());
        let _ = clusters.delete_collection(&parameters, &ours).await?;
        let sets = Api::<ManagedClusterSet>::all(self.client.clone());
        let _ = sets.delete_collection(&parameters, &ours).await?;
        Ok(())
    }

    /// Deletes all objects of a kind in a namespace that is ours.
    async fn empty<K>(&self, namespace: &str) -> anyhow::Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
    {
        let api = Api::<K>::namespaced(self.client.clone(), namespace);
        let _ = api
            .delete_collection(&DeleteParams::default(), &ListParams::default())
            .await
            .with_context(|| format!("cannot delete the {} of namespace {namespace}", K::plural(&())))?;
        Ok(())
    }

    /// All objects of a kind in the run's namespaces.
    pub(super) async fn all<K>(&self, scene: &Scene) -> anyhow::Result<Vec<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
    {
        let mut all = Vec::new();
        for namespace in scene.namespaces() {
            let api = Api::<K>::namespaced(self.client.clone(), &namespace);
            all.extend(api.list(&ListParams::default()).await?);
        }
        Ok(all)
    }
}

fn is_established(crd: &CustomResourceDefinition) -> bool {
    let status = crd.status.iter();
    let mut conditions = status.flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Established" && condition.status == "True")
}
