//! `portolan leave`, and what the deletion of a cluster by hand leads to.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use portolan_agent::Agent;
use portolan_api::cluster::{ManagedCluster, ManagedClusterSetBinding, Placement};
use portolan_api::multicluster::Work;
use portolan_api::work::{ManifestWork, ManifestWorkReplicaSet};
use portolan_controllers::{Clock, Controllers, Settings};
use portolan_testserver::{Feature, TestServer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{eventually, joined, run, server};

fn clock() -> Clock {
    #[expect(clippy::disallowed_methods, reason = "tests run in real time")]
    Clock::new(jiff::Timestamp::now)
}

/// Joins, and starts the agent. The member cluster is the server itself.
async fn member(server: &TestServer, name: &str) -> Agent {
    let hub = joined(server, name, &["--label", &format!("name={name}")]).await;
    let mut settings = portolan_agent::Settings::new(name, clock());
    // All members of the test are one server.
    settings.hub_id = name.to_owned();
    Agent::start(hub, server.client(), settings)
}

/// The controllers with everything that a hub without OCM needs.
fn controllers(server: &TestServer) -> Controllers {
    let mut settings = Settings::new(clock());
    settings.registration = true;
    Controllers::start(server.client(), settings)
}

async fn create<K>(api: &Api<K>, value: Value)
where
    K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    let object = serde_json::from_value(value).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

fn own<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(
    server: &TestServer,
    namespace: &str,
) -> Api<K> {
    Api::namespaced(server.client(), namespace)
}

/// A work with one ConfigMap in the namespace of the test, waited for until it is applied.
async fn work(server: &TestServer, cluster: &str, name: &str) -> Api<ConfigMap> {
    let works: Api<ManifestWork> = own(server, cluster);
    create(
        &works,
        json!({"metadata": {"name": name}, "spec": {"workload": {"manifests": [config(server, name)]}}}),
    )
    .await;
    let configs: Api<ConfigMap> = own(server, server.namespace());
    eventually("the work is applied", async || {
        configs.get_opt(name).await.unwrap().is_some()
    })
    .await;
    configs
}

fn config(server: &TestServer, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": server.namespace()}, "data": {"a": "b"}})
}

/// What is left of a cluster on the hub.
async fn left(client: &Client, name: &str) -> Vec<&'static str> {
    let role = format!("portolan-agent:{name}");
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "portolan-agents");
    let mut left = Vec::new();
    if is_there(&Api::<ManagedCluster>::all(client.clone()), name).await {
        left.push("ManagedCluster");
    }
    if is_there(&Api::<Namespace>::all(client.clone()), name).await {
        left.push("Namespace");
    }
    if is_there(&accounts, name).await {
        left.push("ServiceAccount");
    }
    if is_there(&Api::<ClusterRole>::all(client.clone()), &role).await {
        left.push("ClusterRole");
    }
    if is_there(&Api::<ClusterRoleBinding>::all(client.clone()), &role).await {
        left.push("ClusterRoleBinding");
    }
    left
}

