//! The JSON fields of every command are those of docs/json.md: none is missing there, and none is only there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::hub::Live;
use super::support::{Scratch, portolan};
use super::{reading, rollout};
use serde_json::{Value, json};

/// Command to the fields that its answers had.
type Seen = BTreeMap<&'static str, BTreeSet<String>>;

/// Every key of an answer with the keys on its way, `[]` for the elements of a list.
fn collect(value: &Value, path: &str, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                collect(value, &path, fields);
                fields.insert(path);
            }
        }
        Value::Array(list) => list
            .iter()
            .for_each(|value| collect(value, &format!("{path}[]"), fields)),
        _ => {}
    }
}

/// Command to the fields that the page names.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(page).expect("the page can be read");
    let mut sections = BTreeMap::new();
    for section in page.split("\n## ").skip(1) {
        let (command, text) = section.split_once('\n').expect("a section has text");
        let fields = text
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .map(|(field, _)| field.to_owned());
        sections.insert(command.to_owned(), fields.collect());
    }
    sections
}

/// Whether a field is meant by a field of the page, in which `*` is any key and `**` is everything below.
fn is_meant(field: &str, pattern: &str) -> bool {
    match (pattern.strip_suffix(".**"), pattern.strip_suffix(".*")) {
        (Some(above), _) => field.starts_with(&format!("{above}.")),
        // Names of clusters may have dots.
        (None, Some(above)) => field.starts_with(&format!("{above}.")),
        (None, None) => field == pattern,
    }
}

struct Scene {
    scratch: Scratch,
    seen: Seen,
}

impl Scene {
    /// Runs a command and adds the fields of its answer, one object a line or one in all.
    fn ask(&mut self, section: &'static str, args: &[&str]) {
        let args = [args, &["-o", "json"]].concat();
        let run = portolan(self.scratch.path(), &args, "");
        let values = serde_json::Deserializer::from_str(&run.stdout).into_iter::<Value>();
        let values: Vec<Value> = values
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {} {}", run.stdout, run.stderr));
        assert!(!values.is_empty(), "{args:?} has no answer: {}", run.stderr);
        let fields = self.seen.entry(section).or_default();
        values.iter().for_each(|value| collect(value, "", fields));
    }
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    path.join(name).display().to_string()
}

fn cluster(name: &str, labels: &Value, taints: &Value) -> Value {
    json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": name, "labels": labels },
        "spec": { "hubAcceptsClient": true, "taints": taints } })
}

fn from_files(scene: &mut Scene) {
    let set = json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
        "metadata": { "name": "global" },
        "spec": { "clusterSelector": { "selectorType": "LabelSelector", "labelSelector": {} } } });
    let binding = json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
        "metadata": { "name": "global", "namespace": "ns" }, "spec": { "clusterSet": "global" } });
    let placement = |number: i32, size: i32| {
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": { "name": "p", "namespace": "ns" },
            "spec": { "numberOfClusters": number,
                "decisionStrategy": { "groupStrategy": { "clustersPerDecisionGroup": size } },
                "predicates": [{ "requiredClusterSelector": { "labelSelector": { "matchLabels": { "env": "prod" } } } }] } })
    };
    let taint =
        json!([{ "key": "k", "value": "v", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z" }]);
    let prod = json!({ "env": "prod" });
    let items = [
        set,
        binding,
        placement(3, 2),
        cluster("a", &prod, &json!([])),
        cluster("b", &prod, &json!([])),
        cluster("c", &prod, &json!([])),
        cluster("d", &prod, &json!([])),
        cluster("e", &json!({ "env": "test" }), &json!([])),
        cluster("f", &prod, &taint),
    ];
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    scene.scratch.write("fleet.json", list.to_string());
    scene.scratch.write("change.json", placement(2, 1).to_string());
    scene.scratch.write(
        "profile.json",
        json!({ "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": { "name": "a", "namespace": "ns" },
            "spec": { "clusterManager": { "name": "m" } } })
        .to_string(),
    );
    let mut bad = placement(1, 1);
    bad["spec"]["numberOfClusters"] = "many".into();
    scene.scratch.write("bad.json", bad.to_string());
    scene.ask("portolan get clusters", &["get", "clusters", "-f", "fleet.json"]);
    scene.ask(
        "portolan get clusters",
        &["get", "clusters", "-f", "profile.json"],
    );
    scene.ask("portolan simulate", &["simulate", "-f", "fleet.json"]);
    let mistake = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "namespace": "ns", "name": "mistake" },
        "spec": { "tolerations": [{ "key": "a", "operator": "In" }] },
    });
    scene.scratch.write("mistake.json", mistake.to_string());
    scene.ask("portolan simulate", &["simulate", "-f", "mistake.json"]);
    let change = ["simulate", "-f", "fleet.json", "--what-if", "change.json"];
    scene.ask("portolan simulate --what-if", &change);
    let remove = ["simulate", "-f", "fleet.json", "--remove", "mcl/a"];
    scene.ask("portolan simulate --what-if", &remove);
    scene.ask("portolan explain", &["explain", "ns/p", "-f", "fleet.json"]);
    for cluster in ["a", "d", "e", "f"] {
        let args = ["explain", "ns/p", "-f", "fleet.json", "--cluster", cluster];
        scene.ask("portolan explain", &args);
    }
    scene.scratch.write(
        "leaving.json",
        json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": { "name": "a", "deletionTimestamp": "2026-01-01T12:00:00Z" }, "spec": {} })
        .to_string(),
    );
    scene.ask(
        "portolan get clusters",
        &["get", "clusters", "-f", "leaving.json"],
    );
    scene.ask("portolan lint", &["lint", "-f", "bad.json"]);
    let plan = example("rollout-plan.yaml");
    scene.ask("portolan rollout plan", &["rollout", "plan", "-f", &plan]);
    scene.scratch.write(
        "plan.json",
        json!({
            "strategy": { "type": "Progressive", "progressive": { "progressDeadline": "1h" } },
            "groups": [{ "groupName": "", "groupIndex": 0, "clusters": ["a", "b"] }],
            "existing": [
                { "clusterName": "a", "groupKey": { "groupName": "", "groupIndex": 0 }, "status": "Progressing",
                  "lastTransitionTime": "2026-01-01T10:00:00Z" },
                { "clusterName": "b", "groupKey": { "groupName": "", "groupIndex": 0 }, "status": "Progressing",
                  "lastTransitionTime": "2026-01-01T11:50:00Z" },
                { "clusterName": "c", "groupKey": { "groupName": "", "groupIndex": 0 }, "status": "Succeeded",
                  "lastTransitionTime": "2026-01-01T11:00:00Z" },
            ],
            "now": "2026-01-01T12:00:00Z",
        })
        .to_string(),
    );
    scene.ask("portolan rollout plan", &["rollout", "plan", "-f", "plan.json"]);
    scene.ask("portolan version", &["version"]);
}

