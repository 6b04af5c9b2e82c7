//! The fleet, its placement and the replica set.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::core::Request;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement};
use portolan_api::labels::conditions;
use portolan_api::work::ManifestWorkReplicaSet;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const NAME: &str = "portolan-bench-rollout";
const PARALLEL: usize = 32;

/// What is put on the server, and taken away again.
pub(super) struct Scene {
    pub(super) client: Client,
    pub(super) clusters: u32,
}

impl Scene {
    pub(super) fn new(client: Client, clusters: u32) -> Scene {
        Scene { client, clusters }
    }

    /// How many clusters may be under way: 10 %, rounded up as the rollout rounds.
    pub(super) fn slots(&self) -> usize {
        portolan_rollout::Amount::Percent(10.0).slots(self.clusters as usize)
    }

    /// Definitions, the fleet and its placement.
    pub(super) async fn put(&self) -> anyhow::Result<()> {
        let definitions = Api::<CustomResourceDefinition>::all(self.client.clone());
        for definition in portolan_api::crds() {
            match definitions.create(&PostParams::default(), &definition).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                created => drop(created.context("cannot install a CustomResourceDefinition")?),
            }
        }
        let ready = async {
            while self.list::<Placement>().await.is_err()
                || self.list::<ManifestWorkReplicaSet>().await.is_err()
            {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), ready)
            .await
            .context("the kinds are not served")?;
        if let Some(placement) = self.list::<Placement>().await?.first() {
            bail!(
                "the server has Placements, such as {}, and the controllers would schedule them; the bench needs a server \
                 without any",
                placement.metadata.name.as_deref().unwrap_or_default()
            );
        }
        self.namespace(NAME).await?;
        let labels = json!({NAME: "true"});
        self.create::<ManagedClusterSet>(json!({
            "metadata": {"name": NAME, "labels": labels},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": labels}}},
        }))
        .await?;
        self.create::<ManagedClusterSetBinding>(json!({
            "metadata": {"name": NAME, "namespace": NAME}, "spec": {"clusterSet": NAME},
        }))
        .await?;
        let clusters = stream::iter(0..self.clusters).map(async |number| {
            let name = format!("{NAME}-{number:05}");
            self.namespace(&name).await?;
            let labels = json!({NAME: "true"});
            self.create::<ManagedCluster>(json!({
                "metadata": {"name": name, "labels": labels}, "spec": {"hubAcceptsClient": true},
            }))
            .await
        });
        clusters
            .buffer_unordered(PARALLEL)
            .try_collect::<Vec<_>>()
            .await?;
        self.create::<Placement>(json!({"metadata": {"name": NAME, "namespace": NAME}, "spec": {}}))
            .await?;
        Ok(())
    }

    pub(super) async fn put_replica_set(&self) -> anyhow::Result<()> {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app", "namespace": "default"},
            "data": {"version": "1"},
        });
        let strategy = json!({"type": "Progressive", "progressive": {"maxConcurrency": "10%"}});
        self.create::<ManifestWorkReplicaSet>(json!({
            "metadata": {"name": NAME, "namespace": NAME},
            "spec": {
                "manifestWorkTemplate": {"workload": {"manifests": [map]}},
                "placementRefs": [{"name": NAME, "rolloutStrategy": strategy}],
            },
        }))
        .await?;
        Ok(())
    }

    /// Waits until the placement has all clusters.
    pub(super) async fn until_decided(&self, patience: Duration) -> anyhow::Result<()> {
        let api = Api::<Placement>::namespaced(self.client.clone(), NAME);
        let wanted = i32::try_from(self.clusters)?;
        let decided = async {
            loop {
                let placement = api.get(NAME).await?;
                if placement
                    .status
                    .is_some_and(|status| status.number_of_selected_clusters == wanted)
                {
                    return anyhow::Ok(());
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(patience, decided)
            .await
            .context("the placement was not decided")?
    }

    /// Waits until the replica set says that it is complete, by a watch.
    pub(super) async fn until_complete(&self) -> anyhow::Result<()> {
        let api = Api::<ManifestWorkReplicaSet>::namespaced(self.client.clone(), NAME);
        let mut changes = watcher::watcher(api, watcher::Config::default()).boxed();
        while let Some(event) = changes.next().await {
            let set = match event? {
                watcher::Event::Apply(set) | watcher::Event::InitApply(set) => set,
                _ => continue,
            };
            let list = set.status.into_iter().flat_map(|status| status.conditions);
            let mut rolled_out = list.filter(|condition| condition.type_ == conditions::PLACEMENT_ROLLED_OUT);
            if rolled_out.any(|condition| condition.status == "True" && condition.reason == "Complete") {
                return Ok(());
            }
        }
        bail!("the watch of the replica set ended")
    }

    /// Takes everything away. The controllers have stopped, so works are deleted here.
    pub(super) async fn clean_up(&self) -> anyhow::Result<()> {
        let (how, all) = (DeleteParams::default(), ListParams::default());
        let sets = Api::<ManifestWorkReplicaSet>::namespaced(self.client.clone(), NAME);
        if sets.get_opt(NAME).await?.is_some() {
            let free = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
            sets.patch(NAME, &kube::api::PatchParams::default(), &free)
                .await?;
            let _ = sets.delete(NAME, &how).await?;
        }
        let ours = ListParams::default().labels(NAME);
        let clusters = Api::<ManagedCluster>::all(self.client.clone());
        for cluster in clusters.list(&ours).await? {
            let name = cluster.metadata.name.unwrap_or_default();
            let works = Api::<portolan_api::work::ManifestWork>::namespaced(self.client.clone(), &name);
            let _ = works.delete_collection(&how, &all).await?;
            let _ = Api::<Namespace>::all(self.client.clone())
                .delete(&name, &how)
                .await;
        }
        let _ = clusters.delete_collection(&how, &ours).await?;
        let _ = Api::<ManagedClusterSet>::all(self.client.clone())
            .delete_collection(&how, &ours)
            .await?;
        let placements = Api::<Placement>::namespaced(self.client.clone(), NAME);
        let _ = placements.delete_collection(&how, &all).await?;
        let decisions =
            Api::<portolan_api::cluster::PlacementDecision>::namespaced(self.client.clone(), NAME);
        let _ = decisions.delete_collection(&how, &all).await?;
        let bindings = Api::<ManagedClusterSetBinding>::namespaced(self.client.clone(), NAME);
        let _ = bindings.delete_collection(&how, &all).await?;
        let _ = Api::<Namespace>::all(self.client.clone())
            .delete(NAME, &how)
            .await;
        Ok(())
    }

    async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        match Api::all(self.client.clone())
            .create(&PostParams::default(), &namespace)
            .await
        {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            created => created
                .map(drop)
                .with_context(|| format!("cannot create namespace {name}")),
        }
    }

    async fn list<K>(&self) -> anyhow::Result<Vec<K>>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        Ok(Api::<K>::all(self.client.clone())
            .list(&ListParams::default())
            .await?
            .items)
    }

    async fn create<K>(&self, mut object: Value) -> anyhow::Result<K>
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
    {
        let kind = BTreeMap::from([("apiVersion", K::api_version(&())), ("kind", K::kind(&()))]);
        for (field, value) in kind {
            object[field] = json!(value);
        }
        let typed: K = serde_json::from_value(object)?;
        let request = Request::new(K::url_path(&(), typed.meta().namespace.as_deref()));
        let request = request.create(&PostParams::default(), serde_json::to_vec(&typed)?)?;
        self.client
            .request(request)
            .await
            .with_context(|| format!("cannot create a {}", K::kind(&())))
    }
}
