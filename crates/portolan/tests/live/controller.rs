//! `portolan controller` as a process on a hub that somebody else runs.

use std::collections::BTreeMap;
use std::path::Path;

use super::hub::Live;
use super::process::{Process, get, wait_until_ready};
use super::support::{Scratch, portolan};
use serde_json::Value;

/// Starts it with logs in JSON; where its probes are.
fn start(scratch: &Scratch, live: &Live, args: &[&str]) -> (Process, String) {
    let environment = BTreeMap::from([
        ("PORTOLAN_LOG_FORMAT", "json"),
        ("PORTOLAN_METRICS_LISTEN", "127.0.0.1:0"),
    ]);
    let args = [&["controller", "--kubeconfig", live.argument()], args].concat();
    let mut process = Process::start(scratch.path(), &args, &environment);
    let line = process.log_with(&["metrics are served"]);
    let line: Value = serde_json::from_str(&line).expect("logs are JSON");
    let address = line["address"].as_str().expect("an address").to_owned();
    (process, address)
}

fn example(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
}

#[test]
fn a_bare_server_gets_the_definitions_and_then_decisions_and_it_stops_when_told_to() {
    let scratch = Scratch::new();
    let live = Live::bare(scratch.path());
    let (process, address) = start(&scratch, &live, &["--install-crds", "--registration"]);
    live.apply_files(&example("gpu-training"));
    wait_until_ready(&address);
    assert_eq!(get(&address, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get(&address, "/elsewhere").0, 404);
    assert!(get(&address, "/metrics").1.contains("portolan_"));
    let mut watch = Process::start(
        scratch.path(),
        &[
            "watch",
            "ml/training",
            "-o",
            "json",
            "--kubeconfig",
            live.argument(),
        ],
        &BTreeMap::new(),
    );
    for cluster in ["gpu-cluster-east", "gpu-cluster-west"] {
        let line: Value = serde_json::from_str(&watch.line()).unwrap();
        assert_eq!(line["cluster"], cluster, "{line}");
    }
    assert_eq!(watch.stop().0, Some(0));
    let (code, rest) = process.stop();
    assert_eq!(code, Some(0), "{rest}");
    assert!(rest.contains("stopping"), "{rest}");
    live.stop();
}

#[test]
fn an_output_that_is_off_is_in_the_log_and_told_to_who_asks_for_more() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    let (mut process, address) = start(&scratch, &live, &["--slices=off"]);
    process.log_with(&["the output is off", "--slices=off"]);
    wait_until_ready(&address);
    assert_eq!(get(&address, "/readyz"), (200, "ok\n".to_owned()));
    let verbose = "ok\nthe output slices is off: --slices=off\n".to_owned();
    assert_eq!(get(&address, "/readyz?verbose"), (200, verbose));
    assert!(
        get(&address, "/metrics")
            .1
            .contains("portolan_output_enabled{output=\"slices\"} 0")
    );
    assert_eq!(process.stop().0, Some(0));
    live.stop();
}

#[test]
fn definitions_that_someone_else_installed_are_left_alone_unless_forced() {
    let scratch = Scratch::new();
    let live = Live::new(scratch.path());
    for (flag, expected) in [
        ("--install-crds", "left as it is: someone else installed it"),
        ("--install-crds=force", "installed"),
    ] {
        let args = [
            "controller",
            "--kubeconfig",
            live.argument(),
            flag,
            "--metrics-listen",
            "127.0.0.1:0",
        ];
        let mut process = Process::start(scratch.path(), &args, &BTreeMap::new());
        process.log_with(&[expected, "placements.cluster.open-cluster-management.io"]);
        assert_eq!(process.stop().0, Some(0));
    }
    live.stop();
}

#[test]
fn settings_that_make_no_sense_are_refused_before_anything_is_asked() {
    let scratch = Scratch::new();
    for (args, expected) in [
        (&["--parallel-writes", "0"][..], "--parallel-writes"),
        (&["--longest-backoff", "soon"], "such as 90s"),
        (&["--install-crds=perhaps"], "missing, force"),
        (&["--log-level", "loud"], "accepted: off, error, warn"),
        (&["--metrics-listen", "everywhere"], "--metrics-listen"),
        (&["--slices", "maybe"], "auto, off"),
    ] {
        let run = portolan(scratch.path(), &[&["controller"], args].concat(), "");
        assert_eq!(run.code, 2, "{args:?}");
        assert!(run.stderr.contains(expected), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn without_a_hub_it_says_how_to_name_one() {
    let scratch = Scratch::new();
    let run = portolan(scratch.path(), &["controller"], "");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--kubeconfig FILE"), "{}", run.stderr);
}

/// A server that accepts connections and never answers.
#[test]
fn a_server_that_does_not_answer_does_not_keep_a_start_from_being_stopped() {
    for command in [
        &[
            "controller",
            "--kubeconfig",
            "silent",
            "--metrics-listen",
            "127.0.0.1:0",
        ][..],
        &[
            "agent",
            "--hub",
            "silent",
            "--spoke",
            "silent",
            "--cluster",
            "east",
        ],
    ] {
        let scratch = Scratch::new();
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": url}}], "users": [{"name": "c", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        });
        scratch.write("silent", config.to_string());
        let process = Process::start(scratch.path(), command, &BTreeMap::new());
        let _connection = silent.accept().unwrap();
        let (code, rest) = process.stop();
        assert_eq!(code, Some(0), "{command:?}: {rest}");
    }
}
