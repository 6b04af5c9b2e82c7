//! Acceptance on the embedded hub, through real watches.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use portolan_api::cluster::ManagedCluster;
use portolan_api::labels::portolan::{AGENT_NAMESPACE, AGENT_ROLE, WAIT_FOR_WORKS};
use portolan_api::work::ManifestWork;
use portolan_runtime::Clock;
use portolan_runtime::watch::Watch;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::Acceptance;
use crate::reconcile::fake::live::{clock, context, eventually, hub, rest};
use crate::reconcile::fake::object;
use crate::settings::Settings;

/// Acceptance with its watches; it ends when this is dropped.
fn start(client: &Client) -> JoinSet<()> {
    start_with(client, clock())
}

fn start_with(client: &Client, clock: Clock) -> JoinSet<()> {
    let settings = Settings::new(clock);
    let (acceptance, subscribers) = Acceptance::new(client.clone(), &settings, context(&settings));
    let mut tasks = JoinSet::new();
    tasks.spawn(Watch::new(client.clone(), vec![subscribers.clusters]).run());
    tasks.spawn(super::namespaces(client.clone(), subscribers.namespaces).run());
    tasks.spawn(acceptance.run());
    tasks
}

fn cluster(name: &str, accepted: bool) -> ManagedCluster {
    object(json!({"metadata": {"name": name}, "spec": {"hubAcceptsClient": accepted}}))
}

/// Status and reason of the condition, if there is one.
async fn accepted(client: &Client, name: &str) -> Option<(String, String)> {
    let found = Api::<ManagedCluster>::all(client.clone())
        .get(name)
        .await
        .unwrap();
    let condition = found.status?.conditions.into_iter().next()?;
    assert_eq!(condition.type_, "HubAcceptedManagedCluster");
    Some((condition.status, condition.reason))
}

async fn accept(client: &Client, name: &str, accepts: bool) {
    let patch = json!({"spec": {"hubAcceptsClient": accepts}});
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    let how = PatchParams::default();
    clusters.patch(name, &how, &Patch::Merge(patch)).await.unwrap();
}

fn is(said: &Option<(String, String)>, status: &str, reason: &str) -> bool {
    *said == Some((status.to_owned(), reason.to_owned()))
}

