//! The commands that read a hub, on an embedded one: the same answers as from files, and errors that help.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::hub::Live;
use super::support::{Run, Scratch, portolan};
use serde_json::{Value, json};

const NOW: [&str; 2] = ["--now", "2026-01-01T12:00:00Z"];

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
}

fn run(scratch: &Scratch, args: &[&str]) -> Run {
    portolan(scratch.path(), args, "")
}

fn fine(scratch: &Scratch, args: &[&str]) -> String {
    let run = run(scratch, args);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{args:?}");
    run.stdout
}

/// A process that does not outlive its test.
struct Child(std::process::Child);

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

/// An OCM decision of `ml/training`.
pub(crate) fn decision(clusters: &[(&str, i64)]) -> Value {
    let listed: Vec<Value> = clusters
        .iter()
        .map(|(name, score)| json!({ "clusterName": name, "reason": "", "score": score }))
        .collect();
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": { "name": "training-decision-1", "namespace": "ml", "labels": {
            "cluster.open-cluster-management.io/placement": "training",
            "cluster.open-cluster-management.io/decision-group-index": "0",
            "cluster.open-cluster-management.io/decision-group-name": "" } },
        "status": { "decisions": listed },
    })
}

/// The same decision as a slice.
pub(crate) fn slice(clusters: &[&str]) -> Value {
    let listed: Vec<Value> = clusters
        .iter()
        .map(|name| json!({ "clusterProfileRef": { "name": name, "namespace": "ml" } }))
        .collect();
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
        "metadata": { "name": "training-decision-0", "namespace": "ml",
            "labels": { "multicluster.x-k8s.io/decision-key": "training" } },
        "schedulerName": "portolan",
        "decisions": listed,
    })
}

#[test]
fn a_hub_gives_the_answers_that_its_manifests_give() {
    // The clusters of the last one are ClusterProfiles, which a controller takes for clusters only if it is told to.
    let of_profiles = "note: the hub has no ManagedCluster, so ClusterProfiles are the clusters here; a controller decides so only \
                       if it was started with `--inventory=clusterprofiles`\n";
    for (story, placement, note) in [
        ("gpu-training", "ml/training", ""),
        ("score-visibility", "example/h100-exact", ""),
        ("disaster-recovery", "databases/db-primary", of_profiles),
    ] {
        let scratch = Scratch::new();
        let live = Live::new(scratch.path());
        let files = example(story);
        live.apply_files(&files);
        let from_files = ["-f", files.to_str().unwrap()];
        let from_hub = ["--kubeconfig", live.argument()];
        let ask = |source: [&str; 2], word: &str, note: &str| {
            let args = [&[word][..], &source, &NOW, &["--placement", placement]].concat();
            let run = run(&scratch, &args);
            assert_eq!((run.code, run.stderr.as_str()), (0, note), "{args:?}");
            run.stdout
        };
        assert_eq!(ask(from_hub, "simulate", note), ask(from_files, "simulate", ""));
        // No controller runs there.
        let undecided = format!(
            "{note}note: the hub has no decision yet: no controller has evaluated this Placement; `portolan doctor \
             {placement}` says why\n"
        );
        assert_eq!(
            ask(from_hub, "explain", &undecided),
            ask(from_files, "explain", "") + "\nno events\n"
        );
        live.stop();
    }
}

