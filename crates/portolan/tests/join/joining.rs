//! `portolan join` on an API server, the hub or a real one: what the credentials open, and what they do not.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::{Api, ResourceExt};
use portolan_api::cluster::{ManagedCluster, ManagedClusterSet};
use portolan_api::work::ManifestWork;
use portolan_testserver::TestServer;
use serde_json::{Value, json};

use super::support::{Scratch, portolan};
use super::{eventually, join, joined, server};

async fn make_set(server: &TestServer, name: &str) {
    let api: Api<ManagedClusterSet> = Api::all(server.client());
    let set = serde_json::from_value(json!({"metadata": {"name": name}, "spec": {}})).unwrap();
    match api.create(&PostParams::default(), &set).await {
        // A real server is shared.
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        made => drop(made.unwrap()),
    }
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
    make_set(&server, "prod").await;
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
    make_set(&server, "prod").await;
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
async fn the_token_of_a_former_cluster_does_not_open_a_new_cluster_of_its_name() {
    let server = server().await;
    let former = joined(&server, "join-former", &[]).await;
    let works: Api<ManifestWork> = Api::namespaced(former, "join-former");
    let every = ListParams::default();
    eventually("works can be read", async || works.list(&every).await.is_ok()).await;
    // The account stays, because no controller runs here that would delete it.
    let clusters: Api<ManagedCluster> = Api::all(server.client());
    clusters
        .delete("join-former", &DeleteParams::default())
        .await
        .unwrap();
    let new = joined(&server, "join-former", &[]).await;
    eventually(
        "the former token is refused",
        async || matches!(works.list(&every).await, Err(kube::Error::Api(status)) if status.code == 401),
    )
    .await;
    let works: Api<ManifestWork> = Api::namespaced(new, "join-former");
    eventually("works can be read", async || works.list(&every).await.is_ok()).await;
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
async fn a_set_that_does_not_exist_is_a_warning_that_says_how_to_make_it() {
    let server = server().await;
    let run = join(&server, &["join-set", "--set", "no-such-set", "-o", "kubeconfig"]).await;
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("has no ManagedClusterSet no-such-set"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains(" |\n    kubectl --kubeconfig "),
        "{}",
        run.stderr
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_takes_its_cluster_from_its_credentials_and_refuses_another() {
    let server = server().await;
    let scratch = Scratch::new();
    let path = scratch.path().join("west.kubeconfig");
    let joined = join(&server, &["agent-west", "--write", path.to_str().unwrap()]).await;
    assert_eq!(joined.code, 0, "{}", joined.stderr);
    let args = ["--spoke", "none", "--cluster", "agent-east"].map(str::to_owned);
    let hub = path.to_str().unwrap().to_owned();
    let refused = tokio::task::spawn_blocking(move || {
        let args = ["agent".to_owned(), "--hub".to_owned(), hub]
            .into_iter()
            .chain(args);
        let args: Vec<String> = args.collect();
        portolan(
            scratch.path(),
            &args.iter().map(String::as_str).collect::<Vec<_>>(),
            "",
        )
    });
    let refused = refused.await.unwrap();
    assert_eq!(refused.code, 2);
    let expected = "these credentials are for cluster agent-west (namespace agent-west on the hub); --cluster says agent-east";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_an_embedded_member_is_refused_and_nothing_is_changed() {
    let server = server().await;
    let clusters: Api<ManagedCluster> = Api::all(server.client());
    let member = json!({"metadata": {"name": "member-77", "annotations": {"portolan.dev/embedded-by": "portolan-up"}},
        "spec": {"hubAcceptsClient": true}});
    let made = clusters
        .create(&PostParams::default(), &serde_json::from_value(member).unwrap())
        .await
        .unwrap();
    let run = join(&server, &["member-77", "--label", "tier=gold"]).await;
    assert_eq!(run.code, 2, "{}", run.stderr);
    for part in [
        "member-77 is an embedded member",
        "another name",
        "--forget-members",
    ] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    let now = clusters.get("member-77").await.unwrap();
    assert_eq!(
        (now.labels(), now.annotations()),
        (made.labels(), made.annotations())
    );
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
        run.stderr.contains("portolan crds | kubectl --kubeconfig "),
        "{}",
        run.stderr
    );
    bare.stop().await;
}
