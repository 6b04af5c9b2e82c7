//! From the change of a placement to the last member that has done what follows from it.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::StreamExt;
use futures::stream::BoxStream;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use portolan_api::cluster::{ManagedClusterSetBinding, Placement};
use portolan_api::labels::portolan::EMBEDDED_MEMBER;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use serde::Serialize;
use serde_json::json;

use crate::clock::now;
use crate::figures::rounded;

const NAMESPACE: &str = "default";
const NAME: &str = "bench-fleet";
/// A change that has not arrived by then does not.
const REACH_TIMEOUT: Duration = Duration::from_secs(120);
/// Agents look at a work again soon after they have written something; a change is not to compete with that.
const PAUSE: Duration = Duration::from_secs(2);

/// How long changes of one kind took. Field names are a contract.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Times {
    /// Members that each change concerned.
    members: u16,
    seconds: Vec<f64>,
    median: f64,
    longest: f64,
}

/// A placement over the members, and a workload that goes where it says.
pub(super) struct Scene {
    client: Client,
    /// The works on the hub, as they change. There are no others than ours.
    works: BoxStream<'static, watcher::Result<Event<ManifestWork>>>,
    /// By cluster: whether its agent has said that the work is applied.
    applied: BTreeMap<String, bool>,
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
                "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {EMBEDDED_MEMBER: "true"}}}}],
                "tolerations": [{"operator": "Exists"}],
            },
        }))?;
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": NAMESPACE},
            "data": {"key": "value"},
        });
        let workload: ManifestWorkReplicaSet = serde_json::from_value(json!({
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {
                "manifestWorkTemplate": {"workload": {"manifests": [map]}},
                "placementRefs": [{"name": NAME}],
            },
        }))?;
        let how = PostParams::default();
        Api::namespaced(client.clone(), NAMESPACE)
            .create(&how, &binding)
            .await
            .context("cannot bind the set `global`")?;
        Api::namespaced(client.clone(), NAMESPACE)
            .create(&how, &placement)
            .await
            .context("cannot create the placement")?;
        Api::namespaced(client.clone(), NAMESPACE)
            .create(&how, &workload)
            .await
            .context("cannot create the workload")?;
        let works = watcher::watcher(Api::all(client.clone()), watcher::Config::default());
        Ok(Scene {
            client,
            works: works.default_backoff().boxed(),
            applied: BTreeMap::new(),
        })
    }

    /// Selects so many members and takes them back, so many times: how long the one and the other took.
    pub(super) async fn measure(&mut self, members: u16, rounds: u16) -> anyhow::Result<(Times, Times)> {
        let (mut reached, mut withdrawn) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            for (wanted, seconds) in [(members, &mut reached), (0, &mut withdrawn)] {
                self.settle().await?;
                seconds.push(self.change(wanted).await?);
            }
        }
        Ok((Times::new(members, reached), Times::new(members, withdrawn)))
    }

    /// Changes how many members are selected, and waits until exactly so many have the workload and the hub knows it.
    async fn change(&mut self, members: u16) -> anyhow::Result<f64> {
        let began = now();
        let api: Api<Placement> = Api::namespaced(self.client.clone(), NAMESPACE);
        let patch = Patch::Merge(json!({"spec": {"numberOfClusters": members}}));
        let patched = api.patch(NAME, &PatchParams::default(), &patch).await;
        patched.context("cannot change the placement")?;
        let patience = tokio::time::sleep(REACH_TIMEOUT);
        tokio::pin!(patience);
        while self.applied.len() != usize::from(members) || self.applied.values().any(|applied| !applied) {
            tokio::select! {
                event = self.works.next() => self.see(event)?,
                () = &mut patience => bail!(
                    "{members} members were to have the workload; {REACH_TIMEOUT:?} later there are works for {}, of which {} are applied",
                    self.applied.len(),
                    self.applied.values().filter(|applied| **applied).count()
                ),
            }
        }
        Ok(began.elapsed().as_secs_f64())
    }

    /// Lets time pass, and hears what happens meanwhile.
    async fn settle(&mut self) -> anyhow::Result<()> {
        let pause = tokio::time::sleep(PAUSE);
        tokio::pin!(pause);
        loop {
            tokio::select! {
                event = self.works.next() => self.see(event)?,
                () = &mut pause => return Ok(()),
            }
        }
    }

    fn see(&mut self, event: Option<watcher::Result<Event<ManifestWork>>>) -> anyhow::Result<()> {
        let cluster = |work: &ManifestWork| work.metadata.namespace.clone().unwrap_or_default();
        match event.context("the watch of the works ended")?? {
            Event::Init => self.applied.clear(),
            Event::Apply(work) | Event::InitApply(work) => {
                self.applied.insert(cluster(&work), is_applied(&work));
            }
            Event::Delete(work) => {
                self.applied.remove(&cluster(&work));
            }
            Event::InitDone => {}
        }
        Ok(())
    }
}

impl Times {
    fn new(members: u16, seconds: Vec<f64>) -> Times {
        let mut sorted = seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| rounded(sorted.get(index).copied().unwrap_or_default());
        Times {
            members,
            median: at(sorted.len() / 2),
            longest: at(sorted.len().saturating_sub(1)),
            seconds: seconds.into_iter().map(rounded).collect(),
        }
    }
}

fn is_applied(work: &ManifestWork) -> bool {
    let conditions = work.status.iter().flat_map(|status| &status.conditions);
    let mut applied = conditions.filter(|condition| condition.type_ == "Applied");
    applied.any(|condition| {
        condition.status == "True" && condition.observed_generation == work.metadata.generation
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_among_the_times_and_the_median_is_in_the_middle() {
        let times = Times::new(100, vec![0.5, 2.004, 0.7, 0.6, 0.4]);
        assert_eq!((times.median, times.longest), (0.6, 2.0));
        assert_eq!(times.seconds, [0.5, 2.0, 0.7, 0.6, 0.4]);
    }
}
