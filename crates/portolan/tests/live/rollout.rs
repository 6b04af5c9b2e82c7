//! `portolan rollout` on a hub where nothing moves: what is shown is what is there.

use super::hub::Live;
use super::support::{Scratch, portolan};
use super::up::Up;
use serde_json::{Value, json};

fn decision(index: i32, group: &str, clusters: &[&str]) -> Value {
    let listed: Vec<Value> = clusters
        .iter()
        .map(|name| json!({ "clusterName": name, "reason": "" }))
        .collect();
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": { "name": format!("all-decision-{}", index + 1), "namespace": "shop", "labels": {
            "cluster.open-cluster-management.io/placement": "all",
            "cluster.open-cluster-management.io/decision-group-index": index.to_string(),
            "cluster.open-cluster-management.io/decision-group-name": group } },
        "status": { "decisions": listed },
    })
}

pub(crate) fn template() -> Value {
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "app", "namespace": "default" } });
    json!({ "workload": { "manifests": [map] } })
}

pub(crate) fn work(cluster: &str, conditions: &[(&str, &str, &str)]) -> Value {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(kind, status, minute)| {
            json!({
                "type": kind, "status": status, "reason": "Reported", "message": "", "observedGeneration": 1,
                "lastTransitionTime": format!("2026-01-01T12:{minute}:00Z"),
            })
        })
        .collect();
    json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {
            "name": "shop.web", "namespace": cluster,
            "labels": {
                "work.open-cluster-management.io/manifestworkreplicaset": "shop.web",
                "work.open-cluster-management.io/placementname": "all",
            },
            "annotations": {
                "portolan.dev/rollout-since": "2026-01-01T12:00:00Z", "portolan.dev/rollout-group": "0/canary",
            },
        },
        "spec": template(), "status": { "conditions": conditions },
    })
}

/// Two canaries done, one of the rest done, one failed, one offline, one not begun.
pub(crate) fn scene(live: &Live) {
    live.apply(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "name": "all", "namespace": "shop", "annotations": {
            "cluster.open-cluster-management.io/experimental-scheduling-disable": "true" } },
        "spec": {},
    }));
    live.apply(decision(0, "canary", &["c1", "c2"]));
    live.apply(decision(1, "", &["c3", "c4", "c5", "c6"]));
    live.apply(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": { "name": "c5" },
        "spec": { "hubAcceptsClient": true },
        "status": { "conditions": [{
            "type": "ManagedClusterConditionAvailable", "status": "Unknown", "reason": "Lease", "message": "",
            "lastTransitionTime": "2026-01-01T12:00:00Z",
        }] },
    }));
    let strategy = json!({ "type": "Progressive", "progressive": {
        "maxConcurrency": 2, "maxFailures": 1, "mandatoryDecisionGroups": [{ "groupName": "canary" }] } });
    live.apply(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": {
            "manifestWorkTemplate": template(),
            "placementRefs": [{ "name": "all", "rolloutStrategy": strategy }],
        },
    }));
    for (cluster, minute) in [("c1", "02"), ("c2", "04"), ("c3", "06")] {
        live.apply(work(
            cluster,
            &[("Applied", "True", "01"), ("Available", "True", minute)],
        ));
    }
    live.apply(work(
        "c4",
        &[("Applied", "True", "01"), ("Degraded", "True", "03")],
    ));
}

#[test]
fn status_shows_groups_failures_offline_clusters_and_an_estimate() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    scene(&live);
    let run = portolan(
        scratch.path(),
        &["rollout", "status", "shop/web", "--kubeconfig", live.argument()],
        "",
    );
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    let (troubles, lines) = lines.split_last().unwrap();
    assert_eq!(
        lines,
        [
            "shop/web: 3 of 6 clusters done, about 4m left",
            "",
            "all (Progressive)",
            "  GROUP                  CLUSTERS   DONE   SOAKING   IN PROGRESS   FAILED   OFFLINE   WAITING",
            "  0 canary (mandatory)   2          2      -         -             -        -         -",
            "  1                      4          1      -         -             1        1         1",
            "  next: c6",
            "  offline: c5",
            "",
            lines.last().unwrap(),
        ]
    );
    assert!(
        lines.last().unwrap().starts_with("  CLUSTER   STATE    SINCE"),
        "{lines:?}"
    );
    // How long ago something failed moves on.
    let words: Vec<&str> = troubles.split_whitespace().collect();
    assert_eq!((words[0], words[1], words[3]), ("c4", "failed", "Reported"));
    let json = [
        "rollout",
        "status",
        "web",
        "-n",
        "shop",
        "--kubeconfig",
        live.argument(),
        "-o",
        "json",
        "--check",
    ];
    let run = portolan(scratch.path(), &json, "");
    assert_eq!(run.code, 1, "not complete: {}", run.stderr);
    let overview: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&overview["done"], &overview["clusters"]), (&json!(3), &json!(6)));
    assert_eq!(overview["placements"][0]["starting"], json!(["c6"]));
    assert_eq!(overview["placements"][0]["estimate"], json!(240));
    live.stop();
}

