//! The stream, and the example that the documentation shows, on a server: the embedded hub, or a real one where
//! `KUBEBUILDER_ASSETS` names it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "the example's main is for people")]
#[path = "../examples/deploy.rs"]
mod example;

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use portolan_api::multicluster::{PlacementDecision, Work};
use portolan_consumer::{Change, DecisionStream, Discovery, Options};
use portolan_testserver::TestServer;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long to wait for something that is to happen. Nothing is said about how fast it is.
const EVENTUALLY_TIMEOUT: Duration = Duration::from_secs(60);

fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

async fn server() -> TestServer {
    let server = TestServer::start().await;
    let api = Api::<CustomResourceDefinition>::all(server.client());
    for crd in portolan_api::crds() {
        match api.create(&PostParams::default(), &crd).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            created => drop(created.unwrap()),
        }
    }
    eventually("the kinds are served", async || {
        let works = Api::<Work>::all(server.client())
            .list(&ListParams::default())
            .await;
        let slices = Api::<PlacementDecision>::all(server.client());
        works.is_ok() && slices.list(&ListParams::default()).await.is_ok()
    })
    .await;
    server
}

async fn eventually(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(EVENTUALLY_TIMEOUT, waiting).await;
    assert!(waited.is_ok(), "waited in vain: {what}");
}

/// A scheduler that does as it is told.
struct Scheduler {
    slices: Api<PlacementDecision>,
    key: &'static str,
}

impl Scheduler {
    fn new(server: &TestServer, key: &'static str) -> Scheduler {
        Scheduler {
            slices: Api::namespaced(server.client(), server.namespace()),
            key,
        }
    }

    async fn write(&self, index: usize, revision: Option<(usize, usize)>, clusters: &[&str]) {
        let entry = |name: &&str| json!({ "clusterProfileRef": { "name": name } });
        let mut labels = json!({
            "multicluster.x-k8s.io/decision-key": self.key,
            "multicluster.x-k8s.io/decision-index": index.to_string(),
        });
        if let Some((revision, count)) = revision {
            labels["multicluster.x-k8s.io/decision-revision"] = revision.to_string().into();
            labels["multicluster.x-k8s.io/decision-slice-count"] = count.to_string().into();
        }
        let name = format!("{}-{index}", self.key);
        let slice = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
            "metadata": { "name": name, "labels": labels },
            "decisions": clusters.iter().map(entry).collect::<Vec<_>>(),
        });
        let params = PatchParams::apply("scheduler").force();
        self.slices
            .patch(&name, &params, &Patch::Apply(slice))
            .await
            .unwrap();
    }

    async fn delete(&self, index: usize) {
        let name = format!("{}-{index}", self.key);
        self.slices.delete(&name, &DeleteParams::default()).await.unwrap();
    }
}

