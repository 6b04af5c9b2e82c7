//! Readiness of controllers that do not schedule: they are ready when every kind that they watch was listed.
//!
//! Where Portolan schedules, the placements say when the first decisions are written, and nothing here runs.

use std::collections::BTreeMap;

use kube::Resource;
use portolan_runtime::watch::{Delta, Subscriber};
use tokio::sync::mpsc;

use crate::health::{Missing, Outputs};

/// Lists that may be reported at once.
const WAITING: usize = 32;

/// What is known of the kinds that are watched.
pub(crate) struct Readiness {
    outputs: Outputs,
    kinds: BTreeMap<String, Listed>,
    sender: mpsc::Sender<(String, Listed)>,
    told: mpsc::Receiver<(String, Listed)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    NotYet,
    Complete,
    Unserved,
}

impl Readiness {
    pub(crate) fn new(outputs: Outputs) -> Readiness {
        let (sender, told) = mpsc::channel(WAITING);
        Readiness {
            outputs,
            kinds: BTreeMap::new(),
            sender,
            told,
        }
    }

    /// A listener of a watch that hears nothing but whether the kind is listed.
    pub(crate) fn subscriber<K>(&mut self) -> Subscriber<K>
    where
        K: Resource<DynamicType = ()> + Send + Sync + 'static,
    {
        let resource = format!("{}.{}", K::plural(&()), K::group(&()));
        self.kinds.insert(resource.clone(), Listed::NotYet);
        let tell = move |delta: Delta<K>| match delta {
            Delta::NotServed => (resource.clone(), Listed::Unserved),
            _ => (resource.clone(), Listed::Complete),
        };
        let is_news = |delta: &Delta<K>| matches!(delta, Delta::Synced | Delta::NotServed);
        Subscriber::filtered(self.sender.clone(), tell, is_news)
    }

    /// Runs until the watches end.
    pub(crate) async fn run(self) {
        let Readiness {
            outputs,
            mut kinds,
            sender,
            mut told,
        } = self;
        drop(sender);
        let mut was_ready = false;
        loop {
            let missing = missing(&kinds);
            let is_ready = missing.is_empty();
            if is_ready && !was_ready {
                tracing::info!("ready: every kind that is watched is listed; scheduling is off");
            }
            was_ready = is_ready;
            outputs.metrics.set_ready(is_ready);
            outputs.health.set(missing);
            match told.recv().await {
                Some((resource, listed)) => drop(kinds.insert(resource, listed)),
                None => return,
            }
        }
    }
}

fn missing(kinds: &BTreeMap<String, Listed>) -> Vec<Missing> {
    let missing = kinds.iter().filter(|(_, listed)| **listed != Listed::Complete);
    missing
        .map(|(resource, listed)| Missing {
            text: match listed {
                Listed::Unserved => {
                    format!(
                        "{resource} is not served by the API server; install its CustomResourceDefinition"
                    )
                }
                _ => format!("{resource} is still being listed"),
            },
            resource: resource.clone().into(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};

    use super::*;

    #[tokio::test]
    async fn controllers_are_ready_when_every_kind_that_they_watch_was_listed() {
        let outputs = Outputs::default();
        let health = outputs.health.clone();
        let mut readiness = Readiness::new(outputs);
        let sets = readiness.subscriber::<ManifestWorkReplicaSet>();
        let works = readiness.subscriber::<ManifestWork>();
        let running = tokio::spawn(readiness.run());
        let until = async |expected: &[&str]| {
            while health.why_not_ready() != expected {
                tokio::task::yield_now().await;
            }
        };
        let listed = "manifestworks.work.open-cluster-management.io is still being listed";
        until(&[
            "manifestworkreplicasets.work.open-cluster-management.io is still being listed",
            listed,
        ])
        .await;
        sets.send(Delta::Synced).await.unwrap();
        until(&[listed]).await;
        works.send(Delta::NotServed).await.unwrap();
        until(&[
            "manifestworks.work.open-cluster-management.io is not served by the API server; install its \
             CustomResourceDefinition",
        ])
        .await;
        works.send(Delta::Synced).await.unwrap();
        until(&[]).await;
        drop((sets, works));
        running.await.unwrap();
    }
}
