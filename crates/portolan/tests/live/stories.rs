//! The five stories of `examples/stories`, run as they stand on a hub with six embedded members. On real API servers
//! `hack/stories-on-server.sh` runs them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use portolan_check::{Event, Object, Recording, stream};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::support::Scratch;
use super::up::Up;

/// The controller of story 3, for its own tests.
#[path = "../../../../examples/stories/3-disaster-recovery/dr-controller.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "a program of its own, of which the tests run here"
)]
mod dr_controller;

const STORIES: [&str; 5] = [
    "1-gpu-training",
    "2-progressive-rollout",
    "3-disaster-recovery",
    "4-self-consume",
    "5-fan-out",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn has_kubectl() -> bool {
    let found = Command::new("kubectl")
        .args(["version", "--client"])
        .output()
        .is_ok();
    if !found {
        eprintln!("skipped: there is no kubectl");
    }
    found
}

/// An example program. `cargo test` builds them; `cargo test --test live` does not.
fn example(name: &str, source: &str) -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_portolan"))
        .with_file_name("examples")
        .join(name);
    let changed = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    if changed(&built) < changed(&root().join(source)) {
        let mut cargo = Command::new(env!("CARGO"));
        // What cargo tells a test about itself would have it build dependencies anew.
        let about = |name: &str| {
            name == "OUT_DIR"
                || ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CFG_"]
                    .iter()
                    .any(|start| name.starts_with(start))
        };
        for (variable, _) in std::env::vars().filter(|(name, _)| about(name)) {
            cargo.env_remove(variable);
        }
        let status = cargo
            .args(["build", "--quiet", "--locked", "--example", name, "--target-dir"])
            .arg(built.ancestors().nth(3).unwrap())
            .current_dir(root())
            .status();
        assert!(status.unwrap().success(), "{name} cannot be built");
    }
    built
}

/// A hub with members, and the programs that the stories start.
struct Stage {
    scratch: Scratch,
    up: Up,
    programs: Vec<(&'static str, PathBuf)>,
}

impl Stage {
    fn new(args: &[&str]) -> Stage {
        let scratch = Scratch::new();
        let kubeconfig = scratch.path().join("hub.kubeconfig");
        let always = [
            "--in-memory",
            "--spokes",
            "6",
            "--kubeconfig",
            kubeconfig.to_str().unwrap(),
        ];
        let up = Up::start(&scratch, &[&always, args].concat());
        up.wait_until_ready();
        let deploy = example("deploy", "crates/portolan-consumer/examples/deploy.rs");
        let controller = example(
            "dr-controller",
            "examples/stories/3-disaster-recovery/dr-controller.rs",
        );
        let programs = vec![
            ("PORTOLAN", env!("CARGO_BIN_EXE_portolan").into()),
            ("DR_CONTROLLER", controller),
            ("DEPLOY", deploy),
        ];
        Stage {
            scratch,
            up,
            programs,
        }
    }

    fn run(&self, story: &str, environment: &[(&str, &str)]) -> Output {
        Command::new(root().join("examples/stories").join(story).join("run.sh"))
            .current_dir(self.scratch.path())
            .env("HOME", self.scratch.path())
            .env("KUBECONFIG", &self.up.kubeconfig)
            .env_remove("MEMBERS")
            .env_remove("PATIENCE")
            .envs(self.programs.iter().map(|(name, path)| (name, path)))
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }

    /// Watches the standard decisions with a stock client.
    fn watch(&self) -> Watch {
        let kubectl = Command::new("kubectl")
            .args(["get", "placementdecisions.multicluster.x-k8s.io"])
            .args([
                "--all-namespaces",
                "--watch",
                "--output-watch-events",
                "-o",
                "json",
            ])
            .env("HOME", self.scratch.path())
            .env("KUBECONFIG", &self.up.kubeconfig)
            .stdout(std::fs::File::create(self.events()).unwrap())
            .spawn();
        Watch(kubectl.unwrap())
    }

    fn events(&self) -> PathBuf {
        self.scratch.path().join("events.json")
    }