/// The next changes as words.
async fn words(stream: &mut DecisionStream) -> Vec<String> {
    let update = async {
        loop {
            let update = stream.next().await.unwrap().unwrap();
            if !update.changes.is_empty() {
                return update;
            }
        }
    };
    let update = tokio::time::timeout(EVENTUALLY_TIMEOUT, update).await.unwrap();
    let word = |change: &Change| match change {
        Change::Added(chosen) => format!("+{}", chosen.cluster.name),
        Change::Removed(cluster) => format!("-{}", cluster.name),
        Change::Reordered(_) => "order".to_owned(),
        Change::Emptied => "empty".to_owned(),
        Change::Gone => "gone".to_owned(),
    };
    update.changes.iter().map(word).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_may_only_read_follows_a_decision_from_first_slice_to_last() {
    let server = server().await;
    let namespace = server.namespace();
    let role = json!({
        "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": ["multicluster.x-k8s.io"], "resources": ["placementdecisions"], "verbs": ["get", "list", "watch"] }],
    });
    let binding = json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader" }],
    });
    let create = PostParams::default();
    let roles = Api::<Role>::namespaced(server.client(), namespace);
    roles.create(&create, &typed(role)).await.unwrap();
    let bindings = Api::<RoleBinding>::namespaced(server.client(), namespace);
    bindings.create(&create, &typed(binding)).await.unwrap();
    let scheduler = Scheduler::new(&server, "web");
    scheduler.write(0, Some((0, 1)), &[]).await;

    let client = server.client_as("reader", &[]);
    let options = Options::new(Discovery::DecisionKey("web".into()));
    let mut stream = DecisionStream::namespaced(client, namespace, options);
    assert_eq!(words(&mut stream).await, ["empty"]);
    scheduler.write(0, Some((0, 1)), &["a", "b"]).await;
    assert_eq!(words(&mut stream).await, ["+a", "+b"]);
    // b moves to a second slice, and c joins: the move is nothing.
    scheduler.write(0, Some((1, 2)), &["a"]).await;
    scheduler.write(1, Some((1, 2)), &["b", "c"]).await;
    assert_eq!(words(&mut stream).await, ["+c"]);
    scheduler.write(0, Some((2, 1)), &["b", "c"]).await;
    assert_eq!(words(&mut stream).await, ["-a"]);
    scheduler.delete(1).await;
    scheduler.delete(0).await;
    assert_eq!(words(&mut stream).await, ["-b", "-c", "gone"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_left_a_decision_without_revisions_is_removed_if_not_back() {
    let server = server().await;
    let scheduler = Scheduler::new(&server, "plain");
    scheduler.write(0, None, &["a", "b"]).await;
    scheduler.write(1, None, &["c"]).await;
    let options = Options {
        settle: Duration::from_millis(300),
        ..Options::new(Discovery::DecisionKey("plain".into()))
    };
    let mut stream = DecisionStream::namespaced(server.client(), server.namespace(), options);
    assert_eq!(words(&mut stream).await, ["+a", "+b", "+c"]);
    scheduler.write(0, None, &["a"]).await;
    assert_eq!(words(&mut stream).await, ["-b"]);
    server.stop().await;
}

async fn works(client: &Client, key: &str) -> Vec<String> {
    let label = format!("example.com/deployed-for={key}");
    let works = Api::<Work>::all(client.clone());
    let list = works.list(&ListParams::default().labels(&label)).await.unwrap();
    let mut namespaces: Vec<String> = list
        .items
        .into_iter()
        .filter_map(|work| work.metadata.namespace)
        .collect();
    namespaces.sort();
    namespaces
}

#[tokio::test(flavor = "multi_thread")]
async fn the_consumer_of_the_documentation_deploys_removes_and_goes_on_after_a_pause() {
    let server = server().await;
    let client = server.client();
    // Names that no other test has: on a real server all share them.
    let names = ["page-a", "page-b", "page-c"];
    for name in names {
        let namespace = typed(json!({ "metadata": { "name": name } }));
        let namespaces = Api::<Namespace>::all(client.clone());
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap();
    }
    let scheduler = Scheduler::new(&server, "page");
    scheduler.write(0, Some((0, 1)), &["page-a", "page-b"]).await;
    let start = |name: &'static str| {
        let (client, namespace) = (client.clone(), server.namespace().to_owned());
        tokio::spawn(async move {
            let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": "default" } });
            let work = typed(
                json!({ "metadata": { "name": name }, "spec": { "workload": { "manifests": [manifest] } } }),
            );
            // It ends when it is told to, or fails.
            if let Err(error) = example::deploy(client, &namespace, "page", work).await {
                panic!("{error}");
            }
        })
    };
    let consumer = start("page");
    eventually("both have the work", async || {
        works(&client, "page").await == ["page-a", "page-b"]
    })
    .await;
    consumer.abort();
    scheduler.write(0, Some((0, 1)), &["page-b", "page-c"]).await;
    let consumer = start("page");
    eventually("the work followed", async || {
        works(&client, "page").await == ["page-b", "page-c"]
    })
    .await;
    let other = start("other");
    eventually(
        "another consumer of the same decision brings its own",
        async || works(&client, "page").await == ["page-b", "page-b", "page-c", "page-c"],
    )
    .await;
    scheduler.delete(0).await;
    eventually("the works are gone", async || {
        works(&client, "page").await.is_empty()
    })
    .await;
    consumer.abort();
    other.abort();
    server.stop().await;
}
