//! `portolan join` and `portolan leave` on an API server, the hub or a real one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod joining;
mod leaving;
mod renewing;
#[expect(dead_code, reason = "nothing is written into the scratch directory here")]
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use portolan_api::cluster::ManagedCluster;
use portolan_api::work::ManifestWork;
use portolan_testserver::TestServer;
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

async fn join(server: &TestServer, args: &[&str]) -> Run {
    run(server, "join", args).await
}

/// Runs the binary beside the server, which may be in this process.
async fn run(server: &TestServer, command: &str, args: &[&str]) -> Run {
    let args: Vec<String> = [command, "--hub", server.kubeconfig().to_str().unwrap()]
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