    /// What the watch saw in one namespace. Decisions there have one slice, so that each write is a whole answer.
    fn recorded(&self, namespace: &str) -> Recording {
        let text = std::fs::read_to_string(self.events()).unwrap();
        let mut recording = Recording::default();
        for event in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
            let event = event.unwrap();
            if event["object"]["metadata"]["namespace"] == namespace {
                recording.events.push(serde_json::from_value(event).unwrap());
                recording.events.push(Event::Settled);
            }
        }
        recording
    }
}

struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The clusters of the slice with this decision-key after each event; none where it was deleted.
fn answers(recording: &Recording, key: &str) -> Vec<Vec<String>> {
    let answer = |event: &Event| {
        let Some(Object::Slice(slice)) = event.object() else {
            return None;
        };
        let labels = slice.metadata.labels.as_ref()?;
        let is_there = !matches!(event, Event::Deleted(_));
        (labels.get("multicluster.x-k8s.io/decision-key")? == key).then(|| {
            let entries = slice.decisions.iter().filter(|_| is_there);
            let named = entries.filter_map(|entry| entry.profile(""));
            named.map(|(_, name)| name.to_owned()).collect()
        })
    };
    recording.events.iter().filter_map(answer).collect()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_five_stories_hold_in_turn_and_decisions_of_other_producers_pass_the_checks() {
    if !has_kubectl() {
        return;
    }
    let page = std::fs::read_to_string(root().join("docs/stories.md")).unwrap();
    let stage = Stage::new(&[]);
    let watch = stage.watch();
    for story in STORIES {
        let command = format!("\nexamples/stories/{story}/run.sh\n");
        assert!(
            page.contains(&command),
            "docs/stories.md does not say {command:?}"
        );
        let output = stage.run(story, &[]);
        assert!(output.status.success(), "{story}: {}", said(&output));
        if story == STORIES[4] {
            let text = String::from_utf8_lossy(&output.stdout);
            let outcomes = text.lines().filter(|line| line.ends_with(" alone"));
            let wide: Vec<&str> = outcomes.filter(|line| line.width() > 80).collect();
            assert!(wide.is_empty(), "{story} does not fit a terminal: {wide:#?}");
        }
        eprintln!(
            "{story}: {}",
            String::from_utf8_lossy(&output.stdout).lines().last().unwrap()
        );
    }
    drop(watch);

    let recovery = stage.recorded("story-orders");
    // One write for each move, so that there is no moment without a cluster until all is over, and none for nothing.
    let expected: [&[&str]; 4] = [&["member-1"], &["member-2"], &["member-1"], &[]];
    assert_eq!(answers(&recovery, "db-primary"), expected);
    let generated = stage.recorded("story-frontend");
    let sizes: Vec<usize> = answers(&generated, "frontend-app-prod")
        .iter()
        .map(Vec::len)
        .collect();
    assert_eq!(sizes, [4, 5, 4, 0]);
    for recording in [recovery, generated] {
        let report = stream::check(&recording);
        assert!(report.is_clean(), "{:?}", report.findings);
    }
    stage.up.stop();
}

#[test]
fn a_story_whose_outcome_does_not_come_fails_and_says_what_it_waited_for() {
    if !has_kubectl() {
        return;
    }
    // Nobody makes works from templates, nobody consumes, and one member does not hear of anything.
    let stage = Stage::new(&["--work-syncer", "off"]);
    stage.up.ask(&stage.scratch, &["demo", "partition", "member-5"]);
    let fails = |story: &str, environment: &[(&str, &str)], expected: &str| {
        let output = stage.run(story, &[environment, &[("PATIENCE", "20")]].concat());
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{story}: {said}");
        let line = format!("FAILED: not so after 20 seconds: {expected}");
        assert!(said.contains(&line), "{story}: {line:?} is not in {said}");
    };
    std::thread::scope(|scope| {
        for (story, environment, expected) in [
            (
                STORIES[0],
                &[][..],
                "the job is on member-2 and on no other member",
            ),
            (STORIES[1], &[], "version 1 is on all 6 members"),
            (STORIES[2], &[], "the database is on member-1 alone"),
            (
                STORIES[3],
                &[],
                "the application is on those and on no other member",
            ),
            (STORIES[4], &[("DEPLOY", "true")], "deployer: payments is on"),
        ] {
            scope.spawn(move || fails(story, environment, expected));
        }
    });
    stage.up.stop();
}
