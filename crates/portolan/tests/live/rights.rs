//! The rights that docs/live.md lists for `portolan controller` are enough.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::hub::Live;
use super::process::{Process, get, wait_until_ready};
use super::support::{Scratch, portolan};
use serde_json::{Value, json};

/// The rules of the table under "Rights".
fn documented() -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/live.md")).expect("the page can be read");
    let table = page
        .split("**Rights.**")
        .nth(1)
        .expect("the page has a table of rights");
    let rows = table.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let rules: Vec<Value> = rows
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let words = |cell: &str| -> Vec<String> {
                cell.split(',')
                    .map(|word| word.trim().trim_matches('`'))
                    .map(|word| if word == "core" { "" } else { word }.to_owned())
                    .collect()
            };
            json!({ "apiGroups": words(cells[0]), "resources": words(cells[1]), "verbs": words(cells[2]) })
        })
        .collect();
    assert!(rules.len() > 15, "{rules:?}");
    rules
}

#[test]
fn a_user_with_rights_in_one_namespace_lists_what_is_there() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let ocm = "cluster.open-cluster-management.io";
    for namespace in ["shop", "other"] {
        live.apply(json!({
            "apiVersion": format!("{ocm}/v1beta1"), "kind": "Placement",
            "metadata": {"name": "web", "namespace": namespace}, "spec": {},
        }));
    }
    let rbac = "rbac.authorization.k8s.io";
    live.apply(json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": {"name": "reader", "namespace": "shop"},
        "rules": [{"apiGroups": [ocm, "multicluster.x-k8s.io"], "resources": ["placements", "placementdecisions"],
            "verbs": ["get", "list", "watch"]}],
    }));
    live.apply(json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": {"name": "reader", "namespace": "shop"},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "tenant"}],
    }));
    let kubeconfig = live.kubeconfig_of(scratch.path(), "tenant");
    let kubeconfig = kubeconfig.to_str().expect("a path in UTF-8");
    let get = |args: &[&str]| {
        let args = [&["get"], args, &["--kubeconfig", kubeconfig]].concat();
        portolan(scratch.path(), &args, "")
    };
    for args in [
        &["placements", "-n", "shop"][..],
        &["placements", "shop/web"],
        &["decisions", "-n", "shop"],
    ] {
        let run = get(args);
        assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
        assert!(!run.stdout.contains("other"), "{}", run.stdout);
    }
    assert!(get(&["placements", "-n", "shop"]).stdout.contains("web"));
    for args in [&["placements"][..], &["placements", "-n", "other"]] {
        let run = get(args);
        assert_eq!(run.code, 3, "{args:?}: {}", run.stdout);
        assert!(run.stderr.contains("403"), "{}", run.stderr);
    }
}

#[test]
fn a_controller_and_an_agent_without_credentials_end_and_say_so() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let text = std::fs::read_to_string(live.argument()).unwrap();
    let mut kubeconfig: Value = serde_saphyr::from_str(&text).unwrap();
    kubeconfig["users"][0]["user"] = json!({});
    let path = scratch.path().join("anonymous.kubeconfig");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    let anonymous = path.to_str().expect("a path in UTF-8");
    for args in [
        &[
            "controller",
            "--kubeconfig",
            anonymous,
            "--metrics-listen",
            "127.0.0.1:0",
        ][..],
        &[
            "agent",
            "--hub",
            anonymous,
            "--spoke",
            live.argument(),
            "--cluster",
            "east",
        ],
    ] {
        let run = portolan(scratch.path(), args, "");
        assert_eq!(run.code, 3, "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("the request had no credentials"),
            "{}",
            run.stderr
        );
    }
    live.stop();
}

#[test]
fn a_controller_with_the_documented_rights_is_never_refused() {
    let scratch = Scratch::new();
    let live = Live::bare(scratch.path());
    let rbac = "rbac.authorization.k8s.io";
    live.apply(json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": "documented"},
        "rules": documented(),
    }));
    live.apply(json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "documented"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "documented"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "documented"}],
    }));
    let kubeconfig = live.kubeconfig_of(scratch.path(), "documented");
    let args = [
        "controller",
        "--install-crds",
        "--registration",
        "--metrics-listen",
        "127.0.0.1:0",
        "--log-level",
        "debug",
        "--kubeconfig",
        kubeconfig.to_str().expect("a path in UTF-8"),
    ];
    let mut process = Process::start(scratch.path(), &args, &BTreeMap::new());
    let line = process.log_with(&["metrics are served"]);
    let address = line
        .split("address=")
        .nth(1)
        .expect("an address")
        .trim()
        .to_owned();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gpu-training");
    live.apply_files(&example);
    wait_until_ready(&address);
    let metrics = || get(&address, "/metrics").1;
    // Each output was written, and what registration does.
    for resource in [
        "placementdecisions.cluster.open-cluster-management.io",
        "placementdecisions.multicluster.x-k8s.io",
        "clusterprofiles",
        "placements/status",
        "managedclustersets",
    ] {
        let wrote = |metrics: &str| {
            let mut lines = metrics.lines();
            let resource = format!("resource=\"{resource}\"");
            lines.any(|line| line.starts_with("portolan_writes_total") && line.contains(&resource))
        };
        while !wrote(&metrics()) {
            thread::sleep(Duration::from_millis(100));
        }
    }
    let metrics = metrics();
    let refused: Vec<&str> = metrics
        .lines()
        .filter(|line| line.contains("result=\"refused\""))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(!get(&address, "/readyz?verbose").1.contains("forbidden"));
    let (code, log) = process.stop();
    let forbidden: Vec<&str> = log.lines().filter(|line| line.contains("403")).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    assert_eq!(code, Some(0));
    live.stop();
}
