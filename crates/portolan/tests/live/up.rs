//! `portolan up` as a process: what it prints, what other commands see, what is kept, how it ends.

use std::collections::BTreeMap;
use std::process::Command;

use super::process::{Process, get, wait_until_ready};
use super::support::{Scratch, portolan};
use serde_json::Value;

const FREE_PORTS: [&str; 4] = ["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];

/// A running `portolan up` and what its greeting said.
pub(crate) struct Up {
    process: Process,
    pub(crate) kubeconfig: String,
    metrics: String,
}

impl Up {
    pub(crate) fn start(scratch: &Scratch, args: &[&str]) -> Up {
        let args = [&["up"], &FREE_PORTS[..], args].concat();
        let mut process = Process::start(scratch.path(), &args, &BTreeMap::new());
        let mut said = |word: &str| {
            let line = process.line_with(&[word]);
            line.trim()
                .strip_prefix(word)
                .expect("the word comes first")
                .trim()
                .to_owned()
        };
        assert!(said("API").starts_with("https://127.0.0.1:"));
        let kubeconfig = said("kubeconfig");
        let metrics = said("metrics");
        let metrics = metrics
            .strip_prefix("http://")
            .and_then(|url| url.strip_suffix("/metrics"))
            .expect("the URL of the metrics");
        Up {
            kubeconfig,
            metrics: metrics.to_owned(),
            process,
        }
    }

    pub(crate) fn ask(&self, scratch: &Scratch, args: &[&str]) -> String {
        let args = [args, &["--kubeconfig", &self.kubeconfig]].concat();
        let run = portolan(scratch.path(), &args, "");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{args:?}");
        run.stdout
    }

    pub(crate) fn ask_json(&self, scratch: &Scratch, args: &[&str]) -> Value {
        serde_json::from_str(&self.ask(scratch, &[args, &["-o", "json"]].concat()))
            .expect("an answer in JSON")
    }

    /// Waits until the controllers have looked at everything.
    pub(crate) fn wait_until_ready(&self) {
        wait_until_ready(&self.metrics);
    }

    /// The next line of the answer that has all these words.
    pub(crate) fn line_with(&mut self, words: &[&str]) -> String {
        self.process.line_with(words)
    }

    /// The next line of the log that has all these words.
    pub(crate) fn log_with(&mut self, words: &[&str]) -> String {
        self.process.log_with(words)
    }

    pub(crate) fn stop(self) {
        let (code, rest) = self.process.stop();
        assert_eq!(code, Some(0), "{rest}");
        assert!(!rest.contains("panicked"), "{rest}");
    }
}

impl Up {
    /// Ends it; what it said on standard error since it was started.
    pub(crate) fn stop_and_read(self) -> String {
        let (code, log) = self.process.stop();
        assert_eq!(code, Some(0), "{log}");
        log
    }
}

/// Name and time of creation of every cluster.
fn clusters(answer: &Value) -> Vec<(&str, &str)> {
    let rows = answer.as_array().expect("a list");
    rows.iter()
        .filter_map(|row| Some((row["name"].as_str()?, row["created"].as_str()?)))
        .collect()
}

#[test]
fn a_demo_shows_decisions_that_change_and_other_commands_see_them() {
    let scratch = Scratch::new();
    let mut up = Up::start(&scratch, &["--demo", "--clusters", "50", "--data", "data"]);
    up.process.line_with(&["ml/training"]);
    wait_until_ready(&up.metrics);
    let (status, metrics) = get(&up.metrics, "/metrics");
    assert_eq!(status, 200);
    assert!(
        metrics.lines().any(|line| line.starts_with("portolan_")),
        "{metrics}"
    );
    let placements = up.ask_json(&scratch, &["get", "placements"]);
    let names: Vec<&str> = placements
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["batch", "training", "ledger", "agents", "frontend"]);
    // The last ones join while it runs.
    while clusters(&up.ask_json(&scratch, &["get", "clusters"])).len() < 50 {}
    // The demo never rests: a note may say that the stored decision is another than that of this moment.
    let args = ["explain", "ml/training", "--kubeconfig", &up.kubeconfig];
    let explained = portolan(scratch.path(), &args, "");
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    assert!(
        explained.stdout.starts_with("ml/training: Success"),
        "{}",
        explained.stdout
    );
    let watched = up.ask(&scratch, &["watch", "ml/training", "--for", "300ms"]);
    assert!(watched.contains("ml/training"), "{watched}");
    // Something goes on without anybody doing anything: it is on the same screen.
    let changed = up.process.line_with(&["ml/training"]);
    assert!(changed.contains("cluster"), "{changed}");
    up.stop();
}

#[test]
fn data_is_kept_between_runs_and_the_demo_goes_on() {
    let scratch = Scratch::new();
    let first = Up::start(&scratch, &["--demo", "--clusters", "12", "--data", "data"]);
    let before = first.ask_json(&scratch, &["get", "clusters"]);
    assert_eq!(
        first.kubeconfig,
        scratch.path().join("data/kubeconfig").to_str().unwrap()
    );
    first.stop();
    let second = Up::start(&scratch, &["--demo", "--data", "data"]);
    let after = second.ask_json(&scratch, &["get", "clusters"]);
    assert_eq!(clusters(&after), clusters(&before));
    assert_eq!(clusters(&after).len(), 12);
    second.stop();
}

