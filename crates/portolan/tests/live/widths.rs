//! Every command that prints a table, on terminals of 80 and 140 columns: no line is wider.

use super::hub::Live;
use super::pty::shown;
use super::support::{Scratch, portolan};
use super::{reading, rollout};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

/// A fleet whose names, taints, groups and expressions are long.
fn fleet() -> Vec<Value> {
    let mut objects = vec![
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
            "metadata": { "name": "production-fleet-of-the-northern-region" },
            "spec": { "clusterSelector": { "selectorType": "ExclusiveClusterSetLabel" } } }),
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
            "metadata": { "name": "production-fleet-of-the-northern-region", "namespace": "payments-and-settlement" },
            "spec": { "clusterSet": "production-fleet-of-the-northern-region" } }),
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": { "name": "ledger-of-the-northern-region", "namespace": "payments-and-settlement" },
            "spec": { "numberOfClusters": 3,
                "decisionStrategy": { "groupStrategy": { "clustersPerDecisionGroup": 2 } },
                "predicates": [{ "requiredClusterSelector": {
                    "labelSelector": { "matchLabels": { "topology.example.com/availability-zone": "europe-north-1a" } } } }] } }),
    ];
    objects.extend((0..30).map(|number| {
        let zone = if number % 3 == 0 { "europe-north-1b" } else { "europe-north-1a" };
        let taints = match number % 5 {
            0 => json!([{ "key": "maintenance.example.com/window-of-the-first-quarter", "value": "january", "effect": "NoSelect" }]),
            _ => json!([]),
        };
        let mut labels = json!({ "topology.example.com/availability-zone": zone });
        if number % 7 > 0 {
            labels["cluster.open-cluster-management.io/clusterset"] = "production-fleet-of-the-northern-region".into();
        }
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": { "name": format!("production-europe-north-availability-zone-1a-{number:03}"), "labels": labels },
            "spec": { "hubAcceptsClient": true, "taints": taints } })
    }));
    objects
}

/// Runs a command on both terminals; it has to print a table, and no line may be wider than the terminal.
fn fits(scratch: &Scratch, args: &[&str]) {
    for columns in [80, 140] {
        let (code, text) = shown(scratch.path(), columns, args);
        // A check that finds a problem is an answer, too.
        assert!(code.is_some_and(|code| code < 2), "{args:?}: {text}");
        assert!(text.lines().count() > 1, "{args:?} prints no table: {text}");
        let wide: Vec<&str> = text
            .lines()
            .filter(|line| line.width() > usize::from(columns))
            .collect();
        assert!(wide.is_empty(), "{args:?} at {columns} columns: {wide:#?}");
    }
}

fn manifests(scratch: &Scratch) {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": fleet() });
    scratch.write("fleet.json", list.to_string());
    scratch.write(
        "change.json",
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": { "name": "ledger-of-the-northern-region", "namespace": "payments-and-settlement" },
            "spec": { "numberOfClusters": 5 } })
        .to_string(),
    );
}

const PLACEMENT: &str = "payments-and-settlement/ledger-of-the-northern-region";
const CLUSTER: &str = "production-europe-north-availability-zone-1a-003";

#[test]
fn every_table_about_manifests_fits_the_terminal() {
    let scratch = Scratch::new();
    manifests(&scratch);
    let plan = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rollout-plan.yaml");
    let plan = plan.to_str().unwrap();
    let files = ["-f", "fleet.json"];
    for words in [
        &["get", "clusters"][..],
        &["get", "placements"],
        &["simulate"],
        &["simulate", "--what-if", "change.json"],
        &[
            "simulate",
            "--remove",
            &format!("managedcluster/{CLUSTER}"),
            "--what-if",
            "change.json",
        ],
        &["explain", PLACEMENT],
        &["explain", PLACEMENT, "--cluster", CLUSTER],
    ] {
        fits(&scratch, &[words, &files].concat());
    }
    fits(&scratch, &["rollout", "plan", "-f", plan]);
}

#[test]
fn the_clusters_of_a_placement_with_a_name_of_100_characters_fit_the_terminal() {
    let scratch = Scratch::new();
    let mut objects = fleet();
    objects[2]["metadata"]["name"] = format!("ledger-{}", "north-".repeat(16))
        .trim_end_matches('-')
        .into();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    scratch.write("fleet.json", list.to_string());
    fits(&scratch, &["simulate", "-f", "fleet.json"]);
}

#[test]
fn every_table_about_a_hub_fits_the_terminal() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    fleet().into_iter().for_each(|object| live.apply(object));
    rollout::scene(&live);
    live.apply(reading::decision(&[(CLUSTER, 180), ("gpu-cluster-east", 49)]));
    live.apply(reading::slice(&[CLUSTER, "gpu-cluster-east"]));
    live.apply(json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": { "name": "a", "namespace": "payments-and-settlement" },
        "involvedObject": { "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
                            "name": "ledger-of-the-northern-region", "namespace": "payments-and-settlement" },
        "type": "Warning", "reason": "DecisionCouldNotBeWrittenInFull", "lastTimestamp": "2026-01-01T12:00:00Z",
        "message": "the decision has three clusters in two groups, and one of its objects was changed by another writer",
        "source": { "component": "portolan-placement-controller" },
    }));
    let hub = ["--kubeconfig", live.argument()];
    for words in [
        &["get", "placements"][..],
        &["get", "decisions"],
        &["get", "clusters"],
        &["simulate"],
        &["explain", PLACEMENT],
        &["rollout", "status", "shop/web"],
        &["rollout", "list"],
        &["doctor"],
    ] {
        fits(&scratch, &[words, &hub].concat());
    }
    live.stop();
}

#[test]
fn wide_output_and_output_into_a_pipe_show_every_column_in_full() {
    let scratch = Scratch::new();
    manifests(&scratch);
    for words in [&["get", "clusters"][..], &["simulate"], &["explain", PLACEMENT]] {
        let args = [words, &["-f", "fleet.json", "--now", "2026-01-01T12:00:00Z"]].concat();
        let piped = portolan(scratch.path(), &args, "").stdout;
        let wide = [&args[..], &["-o", "wide"]].concat();
        let (_, on_terminal) = shown(scratch.path(), 80, &wide);
        assert_eq!(on_terminal, piped, "{args:?}");
        let (_, fitted) = shown(scratch.path(), 80, &args);
        assert_ne!(fitted, piped, "{args:?}");
        assert!(
            piped.contains("production-europe-north-availability-zone-1a-001"),
            "{args:?}: {piped}"
        );
    }
}

#[test]
fn a_table_that_is_cut_says_how_to_see_all_of_it_and_no_other_does() {
    const HINT: &str = "to see what is cut (…), add -o wide";
    let scratch = Scratch::new();
    manifests(&scratch);
    let args = ["get", "clusters", "-f", "fleet.json"];
    let (_, cut) = shown(scratch.path(), 80, &args);
    assert_eq!(cut.lines().last(), Some(HINT), "{cut}");
    let (_, whole) = shown(scratch.path(), 300, &args);
    assert!(!whole.contains(HINT), "{whole}");
    assert!(!portolan(scratch.path(), &args, "").stdout.contains(HINT));
}
