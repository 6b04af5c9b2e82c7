//! What a shell and kubectl get when a person presses the tab key.

use std::path::Path;
use std::process::Command;

use super::hub::Live;
use super::support::Scratch;
use serde_json::json;

/// What bash is offered for the last word of a line.
fn offered(line: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .env_remove("KUBECONFIG")
        .env("HOME", "/nowhere")
        .env("PORTOLAN_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", (line.len() - 1).to_string())
        .env("_CLAP_IFS", "\n")
        .arg("--")
        .args(line)
        .output()
        .expect("the binary runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

fn placement(namespace: &str, name: &str) -> serde_json::Value {
    json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "name": name, "namespace": namespace }, "spec": {} })
}

#[test]
fn names_of_placements_and_clusters_come_from_the_hub() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply(placement("ml", "training"));
    live.apply(placement("shop", "web"));
    live.apply(
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": "east" }, "spec": {} }),
    );
    let hub = ["--kubeconfig", live.argument()];
    // A busy machine may not answer within the second that a shell is made to wait; every line here has an answer.
    let line = |before: &[&'static str], after: &[&'static str]| {
        let line = [&["portolan"], before].concat();
        let line = [&line[..], &hub, after].concat();
        let mut answers = (0..20).map(|_| offered(&line));
        answers.find(|names| !names.is_empty()).unwrap_or_default()
    };
    let all = line(&["explain"], &[""]);
    assert!(
        all.contains(&"ml/training".to_owned()) && all.contains(&"shop/web".to_owned()),
        "{all:?}"
    );
    assert_eq!(line(&["explain"], &["ml"]), ["ml/training"]);
    assert_eq!(line(&["explain", "ml/training"], &["--cluster", "e"]), ["east"]);
    assert_eq!(line(&["get", "clusters"], &["e"]), ["east"]);
    assert_eq!(line(&["get", "decisions"], &["s"]), ["shop/web"]);
    live.apply(
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": "member-1", "labels": { "portolan.dev/embedded-member": "true" } }, "spec": {} }),
    );
    live.apply(
        json!({ "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": "rollout", "namespace": "shop" },
        "spec": { "manifestWorkTemplate": { "workload": { "manifests": [] } }, "placementRefs": [{ "name": "web" }] } }),
    );
    assert_eq!(line(&["doctor"], &["shop"]), ["shop/rollout", "shop/web"]);
    for fate in ["fail", "recover", "partition"] {
        let named = line(&["demo", fate], &[""]);
        assert!(
            named.contains(&"member-1".to_owned()) && !named.contains(&"east".to_owned()),
            "{named:?}"
        );
    }
    assert_eq!(
        line(&["simulate"], &["--remove", "managedcluster/"]),
        ["managedcluster/east", "managedcluster/member-1"]
    );
    assert_eq!(
        line(&["simulate"], &["--remove", "placement/m"]),
        ["placement/ml/training"]
    );
    let program = env!("CARGO_BIN_EXE_portolan");
    let link = |name: &str| {
        let path = scratch.path().join(name);
        std::os::unix::fs::symlink(program, &path).expect("a link can be made");
        path
    };
    let run = |path: &Path, args: &[&str]| {
        let output = Command::new(path).args(args).output().expect("the binary runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let completer = link("kubectl_complete-portolan");
    let mut said = (0..20).map(|_| run(&completer, &["explain", "--kubeconfig", live.argument(), "ml"]));
    let said = said.find(|said| said.contains("ml/")).unwrap_or_default();
    assert_eq!(said, "ml/training\n:4\n");
    let plugin = link("kubectl-portolan");
    let help = run(&plugin, &["explain", "--help"]);
    assert!(help.contains("Usage: kubectl portolan explain"), "{help}");
    live.stop();
}

#[test]
fn what_may_be_removed_from_files_comes_from_the_files() {
    let scratch = Scratch::new();
    let fleet = json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": "east" }, "spec": {} });
    scratch.write("fleet.json", fleet.to_string());
    let path = scratch.path().join("fleet.json");
    let line = [
        "portolan",
        "simulate",
        "-f",
        path.to_str().unwrap(),
        "--remove",
        "m",
    ];
    assert_eq!(offered(&line), ["managedcluster/east"]);
}

#[test]
fn without_a_hub_there_are_words_and_no_error() {
    assert!(offered(&["portolan", "ex"]).contains(&"explain".to_owned()));
    assert_eq!(offered(&["portolan", "explain", "m"]), Vec::<String>::new());
}