/// Nobody looks at a placement again because others have decided, so that a decision may be another than a fresh evaluation
/// would choose.
#[test]
fn a_change_on_a_hub_starts_from_the_decision_that_is_stored() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply_files(&example("gpu-training"));
    scratch.write(
        "unrelated.yaml",
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n\
         metadata: {name: edge-1, labels: {team: a}}\nspec: {hubAcceptsClient: true}\n",
    );
    scratch.write(
        "edited.yaml",
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: training, namespace: ml}\n\
         spec: {tolerations: [{key: example.com/any, operator: Exists}]}\n",
    );
    let ask = |file: &str| -> Value {
        let args = [
            "simulate",
            "--kubeconfig",
            live.argument(),
            "-f",
            file,
            "-o",
            "json",
        ];
        serde_json::from_str(&fine(&scratch, &[&args[..], &NOW].concat())).unwrap()
    };
    live.apply(decision(&[("edge-1", 0)]));
    assert_eq!(
        ask("unrelated.yaml")["placements"],
        json!([]),
        "no controller would look"
    );
    let edited = ask("edited.yaml");
    let placement = &edited["placements"][0];
    assert_eq!(placement["removed"], json!(["edge-1"]), "{edited:#}");
    assert_eq!(placement["before"]["clusters"], 1, "{edited:#}");
    let explained = run(
        &scratch,
        &[
            &["explain", "ml/training", "--kubeconfig", live.argument()][..],
            &NOW,
        ]
        .concat(),
    );
    let said = "the decision on the hub has edge-1 instead of gpu-cluster-";
    assert!(explained.stderr.contains(said), "{}", explained.stderr);
    live.stop();
}

#[test]
fn a_check_of_files_over_a_hub_is_about_what_the_files_change() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply_files(&example("gpu-training"));
    let placement = |name: &str, label: &str| {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {
                "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"none": label}}}}],
            },
        })
    };
    // The Placement of another team is unsatisfied.
    live.apply(placement("others", "such"));
    scratch.write(
        "fine.yaml",
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: mine, namespace: ml}\nspec: {}\n",
    );
    scratch.write("unsatisfied.yaml", placement("mine", "either").to_string());
    let check = |file: &str| {
        let args = ["simulate", "--check", "--kubeconfig", live.argument(), "-f", file];
        run(&scratch, &[&args[..], &NOW].concat())
    };
    let run = check("fine.yaml");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = check("unsatisfied.yaml");
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("check failed: ml/mine ("), "{}", run.stderr);
    live.stop();
}

#[test]
fn files_over_a_hub_show_what_applying_them_would_change() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply_files(&example("gpu-training"));
    // No status, no labels: whatever the manifest does not say stays.
    scratch.write(
        "taint.yaml",
        r#"
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: gpu-cluster-west}
spec: {hubAcceptsClient: true, taints: [{key: example.com/broken, effect: NoSelect}]}
"#,
    );
    let args = [
        "simulate",
        "--kubeconfig",
        live.argument(),
        "-f",
        "taint.yaml",
        "-o",
        "json",
    ];
    let answer = fine(&scratch, &[&args[..], &NOW].concat());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let placement = &answer["placements"][0];
    assert_eq!(placement["removed"][0], "gpu-cluster-west", "{answer:#}");
    assert_eq!(placement["added"][0], "gpu-cluster-north", "{answer:#}");
    let explained = [
        "explain",
        "--kubeconfig",
        live.argument(),
        "-f",
        "taint.yaml",
        "--placement",
        "ml/training",
    ];
    let explained = fine(
        &scratch,
        &[&explained[..], &NOW, &["--cluster", "gpu-cluster-west"]].concat(),
    );
    assert!(explained.contains("example.com/broken"), "{explained}");
    // Nothing was written.
    let clusters = fine(
        &scratch,
        &[
            "get",
            "clusters",
            "gpu-cluster-west",
            "--kubeconfig",
            live.argument(),
        ],
    );
    assert!(!clusters.contains("example.com/broken"), "{clusters}");
    live.stop();
}