#[test]
fn a_rollout_is_paused_aborted_and_resumed_by_name() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    scene(&live);
    let ask = |command: &str| {
        let run = portolan(
            scratch.path(),
            &["rollout", command, "shop/web", "--kubeconfig", live.argument()],
            "",
        );
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{command}");
        run.stdout.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(ask("pause"), "shop/web paused");
    assert_eq!(ask("status"), "shop/web: 3 of 6 clusters done, paused");
    assert_eq!(
        ask("abort"),
        "shop/web aborted; it stays paused as well, so that the next change of the template waits until it is resumed"
    );
    assert_eq!(ask("status"), "shop/web: 3 of 6 clusters done, aborted");
    assert_eq!(
        ask("resume"),
        "shop/web resumed; the rollout was aborted, and goes on"
    );
    assert_eq!(ask("status"), "shop/web: 3 of 6 clusters done, about 4m left");
    assert_eq!(
        ask("resume"),
        "shop/web was neither paused nor aborted; nothing is changed"
    );
    live.stop();
}

#[test]
fn a_complete_rollout_says_what_a_pause_means_and_is_not_aborted() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    scene(&live);
    live.apply(decision(1, "", &["c3"]));
    let ask = |command: &str| {
        let args = ["rollout", command, "shop/web", "--kubeconfig", live.argument()];
        let run = portolan(scratch.path(), &args, "");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{command}");
        run.stdout.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        ask("abort"),
        "shop/web is complete: every cluster is done, and there is nothing to abort"
    );
    assert_eq!(ask("status"), "shop/web: 3 of 3 clusters done, complete");
    assert_eq!(
        ask("pause"),
        "shop/web paused; every cluster is done, and the next change of the template waits until it is resumed"
    );
    assert_eq!(
        ask("status"),
        "shop/web: 3 of 3 clusters done, complete; paused, so the next change of the template waits"
    );
    let args = ["rollout", "list", "--kubeconfig", live.argument()];
    let list = portolan(scratch.path(), &args, "").stdout;
    assert!(list.contains("Complete, paused"), "{list}");
    live.stop();
}

#[test]
fn a_name_without_its_namespace_is_told_where_it_is() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    scene(&live);
    for (asked, meant) in [
        ("web", "did you mean shop/web?"),
        ("shop/wbe", "did you mean shop/web?"),
    ] {
        let args = ["rollout", "status", asked, "--kubeconfig", live.argument()];
        let run = portolan(scratch.path(), &args, "");
        assert_eq!(run.code, 2, "{asked}");
        assert!(run.stderr.trim_end().ends_with(meant), "{}", run.stderr);
    }
    live.stop();
}

#[test]
fn watch_ends_when_every_cluster_is_done_and_says_when_it_ended_before() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    scene(&live);
    let watch = [
        "rollout",
        "watch",
        "shop/web",
        "--for",
        "1s",
        "--kubeconfig",
        live.argument(),
    ];
    let run = portolan(scratch.path(), &watch, "");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert!(
        run.stdout
            .contains("3 of 6 clusters done, about 4m left; all group 1: 1 done, 1 failed"),
        "{}",
        run.stdout
    );
    live.apply(decision(1, "", &["c3"]));
    let run = portolan(scratch.path(), &watch, "");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(
        run.stdout.contains("3 of 3 clusters done, complete"),
        "{}",
        run.stdout
    );
    live.stop();
}

