//! Clusters that fall silent, with registration on.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use portolan_api::cluster::ManagedCluster;
use serde_json::{Value, json};

use crate::world::{World, eventually};

async fn beat(world: &World, cluster: &str, renewed: &str) {
    let namespace = json!({"metadata": {"name": cluster}});
    let namespaces = Api::<Namespace>::all(world.client.clone());
    // Another test of the same server may have made it.
    let _ = namespaces
        .create(
            &PostParams::default(),
            &serde_json::from_value(namespace).unwrap(),
        )
        .await;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "managed-cluster-lease"},
        "spec": {"renewTime": renewed},
    });
    let leases = Api::<Lease>::namespaced(world.client.clone(), cluster);
    let how = PatchParams::apply("agent").force();
    leases
        .patch("managed-cluster-lease", &how, &Patch::Apply(lease))
        .await
        .unwrap();
}

async fn say(world: &World, cluster: &str, available: &str) {
    let conditions = json!([{
        "type": "ManagedClusterConditionAvailable", "status": available, "reason": "ManagedClusterAvailable",
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
    let api = world.scoped::<ManagedCluster>();
    api.patch_status(cluster, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_stops_renewing_leaves_and_one_without_a_lease_stays() {
    let mut world = World::new().await;
    world.clusters(1..=2, &[]).await;
    let patch = Patch::Merge::<Value>(json!({"spec": {"leaseDurationSeconds": 1}}));
    let api = world.scoped::<ManagedCluster>();
    api.patch("c001", &PatchParams::default(), &patch).await.unwrap();
    beat(&world, "c001", "2026-01-01T00:00:00.000000Z").await;
    for cluster in ["c001", "c002"] {
        say(&world, cluster, "True").await;
    }
    world.placement("web", json!({})).await;
    let mut settings = World::settings();
    settings.registration = true;
    world.start_with(settings).await;
    world.until_decided("web", &["c002"]).await;
    let cluster = api.get("c001").await.unwrap();
    let condition = &cluster.status.unwrap().conditions[0];
    assert_eq!(
        (condition.status.as_str(), condition.reason.as_str()),
        ("Unknown", "ManagedClusterLeaseUpdateStopped")
    );
    let listed = api.list(&ListParams::default()).await.unwrap().items;
    let tainted = |cluster: &&ManagedCluster| !cluster.spec.taints.is_empty();
    assert_eq!(listed.iter().filter(tainted).count(), 1);

    beat(&world, "c001", "2026-01-01T00:01:00.000000Z").await;
    say(&world, "c001", "True").await;
    eventually("it is back for as long as its lease is good", async || {
        world.decided("web").await == ["c001", "c002"]
    })
    .await;
    world.stop().await;
}