#[test]
fn events_of_a_placement_are_shown_newest_last_whoever_they_are_from() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply_files(&example("gpu-training"));
    for (name, kind, time, message) in [
        ("b", "Placement", "2026-01-01T11:59:00Z", "second"),
        ("a", "Placement", "2026-01-01T11:00:00Z", "first"),
        ("c", "Pod", "2026-01-01T11:30:00Z", "of something else"),
    ] {
        live.apply(json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": name, "namespace": "ml" },
            "involvedObject": { "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": kind,
                                "name": "training", "namespace": "ml" },
            "type": "Normal", "reason": "DecisionUpdated", "message": message, "lastTimestamp": time,
            "source": { "component": "portolan" },
        }));
    }
    // A consumer answers the scheduler, in the way that the newer API writes events.
    live.apply(json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": "d", "namespace": "ml" },
        "regarding": { "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
                       "name": "training", "namespace": "ml" },
        "eventTime": "2026-01-01T11:59:30.000000Z", "type": "Warning", "reason": "SyncFailed", "action": "Sync",
        "note": "third", "reportingController": "argo-cd", "reportingInstance": "argo-cd-0",
    }));
    let args = [
        "explain",
        "--kubeconfig",
        live.argument(),
        "--placement",
        "ml/training",
    ];
    let explained = run(&scratch, &[&args[..], &NOW].concat());
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    let text = explained.stdout;
    let (_, events) = text.split_once("LAST SEEN").unwrap();
    let events: Vec<Vec<&str>> = events
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        events,
        [
            ["60m", "Normal", "DecisionUpdated", "portolan", "1", "first"],
            ["60s", "Normal", "DecisionUpdated", "portolan", "1", "second"],
            ["30s", "Warning", "SyncFailed", "argo-cd", "1", "third"],
        ]
    );
    live.stop();
}

#[test]
fn get_shows_placements_decisions_and_clusters_with_both_kinds_taken_together() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply_files(&example("gpu-training"));
    live.apply(decision(&[("gpu-cluster-west", 180), ("gpu-cluster-east", 49)]));
    live.apply(slice(&["gpu-cluster-west", "gpu-cluster-east"]));
    let get = |words: &[&str]| {
        let args = [&["get"], words, &["--kubeconfig", live.argument(), "-o", "json"]].concat();
        serde_json::from_str::<Value>(&fine(&scratch, &args)).unwrap()
    };
    let placements = get(&["placements"]);
    assert_eq!(placements[0]["name"], "training");
    assert_eq!(
        (&placements[0]["decisions"], &placements[0]["slices"]),
        (&json!(1), &json!(1))
    );
    let decisions = get(&["decisions", "ml/training"]);
    assert_eq!(decisions.as_array().unwrap().len(), 2, "{decisions:#}");
    // In the order of the decision.
    assert_eq!(decisions[0]["cluster"], "gpu-cluster-west");
    assert_eq!(decisions[0]["score"], 180);
    assert_eq!(
        decisions[0]["objects"],
        json!(["decision/training-decision-1", "slice/training-decision-0"])
    );
    assert_eq!(get(&["decisions", "-n", "elsewhere"]), json!([]));
    let clusters = get(&["clusters"]);
    let west = clusters
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == "gpu-cluster-west")
        .unwrap();
    assert_eq!((&west["sets"], &west["decisions"]), (&json!(["ml"]), &json!(1)));
    let table = fine(&scratch, &["get", "clusters", "--kubeconfig", live.argument()]);
    assert!(table.starts_with("CLUSTER "), "{table}");
    live.stop();
}