#[test]
fn watch_ends_when_more_clusters_failed_than_may() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    scene(&live);
    let strategy = json!({ "type": "Progressive", "progressive": {
        "maxConcurrency": 2, "maxFailures": 0, "mandatoryDecisionGroups": [{ "groupName": "canary" }] } });
    live.apply(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": {
            "manifestWorkTemplate": template(),
            "placementRefs": [{ "name": "all", "rolloutStrategy": strategy }],
        },
    }));
    let watch = ["rollout", "watch", "shop/web", "--kubeconfig", live.argument()];
    let run = portolan(scratch.path(), &watch, "");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert!(
        run.stdout
            .contains("stopped: more failed than maxFailures allows"),
        "{}",
        run.stdout
    );
    live.stop();
}

#[test]
fn watch_ends_when_nothing_can_go_on_before_the_replica_set_is_changed() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    scene(&live);
    // Works could not be labelled with a name that long.
    let name = "w".repeat(62);
    live.apply(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": name, "namespace": "shop" },
        "spec": { "manifestWorkTemplate": template(), "placementRefs": [{ "name": "all" }] },
    }));
    let watch = [
        "rollout",
        "watch",
        &format!("shop/{name}"),
        "--kubeconfig",
        live.argument(),
    ];
    let run = portolan(scratch.path(), &watch, "");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert!(
        run.stdout.contains("invalid, so that its works stay as they are"),
        "{}",
        run.stdout
    );
    live.stop();
}

#[test]
fn a_rollout_without_clusters_is_not_complete_unless_that_is_meant() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    scene(&live);
    live.apply(decision(0, "canary", &[]));
    live.apply(decision(1, "", &[]));
    let status = [
        "rollout",
        "status",
        "shop/web",
        "--kubeconfig",
        live.argument(),
        "--check",
    ];
    let run = portolan(scratch.path(), &status, "");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert!(run.stdout.starts_with("shop/web: no clusters"), "{}", run.stdout);
    let meant = [&status[..], &["--allow-no-clusters"]].concat();
    assert_eq!(portolan(scratch.path(), &meant, "").code, 0);
    live.stop();
}

#[test]
fn every_rollout_is_listed_with_its_state() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let list = |more: &[&str]| {
        let args = [&["rollout", "list", "--kubeconfig", live.argument()], more].concat();
        let run = portolan(scratch.path(), &args, "");
        assert_eq!(run.code, 0, "{}", run.stderr);
        (run.stdout, run.stderr)
    };
    assert_eq!(list(&[]).1, "there is no ManifestWorkReplicaSet\n");
    scene(&live);
    let rows: Value = serde_json::from_str(&list(&["-o", "json"]).0).unwrap();
    let row = &rows[0];
    assert_eq!((&row["namespace"], &row["name"]), (&json!("shop"), &json!("web")));
    assert_eq!((&row["done"], &row["clusters"]), (&json!(3), &json!(6)));
    assert_eq!((&row["failed"], &row["offline"]), (&json!(1), &json!(1)));
    assert_eq!(row["state"], "Progressing");
    assert!(list(&["-n", "shop"]).0.starts_with("NAMESPACE   NAME   STATE "));
    assert_eq!(list(&["-n", "elsewhere", "-o", "json"]).0, "[]\n");
    live.stop();
}

#[test]
fn what_is_not_there_is_said() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    for (args, expected) in [
        (
            &["status", "shop/web"][..],
            "there is no ManifestWorkReplicaSet shop/web",
        ),
        (
            &["pause", "web"],
            "there is no ManifestWorkReplicaSet default/web",
        ),
        (&["abort", "a/b/c"], "accepted: NAMESPACE/NAME"),
        (&["resume", "a/b", "-n", "c"], "name two namespaces"),
    ] {
        let run = portolan(
            scratch.path(),
            &[&["rollout"], args, &["--kubeconfig", live.argument()]].concat(),
            "",
        );
        assert_eq!(run.code, 2, "{args:?}");
        assert!(run.stderr.contains(expected), "{args:?}: {}", run.stderr);
    }
    live.stop();
}

