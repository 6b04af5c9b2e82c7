//! From the change of a placement to the last member that has applied its work.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher;
use kube::{Api, Client};
use portolan_api::cluster::{ManagedClusterSetBinding, Placement, PlacementDecision};
use portolan_api::work::ManifestWork;
use serde_json::{Value, json};

use crate::up::spokes::LABEL;

const NAMESPACE: &str = "default";
const NAME: &str = "bench-fleet";
/// Works that are written at the same time.
const PARALLEL: usize = 32;
/// A change that has not arrived by then does not.
const PATIENCE: Duration = Duration::from_secs(120);

/// A placement over the members, and works for them.
pub(super) struct Scene {
    client: Client,
}

impl Scene {
    /// A placement that selects nobody yet.
    pub(super) async fn prepare(client: Client) -> anyhow::Result<Scene> {
        let binding: ManagedClusterSetBinding = serde_json::from_value(json!({
            "metadata": {"name": "global", "namespace": NAMESPACE}, "spec": {"clusterSet": "global"},
        }))?;
        let placement: Placement = serde_json::from_value(json!({
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {
                "numberOfClusters": 0,
                "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {LABEL: "true"}}}}],
                "tolerations": [{"operator": "Exists"}],
            },
        }))?;
        Api::namespaced(client.clone(), NAMESPACE)
            .create(&PostParams::default(), &binding)
            .await
            .context("cannot bind the set `global`")?;
        Api::namespaced(client.clone(), NAMESPACE)
            .create(&PostParams::default(), &placement)
            .await
            .context("cannot create the placement")?;
        Ok(Scene { client })
    }

    /// Selects so many members, waits until each has applied its work, and takes everything back. Seconds.
    pub(super) async fn round(&self, members: usize, now: impl Fn() -> Instant) -> anyhow::Result<f64> {
        let works: Api<ManifestWork> = Api::all(self.client.clone());
        let ours = watcher::Config::default().labels(&format!("{NAME}=true"));
        let mut reports = watcher::watcher(works, ours)
            .default_backoff()
            .applied_objects()
            .boxed();
        let decisions: Api<PlacementDecision> = Api::namespaced(self.client.clone(), NAMESPACE);
        let mut decisions = watcher::watcher(decisions, watcher::Config::default())
            .default_backoff()
            .applied_objects()
            .boxed();
        let began = now();
        self.select(members).await?;
        let (mut sent, mut applied) = (BTreeSet::new(), BTreeSet::new());
        let reached = async {
            while applied.len() < members {
                tokio::select! {
                    Some(decision) = decisions.next() => {
                        let new: Vec<String> = clusters(&decision?).filter(|name| sent.insert(name.clone())).collect();
                        self.send(new).await?;
                    }
                    Some(work) = reports.next() => {
                        let work = work?;
                        if is_applied(&work) {
                            applied.insert(work.metadata.namespace.unwrap_or_default());
                        }
                    }
                }
            }
            anyhow::Ok(began.elapsed().as_secs_f64())
        };
        let reached = tokio::time::timeout(PATIENCE, reached).await;
        let seconds = reached.unwrap_or_else(|_| {
            Err(anyhow::anyhow!(
                "{} of {members} members applied their work in {PATIENCE:?}",
                applied.len()
            ))
        })?;
        self.select(0).await?;
        self.withdraw().await?;
        Ok(seconds)
    }

    async fn select(&self, members: usize) -> anyhow::Result<()> {
        let api: Api<Placement> = Api::namespaced(self.client.clone(), NAMESPACE);
        let patch = Patch::Merge(json!({"spec": {"numberOfClusters": members}}));
        let patched = api.patch(NAME, &PatchParams::default(), &patch).await;
        patched.context("cannot change the placement").map(drop)
    }

    /// What a consumer of decisions does.
    async fn send(&self, clusters: Vec<String>) -> anyhow::Result<()> {
        stream::iter(clusters.into_iter().map(Ok))
            .try_for_each_concurrent(PARALLEL, |cluster| async move {
                let api: Api<ManifestWork> = Api::namespaced(self.client.clone(), &cluster);
                let work = serde_json::from_value(work())?;
                let created = api.create(&PostParams::default(), &work).await;
                created
                    .with_context(|| format!("cannot create a work for {cluster}"))
                    .map(drop)
            })
            .await
    }

    /// Deletes the works and waits until agents have let go of them.
    async fn withdraw(&self) -> anyhow::Result<()> {
        let works: Api<ManifestWork> = Api::all(self.client.clone());
        let ours = ListParams::default().labels(&format!("{NAME}=true"));
        for work in works.list(&ours).await?.items {
            let namespace = work.metadata.namespace.unwrap_or_default();
            let api: Api<ManifestWork> = Api::namespaced(self.client.clone(), &namespace);
            api.delete(NAME, &DeleteParams::default()).await?;
        }
        let gone = async {
            while !works.list(&ours).await?.items.is_empty() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            anyhow::Ok(())
        };
        let gone = tokio::time::timeout(PATIENCE, gone).await;
        gone.context("the works do not go away")?
    }
}

fn work() -> Value {
    json!({
        "metadata": {"name": NAME, "labels": {NAME: "true"}},
        "spec": {"workload": {"manifests": [{
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": "default"},
            "data": {"key": "value"},
        }]}},
    })
}

fn clusters(decision: &PlacementDecision) -> impl Iterator<Item = String> {
    let status = decision.status.clone().unwrap_or_default();
    status.decisions.into_iter().map(|decision| decision.cluster_name)
}

fn is_applied(work: &ManifestWork) -> bool {
    let conditions = work.status.iter().flat_map(|status| &status.conditions);
    let mut applied = conditions.filter(|condition| condition.type_ == "Applied");
    applied.any(|condition| {
        condition.status == "True" && condition.observed_generation == work.metadata.generation
    })
}