#[test]
fn watch_shows_what_is_there_and_then_what_changes() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply(decision(&[("a", 1), ("b", 2)]));
    let watch = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args([
            "watch",
            "ml/training",
            "-o",
            "json",
            "--kubeconfig",
            live.argument(),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut watch = Child(watch);
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    let mut next = || -> (String, String) {
        let record: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let text = |field: &str| record[field].as_str().unwrap().to_owned();
        assert_eq!(
            (text("namespace"), text("placement")),
            ("ml".to_owned(), "training".to_owned())
        );
        (text("change"), text("cluster"))
    };
    let mut expect =
        |change: &str, cluster: &str| assert_eq!(next(), (change.to_owned(), cluster.to_owned()));
    expect("present", "a");
    expect("present", "b");
    // The slice says the same a little later, and goes on saying it.
    live.apply(slice(&["a", "b"]));
    live.apply(decision(&[("b", 7), ("c", 1)]));
    expect("removed", "a");
    expect("scored", "b");
    expect("added", "c");
    live.apply(slice(&["b", "c"]));
    live.delete(&decision(&[]));
    live.delete(&slice(&[]));
    expect("removed", "b");
    expect("removed", "c");
    let stopped = Command::new("kill")
        .args(["-INT", &watch.0.id().to_string()])
        .status()
        .unwrap();
    assert!(stopped.success());
    assert_eq!(watch.0.wait().unwrap().code(), Some(0));
    live.stop();
}

/// The hub is quiet: nothing is left to write, and the end of the reader must be noticed all the same.
#[test]
fn watch_ends_when_its_reader_does_although_nothing_changes() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply(decision(&[("a", 1)]));
    let watch = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args(["watch", "--kubeconfig", live.argument()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut watch = Child(watch);
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("ml/training"));
    assert!(
        watch.0.try_wait().unwrap().is_none(),
        "it goes on while it is read"
    );
    drop(lines);
    assert_eq!(watch.0.wait().unwrap().code(), Some(0));
    live.stop();
}

#[test]
fn watch_fits_the_terminal_and_prints_everything_elsewhere() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let names: Vec<String> = (0..9).map(|n| format!("prod-eu-central-1-{n:04}")).collect();
    let clusters: Vec<(&str, i64)> = names.iter().map(|name| (name.as_str(), 100)).collect();
    live.apply(decision(&clusters));
    let args = ["watch", "--kubeconfig", live.argument(), "--until-quiet", "200ms"];
    for (columns, named) in [(80, 1), (140, 3)] {
        let lines = super::terminal::lines(scratch.path(), &args, columns);
        let [line] = lines.as_slice() else {
            panic!("one line was expected: {lines:?}");
        };
        assert!(line.chars().count() <= usize::from(columns), "{columns}: {line}");
        let whole = names
            .iter()
            .filter(|name| line.contains(&format!("{name} (100)")))
            .count();
        assert_eq!((whole, line.matches("prod-").count()), (named, named), "{line}");
        assert!(line.ends_with(&format!("and {} more", 9 - named)), "{line}");
    }
    let whole = fine(&scratch, &args);
    assert_eq!(whole.lines().count(), 1);
    assert!(
        whole.ends_with("prod-eu-central-1-0003 (100)  and 5 more\n"),
        "{whole}"
    );
    live.stop();
}

#[test]
fn watch_says_of_a_placement_that_it_is_not_there_and_waits_for_it() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let run = |placement: &str| {
        let args = [
            "watch",
            placement,
            "--kubeconfig",
            live.argument(),
            "--for",
            "200ms",
        ];
        portolan(scratch.path(), &args, "")
    };
    let missing = run("nosuch/x");
    assert_eq!((missing.code, missing.stdout.as_str()), (0, ""));
    assert!(
        missing
            .stderr
            .starts_with("there is no Placement nosuch/x on https://127.0.0.1:"),
        "{}",
        missing.stderr
    );
    live.apply(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "namespace": "ml", "name": "training" }, "spec": {},
    }));
    let said = run("ml/training").stderr;
    assert!(said.starts_with("the hub has no decision yet"), "{said}");
    live.stop();
}

#[test]
fn watch_ends_by_itself_when_it_is_told_to() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply(decision(&[("a", 1)]));
    for end in [["--until-quiet", "200ms"], ["--for", "1s"]] {
        let text = fine(
            &scratch,
            &["watch", "--kubeconfig", live.argument(), end[0], end[1]],
        );
        assert!(
            text.contains("ml/training") && text.contains("1 cluster "),
            "{text}"
        );
        let only = [
            "watch",
            "--changes-only",
            "--kubeconfig",
            live.argument(),
            end[0],
            end[1],
        ];
        assert_eq!(fine(&scratch, &only), "");
    }
    live.stop();
}

