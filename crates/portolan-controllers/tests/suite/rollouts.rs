//! ManifestWorkReplicaSets with a stand-in for the agents: a test says what each cluster reports.

mod bad_input;
mod beside_ocm;
mod faults;
mod lifecycle;
mod steps;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use portolan_api::cluster::ManagedCluster;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet, ManifestWorkReplicaSetStatus};
use serde_json::{Value, json};

use crate::world::{World, eventually};

const OWNER: &str = "work.open-cluster-management.io/manifestworkreplicaset";

/// A world in which clusters have namespaces.
async fn world(clusters: &[(&str, &str)]) -> World {
    let world = World::new().await;
    for (cluster, ring) in clusters {
        join(&world, cluster, ring).await;
    }
    world
}

/// A cluster in a ring, with its namespace.
async fn join(world: &World, cluster: &str, ring: &str) {
    if world
        .scoped::<Namespace>()
        .get_opt(cluster)
        .await
        .unwrap()
        .is_none()
    {
        world
            .create::<Namespace>(json!({"metadata": {"name": cluster}}))
            .await;
    }
    world.cluster(cluster, &[("ring", ring)]).await;
}

async fn leave(world: &World, cluster: &str) {
    world
        .scoped::<ManagedCluster>()
        .delete(cluster, &DeleteParams::default())
        .await
        .unwrap();
}

/// A placement with a group for each ring, and one for the rest.
async fn placement(world: &World, name: &str, rings: &[&str]) {
    let group = |ring: &&str| json!({"groupName": ring, "groupClusterSelector": {"labelSelector": {"matchLabels": {"ring": ring}}}});
    let groups: Vec<Value> = rings.iter().map(group).collect();
    world
        .placement(
            name,
            json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": groups}}}),
        )
        .await;
}

fn template(version: &str) -> Value {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app", "namespace": "default"},
        "data": {"version": version},
    });
    json!({"workload": {"manifests": [map]}})
}

async fn replica_set(world: &World, name: &str, references: Value) {
    world
        .create::<ManifestWorkReplicaSet>(json!({
            "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
            "metadata": {"name": name, "namespace": world.namespace, "labels": {"team": "blue"}},
            "spec": {"manifestWorkTemplate": template("1"), "placementRefs": references},
        }))
        .await;
}

async fn patch(world: &World, name: &str, patch: Value) {
    let api = world.api::<ManifestWorkReplicaSet>();
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

/// The works of a replica set, by cluster. More than one on a cluster is an error.
async fn works(world: &World, set: &str) -> BTreeMap<String, ManifestWork> {
    let selector = ListParams::default().labels(&format!("{OWNER}={}.{set}", world.namespace));
    let mut works = BTreeMap::new();
    for work in Api::<ManifestWork>::all(world.client.clone())
        .list(&selector)
        .await
        .unwrap()
    {
        let before = works.insert(work.metadata.namespace.clone().unwrap(), work);
        assert!(before.is_none(), "two works on one cluster");
    }
    works
}

fn version(work: &ManifestWork) -> String {
    work.spec.workload.manifests[0]["data"]["version"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// `cluster=version` of every work.
async fn versions(world: &World, set: &str) -> Vec<String> {
    let works = works(world, set).await;
    works
        .iter()
        .map(|(cluster, work)| format!("{cluster}={}", version(work)))
        .collect()
}

async fn until_versions(world: &World, set: &str, expected: &[&str]) {
    let mut last = Vec::new();
    let what = format!("{set} has {expected:?}");
    eventually(&what, async || {
        let now = versions(world, set).await;
        if now != last {
            tracing::info!(?now, ?expected, "works");
        }
        last = now;
        last == expected
    })
    .await;
}

/// What a cluster reports.
#[derive(Clone, Copy, Debug)]
enum Says {
    /// Applied and available.
    Available,
    /// Applied and available, about an older generation than there is.
    AvailableBefore,
    /// Applied and on its way, by a rule of the user.
    Progressing,
    /// On its way and in bad health.
    Degraded,
    /// Not applied.
    NotApplied,
}

async fn report(world: &World, set: &str, cluster: &str, says: Says) {
    let works = works(world, set).await;
    let work = works
        .get(cluster)
        .unwrap_or_else(|| panic!("{cluster} has no work of {set}"));
    let generation = work.metadata.generation.unwrap();
    #[expect(clippy::disallowed_methods, reason = "the test is where the time comes from")]
    let now = Timestamp::now();
    let condition = |type_: &str, status: &str, generation: i64| {
        json!({
            "type": type_, "status": status, "reason": "Reported", "message": "", "observedGeneration": generation,
            "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        })
    };
    let conditions = match says {
        Says::Available => vec![
            condition("Applied", "True", generation),
            condition("Available", "True", generation),
        ],
        Says::AvailableBefore => {
            vec![
                condition("Applied", "True", generation - 1),
                condition("Available", "True", generation - 1),
            ]
        }
        Says::Progressing => vec![
            condition("Applied", "True", generation),
            condition("Progressing", "True", generation),
        ],
        Says::Degraded => vec![
            condition("Applied", "True", generation),
            condition("Progressing", "True", generation),
            condition("Degraded", "True", generation),
        ],
        Says::NotApplied => vec![condition("Applied", "False", generation)],
    };
    let api = Api::<ManifestWork>::namespaced(world.client.clone(), cluster);
    let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
    api.patch_status(
        work.metadata.name.as_deref().unwrap(),
        &PatchParams::default(),
        &patch,
    )
    .await
    .unwrap();
}

async fn all_report(world: &World, set: &str, clusters: &[&str], says: Says) {
    for cluster in clusters {
        report(world, set, cluster, says).await;
    }
}

async fn status(world: &World, set: &str) -> ManifestWorkReplicaSetStatus {
    world
        .api::<ManifestWorkReplicaSet>()
        .get(set)
        .await
        .unwrap()
        .status
        .unwrap_or_default()
}

/// Waits for a condition and returns its message.
async fn until_condition(world: &World, set: &str, type_: &str, is: (&str, &str)) -> String {
    let mut found = None;
    eventually(&format!("{type_} of {set} is {is:?}"), async || {
        let conditions = status(world, set).await.conditions;
        let now: Option<Condition> = conditions.into_iter().find(|condition| condition.type_ == type_);
        if now != found {
            tracing::info!(?now, "condition");
        }
        found = now;
        found
            .as_ref()
            .is_some_and(|found| (found.status.as_str(), found.reason.as_str()) == is)
    })
    .await;
    found.unwrap().message
}

/// Says whether a cluster can be reached.
async fn reachable(world: &World, cluster: &str, status: &str) {
    let condition = json!({
        "type": "ManagedClusterConditionAvailable", "status": status, "reason": "Lease", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let patch = Patch::Merge(json!({"status": {"conditions": [condition]}}));
    let api = world.scoped::<ManagedCluster>();
    api.patch_status(cluster, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// The other half of "this does not happen": long enough for the controllers to have done what they would.
async fn settle(world: &World) {
    world.until_idle().await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
}