#[test]
fn without_a_word_data_is_kept_in_the_users_data_folder() {
    let scratch = Scratch::new();
    let up = Up::start(&scratch, &[]);
    let folder = scratch.path().join(".local/share/portolan/hub");
    assert_eq!(up.kubeconfig, folder.join("kubeconfig").to_str().unwrap());
    assert_eq!(
        up.ask_json(&scratch, &["get", "placements"]),
        serde_json::json!([])
    );
    up.stop();
    assert!(folder.join("kubeconfig").exists());
}

#[test]
fn nothing_is_kept_in_memory() {
    let scratch = Scratch::new();
    let up = Up::start(&scratch, &["--in-memory", "--kubeconfig", "here"]);
    assert_eq!(up.kubeconfig, scratch.path().join("here").to_str().unwrap());
    up.stop();
    let left: Vec<_> = std::fs::read_dir(scratch.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["here"]);
}

#[test]
fn two_at_once_on_the_same_data_are_refused() {
    let scratch = Scratch::new();
    let up = Up::start(&scratch, &["--data", "data"]);
    // The port of before is tried first, which the first one has.
    let again = ["up", "--data", "data", "--metrics-listen", "127.0.0.1:0"];
    let run = portolan(scratch.path(), &again, "");
    assert_eq!(run.code, 2);
    assert!(!run.stderr.contains("port "), "{}", run.stderr);
    assert!(
        run.stderr.contains(
            "another process has the folder data open; stop that process, or use another folder: --data DIR"
        ),
        "{}",
        run.stderr
    );
    up.stop();
}

#[test]
fn a_default_port_that_is_in_use_is_left_to_its_holder() {
    // Where the port is taken already, whoever has it is the holder.
    let _holder = std::net::TcpListener::bind("127.0.0.1:6443");
    let scratch = Scratch::new();
    let start = |data: &str| {
        let args = ["up", "--data", data, "--metrics-listen", "127.0.0.1:0"];
        let mut process = Process::start(scratch.path(), &args, &BTreeMap::new());
        process.line_with(&["API", "https://127.0.0.1:"]);
        process
    };
    // Two at once, each on data of its own.
    let both = [start("one"), start("two")];
    for process in both {
        let (code, rest) = process.stop();
        assert_eq!(code, Some(0), "{rest}");
    }
}

#[test]
fn a_hub_ends_although_a_client_holds_a_connection() {
    let scratch = Scratch::new();
    let args = ["hub", "--listen", "127.0.0.1:0", "--kubeconfig", "kubeconfig"];
    let mut process = Process::start(scratch.path(), &args, &BTreeMap::new());
    let line = process.line_with(&["the hub serves"]);
    let address = line
        .split(['/', ';'])
        .find(|part| part.starts_with("127.0.0.1:"))
        .expect("an address");
    let _client = std::net::TcpStream::connect(address).unwrap();
    // Connections are accepted one after the other: when this one is answered, the first one has been accepted.
    let run = portolan(
        scratch.path(),
        &["get", "placements", "--kubeconfig", "kubeconfig"],
        "",
    );
    assert_ne!(run.code, 0, "a bare hub serves no placements");
    let (code, rest) = process.stop();
    assert_eq!(code, Some(0), "{rest}");
    assert!(
        rest.contains("stopped without waiting for: 1 connection of a client"),
        "{rest}"
    );
}

#[test]
fn an_address_that_was_asked_for_and_is_in_use_is_an_error() {
    let scratch = Scratch::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--listen", "--metrics-listen"] {
        let other = if flag == "--listen" {
            "--metrics-listen"
        } else {
            "--listen"
        };
        let run = portolan(
            scratch.path(),
            &["up", "--in-memory", flag, &address, other, "127.0.0.1:0"],
            "",
        );
        assert_eq!(run.code, 2);
        assert!(
            run.stderr.contains(flag) && run.stderr.contains(&address),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn an_output_that_is_off_is_in_the_greeting() {
    let scratch = Scratch::new();
    let mut up = Up::start(&scratch, &["--in-memory", "--slices=off"]);
    up.process.line_with(&["off ", "--slices"]);
    up.stop();
}

/// Whether there is a kubectl to try.
pub(crate) fn has_kubectl() -> bool {
    let found = Command::new("kubectl").args(["version", "--client"]).output();
    if found.is_err() {
        eprintln!("skipped: there is no kubectl");
    }
    found.is_ok()
}

/// A shell in another folder runs them as they are.
#[test]
fn what_up_prints_to_be_pasted_works_from_any_folder() {
    if !has_kubectl() {
        return;
    }
    let scratch = Scratch::new();
    let elsewhere = Scratch::new();
    let args = [
        "up",
        "--in-memory",
        "--listen",
        "0",
        "--metrics-listen",
        "0",
        "--kubeconfig",
        "hub.kubeconfig",
    ];
    let mut process = Process::start(scratch.path(), &args, &BTreeMap::new());
    process.line_with(&["In another terminal:"]);
    let mut script = String::from("set -e\n");
    loop {
        let line = process.line();
        if line.starts_with("Ctrl-C") {
            break;
        }
        script.push_str(&line);
        script.push('\n');
    }
    assert!(script.lines().count() > 3, "{script}");
    let output = Command::new("sh")
        .args(["-c", &script])
        .env("HOME", elsewhere.path())
        .current_dir(elsewhere.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{script}{said}");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("everywhere"), "{shown}");
    assert_eq!(process.stop().0, Some(0));
}