#[test]
fn a_name_that_the_hub_does_not_have_is_an_error_that_names_the_hub() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply_files(&example("gpu-training"));
    for (args, message) in [
        (
            &["get", "placements", "ml/nosuch"][..],
            "there is no Placement ml/nosuch on https://",
        ),
        (
            &["get", "decisions", "ml/nosuch"],
            "there is no Placement ml/nosuch on https://",
        ),
        (
            &["get", "clusters", "nosuch"],
            "there is no ManagedCluster nosuch on https://",
        ),
        (&["explain", "ml/nosuch"], "; the namespace ml has: ml/training"),
        (
            &["simulate", "ml/nosuch"],
            "there is no Placement ml/nosuch on https://",
        ),
        (
            &["explain", "ml/training", "--cluster", "nosuch"],
            "there is no cluster nosuch on https://",
        ),
    ] {
        let run = run(&scratch, &[args, &["--kubeconfig", live.argument()]].concat());
        assert_eq!(run.code, 2, "{args:?}");
        assert!(run.stderr.contains(message), "{args:?}: {}", run.stderr);
    }
    let quiet = [
        "watch",
        "ml/nosuch",
        "--for",
        "1s",
        "--kubeconfig",
        live.argument(),
    ];
    let run = run(&scratch, &quiet);
    assert_eq!(run.code, 0);
    assert!(
        run.stderr.contains("there is no Placement ml/nosuch on https://"),
        "{}",
        run.stderr
    );
    live.stop();
}

#[test]
fn a_hub_without_the_kinds_says_how_to_install_them() {
    let scratch = Scratch::new();
    let live = Live::bare(scratch.path());
    for args in [&["get", "placements"][..], &["simulate"], &["watch"]] {
        let run = run(&scratch, &[args, &["--kubeconfig", live.argument()]].concat());
        assert_eq!(run.code, 2);
        assert!(
            run.stderr.contains(&format!(
                "portolan crds | kubectl --kubeconfig {} apply -f -",
                live.argument()
            )),
            "{}",
            run.stderr
        );
    }
    live.stop();
}

#[test]
fn kinds_that_are_not_served_are_noted_and_the_rest_is_read() {
    let scratch = Scratch::new();
    let live = Live::bare(scratch.path());
    let ocm = |definition: &Value| definition["spec"]["group"] == "cluster.open-cluster-management.io";
    portolan_api::crd_values()
        .into_iter()
        .filter(ocm)
        .for_each(|definition| live.apply(definition));
    live.apply_files(&example("gpu-training"));
    let run = run(&scratch, &["get", "placements", "--kubeconfig", live.argument()]);
    assert!(run.stdout.contains("training"), "{}", run.stdout);
    assert!(
        run.stderr
            .contains("PlacementDecision.multicluster.x-k8s.io is not served"),
        "{}",
        run.stderr
    );
    live.stop();
}

#[test]
fn a_placement_that_no_controller_has_evaluated_is_said_to_have_no_decision() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    live.apply_files(&example("gpu-training"));
    for args in [
        &["get", "decisions", "ml/training"][..],
        &["explain", "ml/training"],
        &["watch", "ml/training", "--until-quiet", "1s"],
    ] {
        let run = run(&scratch, &[args, &["--kubeconfig", live.argument()]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let said = "the hub has no decision yet: no controller has evaluated this Placement; `portolan doctor ml/training`";
        assert_eq!(run.stderr.matches(said).count(), 1, "{args:?}: {}", run.stderr);
    }
    live.stop();
}

#[test]
fn whoever_may_not_look_is_told_what_is_missing() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let nobody = live.kubeconfig_of_nobody(scratch.path());
    for args in [&["get", "placements"][..], &["watch"]] {
        let run = run(
            &scratch,
            &[args, &["--kubeconfig", nobody.to_str().unwrap()]].concat(),
        );
        assert_eq!(run.code, 3);
        assert!(run.stderr.contains("\"nobody\" cannot list"), "{}", run.stderr);
        let advice = format!("kubectl --kubeconfig {} auth can-i --list", nobody.display());
        assert!(run.stderr.contains(&advice), "{}", run.stderr);
    }
    live.stop();
}

#[test]
fn a_hub_that_has_gone_is_named_with_what_to_do() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let kubeconfig = live.argument().to_owned();
    live.stop();
    for args in [
        &["get", "placements"][..],
        &["watch"],
        &["explain", "--placement", "a/b"],
        &["controller"],
    ] {
        let run = run(&scratch, &[args, &["--kubeconfig", &kubeconfig]].concat());
        assert_eq!(run.code, 3);
        assert!(
            run.stderr
                .contains("refuses connections; does a server run there"),
            "{}",
            run.stderr
        );
    }
}
