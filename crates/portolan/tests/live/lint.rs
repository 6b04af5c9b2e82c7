//! `portolan lint` with a hub: what is asked about are the files.

use super::hub::Live;
use super::support::{Scratch, portolan};
use serde_json::{Value, json};

fn placement(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "name": name, "namespace": "shop" }, "spec": spec })
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
    let cluster = json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": "east" } });
    scratch.write("good.json", cluster.to_string());
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
