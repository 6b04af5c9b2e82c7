//! The lease and what the cluster says about itself.

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use portolan_agent::Agent;
use portolan_api::cluster::ManagedCluster;
use serde_json::json;

use crate::world::{World, eventually};

pub(crate) async fn create_cluster(world: &World) {
    let cluster: ManagedCluster = serde_json::from_value(json!({
        "metadata": { "name": world.cluster }, "spec": { "hubAcceptsClient": true, "leaseDurationSeconds": 1 },
    }))
    .unwrap();
    let clusters = Api::<ManagedCluster>::all(world.hub.client());
    clusters.create(&PostParams::default(), &cluster).await.unwrap();
}

pub(crate) async fn until_joined(world: &World) -> ManagedCluster {
    let clusters = Api::<ManagedCluster>::all(world.hub.client());
    eventually("the cluster has joined", async || {
        let status = clusters
            .get(&world.cluster)
            .await
            .unwrap()
            .status
            .unwrap_or_default();
        status
            .conditions
            .iter()
            .any(|condition| condition.type_ == "ManagedClusterJoined")
    })
    .await;
    clusters.get(&world.cluster).await.unwrap()
}

async fn renewed(world: &World) -> Option<String> {
    let leases = Api::<Lease>::namespaced(world.hub.client(), &world.cluster);
    let lease = leases.get_opt("managed-cluster-lease").await.unwrap()?;
    lease.spec?.renew_time.map(|time| time.0.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_is_renewed_and_the_cluster_is_reported_once() {
    let world = World::new().await;
    create_cluster(&world).await;
    let mut settings = world.settings();
    settings.capacity.insert("cpu".to_owned(), "8".to_owned());
    settings.allocatable.insert("cpu".to_owned(), "7".to_owned());
    settings.claims.insert("region".to_owned(), "eu".to_owned());
    let agent = Agent::start(world.hub.client(), world.spoke.client(), settings);
    let cluster = until_joined(&world).await;
    let status = cluster.status.unwrap();
    assert_eq!(
        (
            status.capacity["cpu"].0.as_str(),
            status.allocatable["cpu"].0.as_str()
        ),
        ("8", "7")
    );
    assert_eq!(
        (
            status.cluster_claims[0].name.as_str(),
            status.cluster_claims[0].value.as_str()
        ),
        ("region", "eu")
    );
    assert!(status.version.unwrap().kubernetes.unwrap().starts_with('v'));
    let mut last = None;
    for _ in 0..3 {
        eventually("the lease is renewed", async || {
            let now = renewed(&world).await;
            now.is_some() && now != last
        })
        .await;
        last = renewed(&world).await;
    }
    let clusters = Api::<ManagedCluster>::all(world.hub.client());
    let now = clusters.get(&world.cluster).await.unwrap();
    assert_eq!(now.metadata.resource_version, cluster.metadata.resource_version);
    agent.stop().await;
}