fn from_hub(scene: &mut Scene, live: &Live) {
    live.apply(json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "name": "training", "namespace": "ml" }, "spec": { "numberOfClusters": 3 },
        "status": { "numberOfSelectedClusters": 2, "conditions": [{ "type": "PlacementSatisfied", "status": "False",
            "reason": "R", "message": "one cluster is missing", "lastTransitionTime": "2026-01-01T12:00:00Z" }] } }));
    live.apply(json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": "a", "namespace": "ml" },
        "involvedObject": { "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
                            "name": "training", "namespace": "ml" },
        "type": "Normal", "reason": "R", "message": "m", "lastTimestamp": "2026-01-01T12:00:00Z",
    }));
    let mut named = reading::decision(&[("a", 7)]);
    named["metadata"]["labels"]["cluster.open-cluster-management.io/decision-group-name"] = "canary".into();
    live.apply(named);
    rollout::scene(live);
    // One cluster in progress with a deadline, and one whose success has to last longer.
    let strategy = json!({ "type": "Progressive", "progressive": {
        "maxConcurrency": 5, "maxFailures": 2, "minSuccessTime": "1000000h", "progressDeadline": "1000000h" } });
    live.apply(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": { "manifestWorkTemplate": rollout::template(),
                  "placementRefs": [{ "name": "all", "rolloutStrategy": strategy }] },
    }));
    live.apply(rollout::work("c6", &[("Applied", "False", "05")]));
    let hub = ["--kubeconfig", live.argument()];
    for (section, words) in [
        ("portolan get placements", &["get", "placements"][..]),
        ("portolan get decisions", &["get", "decisions"]),
        ("portolan get clusters", &["get", "clusters"]),
        ("portolan explain", &["explain", "ml/training"]),
        ("portolan rollout list", &["rollout", "list"]),
        ("portolan rollout status", &["rollout", "status", "shop/web"]),
        (
            "portolan rollout status",
            &["rollout", "watch", "shop/web", "--for", "1s"],
        ),
        ("portolan doctor", &["doctor", "shop/all"]),
    ] {
        scene.ask(section, &[words, &hub].concat());
    }
    scene.watch(live);
}

impl Scene {
    /// Follows decisions while a cluster comes, gets another score, moves to another group and goes.
    fn watch(&mut self, live: &Live) {
        use std::io::{BufRead, BufReader};
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_portolan"))
            .args([
                "watch",
                "ml/training",
                "-o",
                "json",
                "--kubeconfig",
                live.argument(),
            ])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let fields = self.seen.entry("portolan watch").or_default();
        let mut next = || {
            let line = lines.next().expect("a line").expect("text");
            collect(&serde_json::from_str(&line).expect("JSON"), "", fields);
        };
        next();
        let change = |score: i64, group: &str, name: &str| {
            let mut object = reading::decision(&[("a", score)]);
            let labels = &mut object["metadata"]["labels"];
            labels["cluster.open-cluster-management.io/decision-group-index"] = group.into();
            labels["cluster.open-cluster-management.io/decision-group-name"] = name.into();
            live.apply(object);
        };
        change(9, "0", "canary");
        next();
        change(9, "1", "rest");
        next();
        live.delete(&reading::decision(&[]));
        next();
        let _ = child.kill();
        let _ = child.wait();
    }
}

#[test]
fn every_field_of_every_answer_is_documented_and_every_documented_field_occurs() {
    let mut scene = Scene {
        scratch: Scratch::new(),
        seen: Seen::new(),
    };
    from_files(&mut scene);
    let live = Live::new(scene.scratch.path());
    from_hub(&mut scene, &live);
    live.stop();
    let documented = documented();
    let sections: BTreeSet<&str> = documented.keys().map(String::as_str).collect();
    let asked: BTreeSet<&str> = scene.seen.keys().copied().collect();
    assert_eq!(sections, asked, "the page has other commands than the test");
    let mut wrong = Vec::new();
    for (command, fields) in &scene.seen {
        let page = &documented[*command];
        let unknown = fields
            .iter()
            .filter(|field| !page.iter().any(|pattern| is_meant(field, pattern)));
        wrong.extend(unknown.map(|field| format!("{command}: {field} is not documented")));
        let absent = page
            .iter()
            .filter(|pattern| !fields.iter().any(|field| is_meant(field, pattern)));
        wrong.extend(absent.map(|pattern| format!("{command}: {pattern} is documented and never occurs")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