async fn create<K>(api: &Api<K>, value: Value)
where
    K: kube::Resource<DynamicType = ()>
        + serde::de::DeserializeOwned
        + serde::Serialize
        + Clone
        + std::fmt::Debug,
{
    api.create(&PostParams::default(), &object(value)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_accepted_cluster_gets_a_namespace_and_a_condition_and_a_restart_adds_nothing() {
    let (_hub, client) = hub().await;
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut running = start(&client);
    for (name, accepts) in [("west", true), ("east", false)] {
        clusters
            .create(&PostParams::default(), &cluster(name, accepts))
            .await
            .unwrap();
    }
    eventually("the accepted cluster has its namespace", async || {
        let found = namespaces.get_opt("west").await.unwrap();
        let label = |namespace: &Namespace| {
            let labels = namespace.labels();
            labels.get("open-cluster-management.io/cluster-name").cloned()
        };
        found.is_some_and(|found| label(&found).as_deref() == Some("west"))
            && is(
                &accepted(&client, "west").await,
                "True",
                "HubClusterAdminAccepted",
            )
    })
    .await;
    assert!(namespaces.get_opt("east").await.unwrap().is_none());
    assert_eq!(accepted(&client, "east").await, None);

    accept(&client, "west", false).await;
    eventually("the cluster is denied", async || {
        is(&accepted(&client, "west").await, "False", "HubClusterAdminDenied")
    })
    .await;
    accept(&client, "west", true).await;
    eventually("the cluster is accepted again", async || {
        is(
            &accepted(&client, "west").await,
            "True",
            "HubClusterAdminAccepted",
        )
    })
    .await;

    running.shutdown().await;
    let version = async || {
        let list = clusters.list(&ListParams::default()).await.unwrap();
        list.metadata.resource_version
    };
    let before = version().await;
    let _again = start(&client);
    rest().await;
    assert_eq!(version().await, before, "the version of the whole store moved");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_there_is_used_as_it_is() {
    let (_hub, client) = hub().await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    create(&namespaces, json!({"metadata": {"name": "west"}})).await;
    let before = namespaces.get("west").await.unwrap();
    let _running = start(&client);
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    clusters
        .create(&PostParams::default(), &cluster("west", true))
        .await
        .unwrap();
    eventually("the cluster is accepted", async || {
        is(
            &accepted(&client, "west").await,
            "True",
            "HubClusterAdminAccepted",
        )
    })
    .await;
    rest().await;
    assert_eq!(
        namespaces.get("west").await.unwrap().resource_version(),
        before.resource_version()
    );
}

#[tokio::test(start_paused = true)]
async fn the_rights_of_an_agent_outlive_its_works_and_its_account_the_namespace() {
    let (_hub, client) = hub().await;
    let labels = json!({"open-cluster-management.io/cluster-name": "west"});
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let roles: Api<Role> = Api::namespaced(client.clone(), "west");
    let works: Api<ManifestWork> = Api::namespaced(client.clone(), "west");
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    create(&namespaces, json!({"metadata": {"name": AGENT_NAMESPACE}})).await;
    create(
        &namespaces,
        json!({"metadata": {"name": "west", "labels": labels}}),
    )
    .await;
    create(&accounts, json!({"metadata": {"name": "west", "labels": labels}})).await;
    create(&accounts, json!({"metadata": {"name": "east"}})).await;
    let finalizers = json!([WAIT_FOR_WORKS]);
    create(
        &roles,
        json!({"metadata": {"name": AGENT_ROLE, "finalizers": finalizers}, "rules": []}),
    )
    .await;
    create(
        &works,
        json!({"metadata": {"name": "web", "finalizers": ["agent/holds"]}, "spec": {"workload": {"manifests": []}}}),
    )
    .await;
    let _running = start(&client);
    namespaces.delete("west", &DeleteParams::default()).await.unwrap();
    eventually("the work is being deleted", async || {
        works
            .get("web")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_some()
    })
    .await;
    rest().await;
    assert!(
        roles
            .get(AGENT_ROLE)
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_some()
    );
    assert!(accounts.get_opt("west").await.unwrap().is_some());

    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    works.patch("web", &PatchParams::default(), &patch).await.unwrap();
    eventually("the namespace is gone, and the account after it", async || {
        namespaces.get_opt("west").await.unwrap().is_none()
            && accounts.get_opt("west").await.unwrap().is_none()
    })
    .await;
    assert!(
        accounts.get_opt("east").await.unwrap().is_some(),
        "it is somebody else's"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_loses_its_namespace_alone_keeps_its_account_and_gets_another() {
    let (_hub, client) = hub().await;
    let labels = json!({"open-cluster-management.io/cluster-name": "west"});
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    create(&namespaces, json!({"metadata": {"name": AGENT_NAMESPACE}})).await;
    create(&accounts, json!({"metadata": {"name": "west", "labels": labels}})).await;
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    clusters
        .create(&PostParams::default(), &cluster("west", true))
        .await
        .unwrap();
    let _running = start(&client);
    eventually("the namespace is there", async || {
        namespaces.get_opt("west").await.unwrap().is_some()
    })
    .await;
    let first = namespaces.get("west").await.unwrap().uid();
    namespaces.delete("west", &DeleteParams::default()).await.unwrap();
    eventually("another namespace is there", async || {
        let found = namespaces.get_opt("west").await.unwrap();
        found.is_some_and(|found| found.uid() != first)
    })
    .await;
    rest().await;
    assert!(accounts.get_opt("west").await.unwrap().is_some());
    clusters.delete("west", &DeleteParams::default()).await.unwrap();
    namespaces.delete("west", &DeleteParams::default()).await.unwrap();
    eventually("both are gone, and the account with them", async || {
        accounts.get_opt("west").await.unwrap().is_none()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_account_of_a_cluster_ends_with_its_namespace_that_has_no_label() {
    let (_hub, client) = hub().await;
    let labels = json!({"open-cluster-management.io/cluster-name": "west"});
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let roles: Api<Role> = Api::namespaced(client.clone(), "west");
    create(&namespaces, json!({"metadata": {"name": AGENT_NAMESPACE}})).await;
    create(&namespaces, json!({"metadata": {"name": "west"}})).await;
    create(&accounts, json!({"metadata": {"name": "west", "labels": labels}})).await;
    let finalizers = json!([WAIT_FOR_WORKS]);
    create(
        &roles,
        json!({"metadata": {"name": AGENT_ROLE, "finalizers": finalizers}, "rules": []}),
    )
    .await;
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    clusters
        .create(&PostParams::default(), &cluster("west", true))
        .await
        .unwrap();
    let _running = start(&client);
    rest().await;
    clusters.delete("west", &DeleteParams::default()).await.unwrap();
    rest().await;
    assert!(
        accounts.get_opt("west").await.unwrap().is_some(),
        "the namespace is there"
    );
    namespaces.delete("west", &DeleteParams::default()).await.unwrap();
    eventually("the namespace is gone, and the account after it", async || {
        namespaces.get_opt("west").await.unwrap().is_none()
            && accounts.get_opt("west").await.unwrap().is_none()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_account_of_a_cluster_that_went_while_no_controller_ran_ends() {
    let (_hub, client) = hub().await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    create(&namespaces, json!({"metadata": {"name": AGENT_NAMESPACE}})).await;
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    let there = cluster("there", true);
    clusters.create(&PostParams::default(), &there).await.unwrap();
    for name in ["gone", "leaves", "there"] {
        let labels = json!({"open-cluster-management.io/cluster-name": name});
        create(&accounts, json!({"metadata": {"name": name, "labels": labels}})).await;
    }
    create(&accounts, json!({"metadata": {"name": "other"}})).await;
    // Made by hand, without the label, and still there.
    create(&namespaces, json!({"metadata": {"name": "leaves"}})).await;
    let made = accounts
        .get("gone")
        .await
        .unwrap()
        .creation_timestamp()
        .unwrap()
        .0;
    let left = async || {
        let found = accounts.list_metadata(&ListParams::default()).await.unwrap();
        let mut names: Vec<String> = found.items.iter().map(ResourceExt::name_any).collect();
        names.retain(|name| name != "default");
        names
    };
    // A backup may be on its way, with the account first.
    let young = start_with(&client, Clock::new(move || made + Duration::from_secs(600)));
    rest().await;
    assert_eq!(left().await, ["gone", "leaves", "other", "there"]);
    drop(young);
    let _running = start_with(&client, Clock::new(move || made + Duration::from_secs(7200)));
    eventually("the account of the cluster that is gone has ended", async || {
        left().await == ["leaves", "other", "there"]
    })
    .await;
    namespaces
        .delete("leaves", &DeleteParams::default())
        .await
        .unwrap();
    eventually("the other account has ended with its namespace", async || {
        left().await == ["other", "there"]
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_was_made_by_hand_comes_back_when_it_is_deleted() {
    let (_hub, client) = hub().await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    // Without the label, so that the watch of the namespaces of clusters does not show it.
    create(&namespaces, json!({"metadata": {"name": "west"}})).await;
    let clusters: Api<ManagedCluster> = Api::all(client.clone());
    clusters
        .create(&PostParams::default(), &cluster("west", true))
        .await
        .unwrap();
    let _running = start(&client);
    rest().await;
    namespaces.delete("west", &DeleteParams::default()).await.unwrap();
    eventually("another namespace is there, with the label", async || {
        let found = namespaces.get_opt("west").await.unwrap();
        found.is_some_and(|found| {
            found
                .labels()
                .contains_key("open-cluster-management.io/cluster-name")
        })
    })
    .await;
}
