//! `portolan lint` with a hub: what is asked about are the files.

use super::hub::Live;
use super::support::{Scratch, portolan};
use serde_json::{Value, json};

fn placement(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "name": name, "namespace": "shop" }, "spec": spec })
}

#[test]
fn a_namespace_that_neither_the_hub_nor_the_files_have_is_named() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let mut placement = placement("web", json!({}));
    placement["metadata"]["namespace"] = "nowhere".into();
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "nowhere" } });
    scratch.write("alone.json", placement.to_string());
    scratch.write("both.yaml", format!("{namespace}\n---\n{placement}\n"));
    let said = |file: &str| {
        let args = ["simulate", "--kubeconfig", live.argument(), "-f", file];
        portolan(scratch.path(), &args, "").stderr
    };
    let alone = said("alone.json");
    assert!(alone.contains("create namespace nowhere"), "{alone}");
    let both = said("both.yaml");
    assert!(!both.contains("create namespace"), "{both}");
    // The hub refuses the objects.
    let strict = [
        "lint",
        "--strict",
        "--kubeconfig",
        live.argument(),
        "-f",
        "alone.json",
    ];
    let strict = portolan(scratch.path(), &strict, "");
    assert_eq!(strict.code, 1, "{}", strict.stdout);
    assert!(
        strict
            .stdout
            .contains("warning: the hub has no namespace nowhere"),
        "{}",
        strict.stdout
    );
}

#[test]
fn mistakes_that_are_on_the_hub_without_the_files_are_not_those_of_the_files() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply(placement("old", json!({ "tolerations": [{}] })));
    let lint = |args: &[&str]| {
        let args = [&["lint", "--kubeconfig", live.argument()], args].concat();
        portolan(scratch.path(), &args, "")
    };
    let whole = lint(&[]);
    assert_eq!(whole.code, 1, "{}", whole.stdout);
    assert!(whole.stdout.contains("Placement shop/old"), "{}", whole.stdout);
    let mut cluster = json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": "east" } });
    scratch.write("good.json", cluster.to_string());
    cluster["status"] = json!({ "allocatable": { "cpu": "8" } });
    scratch.write("reported.json", cluster.to_string());
    let reported = lint(&["-f", "reported.json"]).stdout;
    assert!(reported.contains("status is left out"), "{reported}");
    let good = lint(&["-f", "good.json"]);
    assert_eq!(
        (good.code, good.stdout.as_str()),
        (0, "no mistakes found\n"),
        "{}",
        good.stderr
    );
    scratch.write(
        "bad.json",
        placement("new", json!({ "tolerations": [{}] })).to_string(),
    );
    let bad = lint(&["-f", "bad.json"]);
    assert_eq!(bad.code, 1, "{}", bad.stdout);
    assert!(
        bad.stdout.contains("bad.json: document 1: Placement shop/new"),
        "{}",
        bad.stdout
    );
    assert!(!bad.stdout.contains("shop/old"), "{}", bad.stdout);
    live.stop();
}

#[test]
fn works_on_the_hub_are_judged_and_those_that_controllers_made_are_not() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let cluster = json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": "east" } });
    live.apply(cluster);
    let manifests =
        json!([{ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "n" } }]);
    let executor = json!({ "subject": { "type": "ServiceAccount" } });
    let work = |name: &str, labels: Value| {
        json!({ "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": { "name": name, "namespace": "east", "labels": labels },
            "spec": { "executor": executor, "workload": { "manifests": manifests } } })
    };
    live.apply(work("mine", json!({})));
    live.apply(work(
        "made",
        json!({ "work.open-cluster-management.io/manifestworkreplicaset": "shop.made" }),
    ));
    live.apply(
        json!({ "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "Work",
        "metadata": { "name": "template", "namespace": "shop",
            "labels": { "multicluster.x-k8s.io/placement-key": "nosuch" } },
        "spec": { "workload": { "manifests": manifests } } }),
    );
    let lint = portolan(scratch.path(), &["lint", "--kubeconfig", live.argument()], "");
    assert_eq!(lint.code, 1, "{}", lint.stdout);
    for words in [
        "ManifestWork east/mine: spec.executor.subject.serviceAccount = (missing)",
        "Work shop/template: metadata.labels[multicluster.x-k8s.io/placement-key] = \"nosuch\"",
    ] {
        assert!(lint.stdout.contains(words), "{words}: {}", lint.stdout);
    }
    assert!(!lint.stdout.contains("east/made"), "{}", lint.stdout);
    live.stop();
}

/// A replica set that every API server accepts and no agent can apply.
fn unreadable_set() -> Value {
    let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": true } });
    json!({ "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": "odd", "namespace": "shop" },
        "spec": { "placementRefs": [{ "name": "web" }],
                  "manifestWorkTemplate": { "workload": { "manifests": [manifest] } } } })
}

#[test]
fn an_object_of_the_hub_that_cannot_be_read_is_an_error_of_the_hub_alone() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply(placement("web", json!({})));
    live.apply(unreadable_set());
    let lint = |args: &[&str]| {
        let args = [&["lint", "--kubeconfig", live.argument()], args].concat();
        portolan(scratch.path(), &args, "")
    };
    let hub = lint(&["-o", "json"]);
    assert_eq!(hub.code, 1, "{}", hub.stdout);
    let report: Value = serde_json::from_str(&hub.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    let errors: Vec<&Value> = findings
        .iter()
        .filter(|finding| finding["severity"] == "error")
        .collect();
    assert_eq!(report["errors"], 1, "{report:#}");
    assert_eq!(errors[0]["object"], "ManifestWorkReplicaSet shop/odd");
    assert_eq!(
        errors[0]["field"],
        "spec.manifestWorkTemplate.workload.manifests[0].metadata.name"
    );
    assert_ne!(errors[0]["accepted"], "");
    // The files are judged, and not what others have on the hub.
    let cluster = json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": "east" } });
    scratch.write("good.json", cluster.to_string());
    let files = lint(&["-f", "good.json"]);
    assert_eq!(files.code, 0, "{}", files.stdout);
    assert!(
        files
            .stdout
            .contains("info: ManifestWorkReplicaSet shop/odd cannot be read"),
        "{}",
        files.stdout
    );
    live.stop();
}
