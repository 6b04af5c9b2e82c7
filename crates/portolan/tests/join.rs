//! `portolan join` on an API server, the hub or a real one: what the credentials open, and what they do not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "nothing is written into the scratch directory here")]
mod support;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::Role;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};
use portolan_api::cluster::ManagedCluster;
use portolan_api::work::ManifestWork;
use portolan_testserver::TestServer;
use serde_json::{Value, json};
use support::{Run, Scratch, portolan};

async fn server() -> TestServer {
    let server = TestServer::start().await;
    let api = Api::<CustomResourceDefinition>::all(server.client());
    for definition in portolan_api::crds() {
        match api.create(&PostParams::default(), &definition).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            made => drop(made.unwrap()),
        }
    }
    let clusters: Api<ManagedCluster> = Api::all(server.client());
    let works: Api<ManifestWork> = Api::all(server.client());
    eventually("the kinds are served", async || {
        clusters.list(&ListParams::default()).await.is_ok()
            && works.list(&ListParams::default()).await.is_ok()
    })
    .await;
    server
}

async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..600 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it never happened: {what}");
}

/// Runs the binary beside the server, which may be in this process.
async fn join(server: &TestServer, args: &[&str]) -> Run {
    let args: Vec<String> = ["join", "--hub", server.kubeconfig().to_str().unwrap()]
        .iter()
        .chain(args)
        .map(ToString::to_string)
        .collect();
    let run = move || {
        let scratch = Scratch::new();
        portolan(
            scratch.path(),
            &args.iter().map(String::as_str).collect::<Vec<_>>(),
            "",
        )
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// Joins, and is the agent from then on.
async fn joined(server: &TestServer, name: &str, args: &[&str]) -> Client {
    let run = join(server, &[&[name, "-o", "kubeconfig"], args].concat()).await;
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let kubeconfig = Kubeconfig::from_yaml(&run.stdout).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

fn code<T: std::fmt::Debug>(answer: kube::Result<T>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_credentials_open_the_own_namespace_and_the_own_cluster_and_nothing_else() {
    let server = server().await;
    let agent = joined(&server, "join-west", &["--label", "tier=gold", "--set", "prod"]).await;
    joined(&server, "join-east", &[]).await;
    let (every, patch) = (ListParams::default(), PatchParams::default());

    let own: Api<ManifestWork> = Api::namespaced(agent.clone(), "join-west");
    // On a real server roles take a moment.
    eventually("works can be read", async || own.list(&every).await.is_ok()).await;
    let lease = json!({"metadata": {"name": "managed-cluster-lease"}, "spec": {}});
    let leases: Api<Lease> = Api::namespaced(agent.clone(), "join-west");
    leases
        .create(
            &PostParams::default(),
            &serde_json::from_value(lease.clone()).unwrap(),
        )
        .await
        .unwrap();
    let clusters: Api<ManagedCluster> = Api::all(agent.clone());
    eventually("the own cluster can be read", async || {
        clusters.get("join-west").await.is_ok()
    })
    .await;
    let named = "metadata.name=join-west";
    assert_eq!(
        clusters
            .list(&ListParams::default().fields(named))
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    assert!(
        clusters
            .watch(&WatchParams::default().fields(named), "0")
            .await
            .is_ok()
    );
    let status = Patch::Merge(json!({"status": {"version": {"kubernetes": "v1.33.0"}}}));
    clusters.patch_status("join-west", &patch, &status).await.unwrap();

    let other: Api<ManifestWork> = Api::namespaced(agent.clone(), "join-east");
    assert_eq!(code(other.list(&every).await), 403);
    let leases: Api<Lease> = Api::namespaced(agent.clone(), "join-east");
    assert_eq!(
        code(
            leases
                .create(&PostParams::default(), &serde_json::from_value(lease).unwrap())
                .await
        ),
        403
    );
    assert_eq!(
        code(Api::<ManifestWork>::all(agent.clone()).list(&every).await),
        403
    );
    let secrets: Api<Secret> = Api::namespaced(agent.clone(), "join-west");
    assert_eq!(code(secrets.list(&every).await), 403);
    assert_eq!(code(clusters.get("join-east").await), 403);
    assert_eq!(code(clusters.list(&every).await), 403);
    assert_eq!(
        code(clusters.patch_status("join-east", &patch, &status).await),
        403
    );
    let taints = Patch::Merge(json!({"spec": {"taints": null}}));
    assert_eq!(code(clusters.patch("join-west", &patch, &taints).await), 403);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_is_accepted_and_joining_again_changes_nothing() {
    let server = server().await;
    let args = ["--label", "tier=gold", "--label", "region=eu", "--set", "prod"];
    joined(&server, "join-twice", &args).await;
    let clusters: Api<ManagedCluster> = Api::all(server.client());
    let roles: Api<Role> = Api::namespaced(server.client(), "join-twice");
    let first = clusters.get("join-twice").await.unwrap();
    assert!(first.spec.hub_accepts_client);
    assert_eq!(first.labels()["tier"], "gold");
    assert_eq!(
        first.labels()["cluster.open-cluster-management.io/clusterset"],
        "prod"
    );
    let conditions = first.status.clone().unwrap().conditions;
    assert_eq!(
        (conditions[0].type_.as_str(), conditions[0].status.as_str()),
        ("HubAcceptedManagedCluster", "True")
    );
    let role = roles.get("portolan-agent").await.unwrap();
    joined(&server, "join-twice", &[]).await;
    let second = clusters.get("join-twice").await.unwrap();
    assert_eq!(second.resource_version(), first.resource_version());
    assert_eq!(roles.get("portolan-agent").await.unwrap().rules, role.rules);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubeconfig_is_written_for_its_owner_alone_and_the_next_step_is_said() {
    use std::os::unix::fs::PermissionsExt;

    let server = server().await;
    let scratch = Scratch::new();
    let path = scratch.path().join("agent.kubeconfig");
    let run = join(&server, &["join-file", "--write", path.to_str().unwrap()]).await;
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("portolan agent --hub"), "{}", run.stdout);
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let written: Value = serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(written["contexts"][0]["context"]["namespace"], "join-file");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_refused_with_what_to_do_next() {
    let scratch = Scratch::new();
    for (args, expected) in [
        (&["join", "kube-system"][..], "another purpose"),
        (&["join", "West"], "such as west-1"),
        (&["join", "west", "--label", "gold"], "such as region=west"),
        (&["join", "west"], "name one with --kubeconfig FILE"),
    ] {
        let run = portolan(scratch.path(), args, "");
        assert_eq!(run.code, 2, "{args:?}");
        assert!(run.stderr.contains(expected), "{args:?}: {}", run.stderr);
    }
    if TestServer::would_be_real() {
        // The real server is shared, and has the definitions.
        return;
    }
    let bare = TestServer::start().await;
    let run = join(&bare, &["join-early"]).await;
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("portolan crds | kubectl apply"),
        "{}",
        run.stderr
    );
    bare.stop().await;
}