async fn is_there<K>(api: &Api<K>, name: &str) -> bool
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    api.get_opt(name).await.unwrap().is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_leaves_after_its_works_and_can_join_again() {
    let server = server().await;
    if server.lacks(Feature::NamespaceDeletion) {
        return;
    }
    let agent = member(&server, "leave-west").await;
    let configs = work(&server, "leave-west", "leave-config").await;
    let left_first = run(&server, "leave", &["leave-west"]).await;
    assert_eq!(left_first.code, 0, "{}", left_first.stderr);
    assert!(
        left_first.stdout.contains("leave-west is removed"),
        "{}",
        left_first.stdout
    );
    assert!(!is_there(&configs, "leave-config").await);
    assert_eq!(left(&server.client(), "leave-west").await, [""; 0]);
    agent.stop().await;

    let again = run(&server, "leave", &["leave-west"]).await;
    assert_eq!(again.code, 2, "{}", again.stderr);
    assert!(
        again.stderr.contains("there is no cluster leave-west on"),
        "{}",
        again.stderr
    );
    let ignored = run(&server, "leave", &["leave-west", "--ignore-not-found"]).await;
    assert_eq!((ignored.code, ignored.stderr.as_str()), (0, ""));

    let agent = member(&server, "leave-west").await;
    work(&server, "leave-west", "leave-config").await;
    agent.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_agent_the_works_are_named_and_force_leaves_their_objects() {
    let server = server().await;
    if server.lacks(Feature::NamespaceDeletion) {
        return;
    }
    let agent = member(&server, "leave-gone").await;
    let configs = work(&server, "leave-gone", "kept-config").await;
    agent.stop().await;

    let waited = run(&server, "leave", &["leave-gone", "--timeout", "2s"]).await;
    assert_eq!(waited.code, 1, "{}", waited.stderr);
    for words in ["ManifestWork kept-config", "renewed its Lease", "--force"] {
        assert!(waited.stderr.contains(words), "{words}: {}", waited.stderr);
    }
    let clusters: Api<ManagedCluster> = Api::all(server.client());
    let leaving = clusters.get("leave-gone").await.unwrap();
    assert!(leaving.metadata.deletion_timestamp.is_some());
    let rejoined = run(&server, "join", &["leave-gone"]).await;
    assert_eq!(rejoined.code, 2);
    assert!(
        rejoined.stderr.contains("is being deleted"),
        "{}",
        rejoined.stderr
    );

    let forced = run(&server, "leave", &["leave-gone", "--force"]).await;
    assert_eq!(forced.code, 0, "{}", forced.stderr);
    let object = format!(
        "ManifestWork kept-config: ConfigMap {}/kept-config",
        server.namespace()
    );
    assert!(forced.stderr.contains(&object), "{}", forced.stderr);
    assert!(
        forced.stderr.contains("stay on the member cluster"),
        "{}",
        forced.stderr
    );
    assert!(is_there(&configs, "kept-config").await);
    assert_eq!(left(&server.client(), "leave-gone").await, [""; 0]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_deleted_by_hand_ends_where_its_agent_lives() {
    let server = server().await;
    if server.lacks(Feature::NamespaceDeletion) {
        return;
    }
    let controllers = controllers(&server);
    let agent = member(&server, "leave-hand").await;
    let configs = work(&server, "leave-hand", "hand-config").await;
    let clusters: Api<ManagedCluster> = Api::all(server.client());
    let namespaces: Api<Namespace> = Api::all(server.client());
    clusters
        .delete("leave-hand", &DeleteParams::default())
        .await
        .unwrap();
    assert!(is_there(&configs, "hand-config").await, "the works stay");
    namespaces
        .delete("leave-hand", &DeleteParams::default())
        .await
        .unwrap();
    eventually("the namespace, its works and the account are gone", async || {
        let left = left(&server.client(), "leave-hand").await;
        left == ["ClusterRole", "ClusterRoleBinding"] && !is_there(&configs, "hand-config").await
    })
    .await;
    agent.stop().await;
    let rest = run(&server, "leave", &["leave-hand"]).await;
    assert_eq!(rest.code, 0, "{}", rest.stderr);
    assert_eq!(left(&server.client(), "leave-hand").await, [""; 0]);
    controllers.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_replica_set_made_is_not_made_anew_while_its_cluster_leaves() {
    let server = server().await;
    if server.lacks(Feature::NamespaceDeletion) {
        return;
    }
    let controllers = controllers(&server);
    let agent = member(&server, "leave-set").await;
    let here = server.namespace();
    create(
        &own::<ManagedClusterSetBinding>(&server, here),
        json!({"metadata": {"name": "global"}, "spec": {"clusterSet": "global"}}),
    )
    .await;
    create(
        &own::<Placement>(&server, here),
        // It tolerates every taint, so that only the deletion of the cluster takes the cluster out.
        json!({"metadata": {"name": "all"}, "spec": {"tolerations": [{"operator": "Exists"}], "predicates": [{
            "requiredClusterSelector": {"labelSelector": {"matchLabels": {"name": "leave-set"}}},
        }]}}),
    )
    .await;
    create(
        &own::<ManifestWorkReplicaSet>(&server, here),
        json!({"metadata": {"name": "set"}, "spec": {
            "placementRefs": [{"name": "all"}],
            "manifestWorkTemplate": {"workload": {"manifests": [config(&server, "set-config")]}},
        }}),
    )
    .await;
    let configs: Api<ConfigMap> = own(&server, here);
    eventually("the replica set reached the cluster", async || {
        is_there(&configs, "set-config").await
    })
    .await;
    let works: Api<ManifestWork> = own(&server, "leave-set");
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let note = seen.clone();
    // It lists and watches again where a busy server ends a watch.
    let watch = watcher(works, watcher::Config::default());
    let watching = tokio::spawn(watch.for_each(move |event| {
        if let Ok(Event::InitApply(work) | Event::Apply(work) | Event::Delete(work)) = event {
            note.lock().unwrap().insert((work.name_any(), work.uid()));
        }
        std::future::ready(())
    }));
    eventually("the watch has seen the work", async || {
        !seen.lock().unwrap().is_empty()
    })
    .await;
    let leaving = run(&server, "leave", &["leave-set"]).await;
    assert_eq!(leaving.code, 0, "{}", leaving.stderr);
    assert!(!is_there(&configs, "set-config").await);
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 1, "{seen:?}");
    watching.abort();
    agent.stop().await;
    controllers.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_not_that_of_a_cluster_is_not_deleted() {
    let server = server().await;
    let namespaces: Api<Namespace> = Api::all(server.client());
    let refused = run(&server, "leave", &[server.namespace()]).await;
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("there is no cluster") && !refused.stderr.contains("delete namespace"),
        "{}",
        refused.stderr
    );
    assert!(is_there(&namespaces, server.namespace()).await);

    // A cluster that was applied by hand beside a namespace that was there before.
    create(&namespaces, json!({"metadata": {"name": "leave-alone"}})).await;
    let clusters: Api<ManagedCluster> = Api::all(server.client());
    create(
        &clusters,
        json!({"metadata": {"name": "leave-alone"}, "spec": {"hubAcceptsClient": true}}),
    )
    .await;
    let removed = run(&server, "leave", &["leave-alone"]).await;
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    assert!(
        removed.stdout.contains("the namespace leave-alone stays"),
        "{}",
        removed.stdout
    );
    assert!(is_there(&namespaces, "leave-alone").await);
    let again = run(&server, "leave", &["leave-alone", "--ignore-not-found"]).await;
    assert_eq!(again.code, 0, "{}", again.stderr);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_was_there_before_the_join_stays_when_the_cluster_leaves() {
    let server = server().await;
    let namespaces: Api<Namespace> = Api::all(server.client());
    create(&namespaces, json!({"metadata": {"name": "was-there"}})).await;
    let configs: Api<ConfigMap> = own(&server, "was-there");
    create(&configs, json!({"metadata": {"name": "precious"}})).await;
    joined(&server, "was-there", &[]).await;
    let run = run(&server, "leave", &["was-there", "--force"]).await;
    assert_eq!(run.code, 0, "{}", run.stderr);
    let namespace = namespaces.get("was-there").await.unwrap();
    assert!(namespace.metadata.deletion_timestamp.is_none());
    assert!(is_there(&configs, "precious").await);
    namespaces.delete("was-there", &Default::default()).await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_namespace_of_a_team_becomes_no_cluster_and_leaving_keeps_its_templates() {
    let server = server().await;
    let namespaces: Api<Namespace> = Api::all(server.client());
    create(&namespaces, json!({"metadata": {"name": "team"}})).await;
    let works: Api<Work> = own(&server, "team");
    let work = |name: &str, labels: Value| {
        let manifest =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "team"}});
        json!({"metadata": {"name": name, "labels": labels}, "spec": {"workload": {"manifests": [manifest]}}})
    };
    create(
        &works,
        work("template", json!({"multicluster.x-k8s.io/placement-key": "web"})),
    )
    .await;
    let refused = run(&server, "join", &["team"]).await;
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    assert!(
        refused
            .stderr
            .contains("the namespace team has the Work template"),
        "{}",
        refused.stderr
    );
    let clusters: Api<ManagedCluster> = Api::all(server.client());
    assert!(!is_there(&clusters, "team").await);

    // A cluster that somebody made by hand all the same.
    let accepted = json!({"metadata": {"name": "team"}, "spec": {"hubAcceptsClient": true}});
    create(&clusters, accepted).await;
    create(&works, work("own", json!({}))).await;
    // The agent of the cluster has applied the template as well.
    let held = json!({"metadata": {"finalizers": ["multicluster.x-k8s.io/work-cleanup"]}});
    works
        .patch("template", &PatchParams::default(), &Patch::Merge(held))
        .await
        .unwrap();
    let removed = run(&server, "leave", &["team", "--force"]).await;
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    let template = works.get("template").await.unwrap();
    assert_eq!(
        template.metadata.finalizers, None,
        "nobody else would take it off"
    );
    assert!(!is_there(&works, "own").await);
    namespaces.delete("team", &DeleteParams::default()).await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_with_the_label_of_templates_goes_with_the_namespace_of_its_cluster() {
    let server = server().await;
    joined(&server, "labelled", &[]).await;
    let works: Api<Work> = own(&server, "labelled");
    let manifest =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
    let work = json!({
        "metadata": {"name": "odd", "labels": {"multicluster.x-k8s.io/placement-key": "web"},
            "finalizers": ["multicluster.x-k8s.io/work-cleanup"]},
        "spec": {"workload": {"manifests": [manifest]}},
    });
    create(&works, work).await;
    let removed = run(&server, "leave", &["labelled", "--force", "--timeout", "60s"]).await;
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    let namespaces: Api<Namespace> = Api::all(server.client());
    assert!(!is_there(&namespaces, "labelled").await);
    server.stop().await;
}