/// kubectl against a hub. What it prints, or nothing where it is refused.
fn kubectl(kubeconfig: &str, args: &[&str]) -> Option<String> {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let output = std::process::Command::new("kubectl")
        .args(["--kubeconfig", kubeconfig])
        .args(args)
        .current_dir(examples)
        .output()
        .expect("kubectl runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(said)
}

/// What kubectl prints once it is not refused any more.
fn eventually(kubeconfig: &str, args: &[&str]) -> String {
    let mut answers = (0..600).map(|_| {
        let answer = kubectl(kubeconfig, args);
        if answer.is_none() {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        answer
    });
    let answer = answers.find_map(|answer| answer);
    answer.unwrap_or_else(|| panic!("kubectl {args:?} was refused for a minute"))
}

#[test]
fn a_hub_that_is_killed_between_two_groups_goes_on_where_it_was() {
    if std::process::Command::new("kubectl")
        .arg("version")
        .arg("--client")
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no kubectl");
        return;
    }
    let scratch = Scratch::new();
    let uid = |cluster| {
        [
            "get",
            "manifestwork",
            "shop.web",
            "-o",
            "jsonpath={.metadata.uid}",
            "-n",
            cluster,
        ]
    };
    let succeed = |cluster| {
        let how = [
            "--subresource=status",
            "--type=merge",
            "--patch-file",
            "rollout-report.json",
            "-n",
            cluster,
        ];
        [&["patch", "manifestwork", "shop.web"], &how[..]].concat()
    };
    let first = Up::start(&scratch, &["--data", "data"]);
    let kubeconfig = first.kubeconfig.clone();
    eventually(&kubeconfig, &["apply", "-f", "rollout.yaml"]);
    let canary = eventually(&kubeconfig, &uid("canary"));
    eventually(&kubeconfig, &succeed("canary"));
    let berlin = eventually(&kubeconfig, &uid("berlin"));
    // Killed, hub and controllers at once: the canaries are done, and of the next group one has its work.
    drop(first);
    let second = Up::start(&scratch, &["--data", "data"]);
    let kubeconfig = second.kubeconfig.clone();
    second.wait_until_ready();
    assert_eq!(
        eventually(&kubeconfig, &uid("canary")),
        canary,
        "it is not begun again"
    );
    assert_eq!(eventually(&kubeconfig, &uid("berlin")), berlin);
    assert_eq!(
        kubectl(&kubeconfig, &uid("oslo")),
        None,
        "one at a time, as before"
    );
    eventually(&kubeconfig, &succeed("berlin"));
    eventually(&kubeconfig, &uid("oslo"));
    eventually(&kubeconfig, &succeed("oslo"));
    let watched = second.ask(&scratch, &["rollout", "watch", "shop/web"]);
    assert!(watched.contains("3 of 3 clusters done, complete"), "{watched}");
    second.stop();
}

#[test]
fn a_step_that_was_taken_already_is_said_and_is_no_error() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    scene(&live);
    let ask = |command: &str| {
        let args = ["rollout", command, "shop/web", "--kubeconfig", live.argument()];
        let run = portolan(scratch.path(), &args, "");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{command}");
        run.stdout
    };
    for (command, said) in [
        (
            "resume",
            "shop/web was neither paused nor aborted; nothing is changed\n",
        ),
        ("pause", "shop/web paused\n"),
        ("pause", "shop/web is paused already; nothing is changed\n"),
        ("resume", "shop/web resumed\n"),
        ("abort", "shop/web aborted\n"),
        ("abort", "shop/web is aborted already; nothing is changed\n"),
    ] {
        assert_eq!(ask(command), said);
    }
    live.stop();
}

#[test]
fn a_name_alone_is_looked_for_in_the_namespace_of_the_context() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    scene(&live);
    let config = std::fs::read_to_string(&live.kubeconfig).unwrap();
    let mut config: Value = serde_saphyr::from_str(&config).unwrap();
    config["contexts"][0]["context"]["namespace"] = "shop".into();
    scratch.write("shop.kubeconfig", config.to_string());
    for (args, said) in [
        (
            &["rollout", "status", "web"][..],
            "shop/web: 3 of 6 clusters done",
        ),
        (
            &["get", "placements", "all", "-o", "json"],
            "\"namespace\": \"shop\"",
        ),
        (&["watch", "all", "--until-quiet", "1s"], "shop/all"),
    ] {
        let args = [args, &["--kubeconfig", "shop.kubeconfig"]].concat();
        let run = portolan(scratch.path(), &args, "");
        assert!(run.code == 0 && run.stdout.contains(said), "{args:?}: {run:?}");
    }
    // The hub schedules nothing for it, and says so of the placement that is meant.
    for (command, said) in [
        ("explain", "the Placement shop/all on https://"),
        ("doctor", "shop/all"),
    ] {
        let args = [command, "all", "--kubeconfig", "shop.kubeconfig"];
        let run = portolan(scratch.path(), &args, "");
        assert!(
            format!("{}{}", run.stdout, run.stderr).contains(said),
            "{args:?}: {run:?}"
        );
    }
    live.stop();
}
