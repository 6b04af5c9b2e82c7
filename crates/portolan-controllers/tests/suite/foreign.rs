//! Consumers that use nothing of ours follow decisions while the fleet changes: one on the stock Python client, one on
//! client-go's informers.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use kube::api::{Patch, PatchParams};
use portolan_api::multicluster::PlacementDecision;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::world::{World, eventually};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a script of `hack` installs and prints.
fn install(script: &str) -> String {
    let output = std::process::Command::new(repository().join("hack").join(script))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "hack/{script}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A program that follows the decision `p`, and what it said.
struct Follower {
    _process: Child,
    lines: Arc<Mutex<Vec<Value>>>,
    held: BTreeSet<String>,
}

impl Follower {
    fn start(world: &World, mut command: Command) -> Follower {
        let mut process = command
            .arg(world.server.kubeconfig())
            .args([&world.namespace, "p"])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (said, output) = (lines.clone(), process.stdout.take().unwrap());
        tokio::spawn(async move {
            let mut output = BufReader::new(output).lines();
            while let Some(line) = output.next_line().await.unwrap() {
                said.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        Follower {
            _process: process,
            lines,
            held: BTreeSet::new(),
        }
    }

    /// Does what was said since the last look; answers with the clusters that were removed.
    fn act(&mut self) -> Vec<String> {
        let mut removed = Vec::new();
        for line in std::mem::take(&mut *self.lines.lock().unwrap()) {
            let named = |what: &str| {
                let (_, name) = line[what].as_str()?.split_once('/')?;
                Some(name.to_owned())
            };
            if let Some(cluster) = named("add") {
                assert!(self.held.insert(cluster.clone()), "{cluster} was added twice");
            } else if let Some(cluster) = named("remove") {
                assert!(self.held.remove(&cluster), "{cluster} was removed and not there");
                removed.push(cluster);
            }
        }
        removed
    }

    async fn until(&mut self, wanted: &BTreeSet<String>) -> Vec<String> {
        let mut removed = Vec::new();
        eventually(
            &format!("the consumer has {} clusters", wanted.len()),
            async || {
                removed.extend(self.act());
                self.held == *wanted
            },
        )
        .await;
        removed
    }
}

/// 210 clusters in three slices; each round some leave and some join, so that others move between slices.
async fn is_told_no_wrong(command: Command) {
    let mut world = World::new().await;
    world.clusters(1..=210, &[("env", "prod")]).await;
    world.clusters(211..=230, &[("env", "dev")]).await;
    let spec = json!({
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}],
    });
    world.placement("p", spec).await;
    world.start().await;
    let name = |number: usize| format!("c{number:03}");
    let mut chosen: BTreeSet<String> = (1..=210).map(name).collect();
    let mut follower = Follower::start(&world, command);
    follower.until(&chosen).await;
    for round in 0..12 {
        let before = chosen.clone();
        for step in 0..8 {
            let number = 1 + (round * 53 + step * 29) % 230;
            let (cluster, joins) = (name(number), (round + step) % 2 == 1);
            world
                .label(&cluster, "env", Some(if joins { "prod" } else { "dev" }))
                .await;
            match joins {
                true => chosen.insert(cluster),
                false => chosen.remove(&cluster),
            };
        }
        let removed = follower.until(&chosen).await;
        let wrong: Vec<&String> = removed
            .iter()
            .filter(|cluster| before.contains(*cluster) && chosen.contains(*cluster))
            .collect();
        assert!(
            wrong.is_empty(),
            "round {round}: {wrong:?} stayed and were removed"
        );
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_on_the_python_client_never_removes_a_cluster_that_stays() {
    if std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no python3");
        return;
    }
    let mut command = Command::new(install("python-client.sh"));
    command.arg(repository().join("examples/consumers/python/follow.py"));
    is_told_no_wrong(command).await;
}

/// A scheduler that takes a cluster away before it puts it elsewhere, and has no revisions, is seen through.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_consumer_sees_the_gap_that_another_scheduler_leaves() {
    if std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no python3");
        return;
    }
    let world = World::new().await;
    let write = async |index: usize, clusters: &[&str]| {
        let entries: Vec<Value> = clusters
            .iter()
            .map(|name| json!({"clusterProfileRef": {"name": name}}))
            .collect();
        let slice = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
            "metadata": {"name": format!("p-{index}"), "labels": {"multicluster.x-k8s.io/decision-key": "p"}},
            "decisions": entries,
        });
        let params = PatchParams::apply("other").force();
        let slices = world.api::<PlacementDecision>();
        slices
            .patch(&format!("p-{index}"), &params, &Patch::Apply(slice))
            .await
            .unwrap();
    };
    write(0, &["a", "b"]).await;
    write(1, &["c"]).await;
    let mut command = Command::new(install("python-client.sh"));
    command.arg(repository().join("examples/consumers/python/follow.py"));
    let mut follower = Follower::start(&world, command);
    let of = |names: &[&str]| -> BTreeSet<String> { names.iter().map(ToString::to_string).collect() };
    follower.until(&of(&["a", "b", "c"])).await;
    write(0, &["a"]).await;
    assert_eq!(follower.until(&of(&["a", "c"])).await, ["b"]);
    write(1, &["b", "c"]).await;
    follower.until(&of(&["a", "b", "c"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_on_client_go_informers_is_never_told_to_remove_a_cluster_that_stays() {
    let Some(program) = std::env::var_os("PORTOLAN_GO_CONSUMER").filter(|program| !program.is_empty()) else {
        eprintln!("skipped: PORTOLAN_GO_CONSUMER names no program; hack/go-consumer.sh makes one");
        return;
    };
    is_told_no_wrong(Command::new(program)).await;
}
