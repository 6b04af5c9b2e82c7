//! Registration on the embedded hub, through real watches.

use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use portolan_runtime::watch::Watch;
use serde_json::json;
use tokio::task::JoinSet;

use super::fixture::{binding, labelled};
use crate::reconcile::fake::live::{clock, context, eventually, hub, rest};
use crate::registration::{self, Registration};
use crate::settings::Settings;

/// Registration with its watches; it ends when this is dropped.
fn start(client: &Client) -> JoinSet<()> {
    let settings = Settings::new(clock());
    let (registration, subscribers) = Registration::new(client.clone(), &settings, context(&settings));
    let mut tasks = JoinSet::new();
    tasks.spawn(Watch::new(client.clone(), vec![subscribers.clusters]).run());
    tasks.spawn(Watch::new(client.clone(), vec![subscribers.sets]).run());
    tasks.spawn(Watch::new(client.clone(), vec![subscribers.bindings]).run());
    tasks.spawn(registration::leases(client.clone(), subscribers.leases).run());
    tasks.spawn(registration.run());
    tasks
}

#[tokio::test(start_paused = true)]
async fn a_bare_hub_becomes_complete_and_a_restart_writes_nothing() {
    let (_hub, client) = hub().await;
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    let sets: Api<ManagedClusterSet> = Api::all(client.clone());
    let bindings: Api<ManagedClusterSetBinding> = Api::default_namespaced(client.clone());
    let mut running = start(&client);
    let post = PostParams::default();
    bindings
        .create(&post, &binding("default", "global"))
        .await
        .unwrap();
    for index in 0..20 {
        let mut cluster = labelled(&format!("c{index}"), "", json!({}));
        cluster.status = None;
        clusters.create(&post, &cluster).await.unwrap();
    }
    eventually("all clusters are tainted, labelled and counted", async || {
        let listed = clusters.list(&ListParams::default()).await.unwrap();
        let done = |cluster: &ManagedCluster| {
            cluster.spec.taints.len() == 1
                && cluster.spec.taints[0].time_added.is_some()
                && cluster
                    .metadata
                    .labels
                    .as_ref()
                    .is_some_and(|labels| labels.values().any(|set| set == "default"))
        };
        let message = |set: ManagedClusterSet| set.status.map(|status| status.conditions[0].message.clone());
        let counted = Some("20 ManagedClusters selected".to_owned());
        listed.items.iter().all(done)
            && message(sets.get("default").await.unwrap()) == counted
            && message(sets.get("global").await.unwrap()) == counted
            && bindings
                .get("global")
                .await
                .unwrap()
                .status
                .is_some_and(|status| status.conditions[0].status == "True")
    })
    .await;

    let available = json!({"status": {"conditions": [{
        "type": "ManagedClusterConditionAvailable", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    clusters
        .patch_status("c7", &PatchParams::default(), &Patch::Merge(&available))
        .await
        .unwrap();
    eventually("the taint is gone", async || {
        clusters.get("c7").await.unwrap().spec.taints.is_empty()
    })
    .await;

    running.shutdown().await;
    let version = async || {
        sets.list(&ListParams::default())
            .await
            .unwrap()
            .metadata
            .resource_version
    };
    let before = version().await;
    let _again = start(&client);
    rest().await;
    assert_eq!(version().await, before, "the version of the whole store moved");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_built_in_set_comes_back_and_an_edited_one_is_put_right() {
    let (_hub, client) = hub().await;
    let sets: Api<ManagedClusterSet> = Api::all(client.clone());
    let _running = start(&client);
    let wanted = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    let right = async || {
        let global = sets.get_opt("global").await.unwrap();
        global.is_some_and(|global| serde_json::to_value(global.spec.cluster_selector).unwrap() == wanted)
    };
    eventually("the set is there", right).await;
    sets.delete("global", &DeleteParams::default()).await.unwrap();
    eventually("the set is back", right).await;
    let edit = json!({"spec": {"clusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}}});
    sets.patch("global", &PatchParams::default(), &Patch::Merge(&edit))
        .await
        .unwrap();
    eventually("the set is put right", right).await;
}
