//! What a data file cannot say: generated input, raw bytes, pipes that close, order of keys, colour.

mod support;

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{Scratch, portolan};

const FLEET: &str = r#"
{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSet, metadata: {name: global}, spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, metadata: {name: global, namespace: ns}, spec: {clusterSet: global}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: c1}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: p, namespace: ns}, spec: {}}
"#;

fn refused(name: &str, content: impl AsRef<[u8]>) -> String {
    let scratch = Scratch::new();
    scratch.write(name, content);
    let run = portolan(scratch.path(), &["simulate", "-f", name], "");
    assert_eq!(run.code, 2, "{}", run.stderr);
    run.stderr
}

fn cluster(label: &str) -> String {
    format!(
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n\
         metadata:\n  name: c1\n  labels:\n    big: {label}\n"
    )
}

#[test]
fn a_file_that_is_no_text_and_one_that_is_no_yaml_have_the_same_exit_code() {
    let scratch = Scratch::new();
    scratch.write("bytes.yaml", [0xff, 0xfe]);
    scratch.write("open.yaml", "a: [");
    for file in ["bytes.yaml", "open.yaml"] {
        let run = portolan(scratch.path(), &["lint", "-f", file], "");
        assert_eq!(run.code, 1, "{file}: {}", run.stderr);
        assert!(
            run.stdout.starts_with(&format!("error: {file}: ")),
            "{}",
            run.stdout
        );
    }
    let run = portolan(scratch.path(), &["lint", "-f", "nosuch.yaml"], "");
    assert_eq!(run.code, 2, "{}", run.stdout);
}

#[test]
fn the_manifests_to_try_have_no_mistakes_and_place_their_workload() {
    let scratch = Scratch::new();
    let manifests = portolan(scratch.path(), &["demo", "manifests"], "");
    assert_eq!(manifests.code, 0, "{}", manifests.stderr);
    let lint = portolan(
        scratch.path(),
        &["lint", "--strict", "-f", "-"],
        &manifests.stdout,
    );
    assert_eq!(lint.code, 0, "{}", lint.stdout);
    let check = portolan(
        scratch.path(),
        &["simulate", "--check", "-f", "-"],
        &manifests.stdout,
    );
    assert_eq!(check.code, 0, "{}", check.stdout);
}

#[test]
fn a_credential_plugin_that_fails_is_named_with_its_words_and_without_secrets() {
    let scratch = Scratch::new();
    let kubeconfig = |command: &str| {
        format!(
            "{{clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'}}}}], current-context: here, contexts: [{{name: \
             here, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{exec: {{apiVersion: \
             client.authentication.k8s.io/v1, command: {command}, args: ['-c', 'echo log in first >&2; exit 4', hunter2], env: \
             [{{name: TOKEN, value: hunter3}}]}}}}}}]}}"
        )
    };
    scratch.write("fails.yaml", kubeconfig("sh"));
    scratch.write("missing.yaml", kubeconfig("no-such-plugin"));
    let said = |file: &str| {
        let run = portolan(scratch.path(), &["get", "placements", "--kubeconfig", file], "");
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(!run.stderr.contains("hunter"), "{}", run.stderr);
        run.stderr
    };
    let fails = said("fails.yaml");
    assert!(
        fails.contains("the credential plugin sh ended with exit status 4: log in first; run the command sh"),
        "{fails}"
    );
    let missing = said("missing.yaml");
    assert!(
        missing.contains("cannot be started") && missing.contains("install no-such-plugin"),
        "{missing}"
    );
}

#[test]
fn a_plugin_of_kubectl_hints_at_commands_as_people_call_it() {
    let scratch = Scratch::new();
    let plugin = scratch.path().join("kubectl-portolan");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_portolan"), &plugin).expect("a link can be made");
    let output = Command::new(&plugin)
        .args(["get", "placements"])
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", scratch.path())
        .output()
        .expect("the plugin starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("start one with `kubectl portolan up`"), "{said}");
}

#[test]
fn a_label_value_of_ten_megabytes_is_refused_in_a_few_words() {
    let stderr = refused("big.yaml", cluster(&"x".repeat(10 << 20)));
    assert!(
        stderr
            .starts_with("error: big.yaml: document 1: ManagedCluster c1: cannot accept metadata.labels.big")
    );
    assert!(stderr.len() < 1000, "{} bytes", stderr.len());
}

#[test]
fn a_label_value_of_ten_megabytes_in_json_is_refused_in_a_few_words() {
    let label = "x".repeat(10 << 20);
    let stderr = refused(
        "big.json",
        format!(
            "{{\"apiVersion\":\"cluster.open-cluster-management.io/v1\",\"kind\":\"ManagedCluster\",\
             \"metadata\":{{\"name\":\"c1\",\"labels\":{{\"big\":\"{label}\"}}}}}}"
        ),
    );
    assert!(
        stderr.contains("metadata.labels.big") && stderr.len() < 1000,
        "{} bytes",
        stderr.len()
    );
}

#[test]
fn names_keys_and_kinds_of_ten_megabytes_are_refused_in_a_few_words() {
    let big = "x".repeat(10 << 20);
    for text in [
        format!("{{\"apiVersion\":\"v1\",\"kind\":\"{big}\"}}"),
        format!("{{\"apiVersion\":\"cluster.open-cluster-management.io/v1\",\"kind\":\"{big}\"}}"),
        format!("{{\"apiVersion\":\"cluster.open-cluster-management.io/{big}\",\"kind\":\"Placement\"}}"),
        cluster("a").replace("name: c1", &format!("name: {big}")),
        format!("{{\"{big}\": 1}}"),
    ] {
        let scratch = Scratch::new();
        scratch.write("big.yaml", text);
        let run = portolan(scratch.path(), &["simulate", "-f", "big.yaml"], "");
        assert!(run.stderr.len() < 2000, "{} bytes", run.stderr.len());
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_named_with_their_line() {
    let stderr = refused("latin.yaml", b"apiVersion: v1\nkind: \xff\n");
    assert_eq!(
        stderr,
        "error: latin.yaml: not UTF-8 text at byte 21 (line 2); accepted: UTF-8\n"
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let scratch = Scratch::new();
    scratch.write("bom.yaml", format!("\u{feff}{FLEET}"));
    assert_eq!(
        portolan(scratch.path(), &["simulate", "-f", "bom.yaml", "--check"], "").code,
        0
    );
}

#[test]
fn zero_bytes_and_tabs_are_refused() {
    refused("zero.yaml", b"a: \0\0\0");
    refused("tab.yaml", b"a:\n\tb: 1");
}

/// A process that took the memory that the aliases ask for would not survive the limit.
#[test]
#[cfg(target_os = "linux")]
fn aliases_that_multiply_take_no_memory() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let names = vec![format!("*a{}", level - 1); 10].join(",");
        bomb.push_str(&format!("a{level}: &a{level} [{names}]\n"));
    }
    let scratch = Scratch::new();
    scratch.write("bomb.yaml", bomb);
    let limited = format!(
        "ulimit -v 2000000; exec {} simulate -f bomb.yaml",
        env!("CARGO_BIN_EXE_portolan")
    );
    let output = Command::new("sh")
        .args(["-c", &limited])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("bomb.yaml: document 1"), "{stderr}");
}

#[test]
fn a_pipe_that_closes_early_is_no_error() {
    let scratch = Scratch::new();
    let names = (0..3000).map(|n| {
        FLEET
            .replace("name: c1", &format!("name: c{n}"))
            .split("---")
            .nth(2)
            .unwrap()
            .to_owned()
    });
    let clusters: Vec<String> = names.collect();
    scratch.write(
        "fleet.yaml",
        format!(
            "{FLEET}---{}",
            clusters.join("---").replacen("name: c1}", "name: cx}", 1)
        ),
    );
    for args in [
        &["simulate", "-f", "fleet.yaml", "-o", "json"][..],
        &["crds"],
        &["completions", "bash"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_portolan"))
            .args(args)
            .current_dir(scratch.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 1];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut first).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn keys_come_in_the_documented_order() {
    let scratch = Scratch::new();
    scratch.write("fleet.yaml", FLEET);
    let json = portolan(
        scratch.path(),
        &["simulate", "-f", "fleet.yaml", "-o", "json"],
        "",
    )
    .stdout;
    let keys = [
        "namespace",
        "name",
        "status",
        "plugin",
        "message",
        "candidates",
        "filters",
        "prioritizers",
        "scores",
        "selected",
        "unscheduled",
        "requeueAt",
        "decisionGroups",
        "conditions",
        "placementDecisions",
        "slices",
        "findings",
    ];
    // Keys of a placement are the only ones at this depth.
    let found: Vec<&str> = json
        .lines()
        .filter_map(|line| line.strip_prefix("      \"")?.split_once('"'))
        .map(|(key, _)| key)
        .collect();
    assert_eq!(found, keys);
}

#[test]
fn yaml_and_json_say_the_same() {
    let scratch = Scratch::new();
    scratch.write("fleet.yaml", FLEET);
    let answer = |format: &str| {
        portolan(
            scratch.path(),
            &["simulate", "-f", "fleet.yaml", "-o", format],
            "",
        )
        .stdout
    };
    let json: Value = serde_json::from_str(&answer("json")).unwrap();
    let yaml: Value = serde_saphyr::from_str(&answer("yaml")).unwrap();
    assert_eq!(json, yaml);
}

#[test]
fn decisions_of_an_answer_are_accepted_as_input_and_then_nothing_changes() {
    let scratch = Scratch::new();
    scratch.write("fleet.yaml", FLEET);
    let args = [
        "simulate",
        "-f",
        ".",
        "-o",
        "json",
        "--publish-scores",
        "never",
        "--now",
        "2026-01-01T00:00:00Z",
    ];
    let objects = |answer: &str| -> Vec<Value> {
        let answer: Value = serde_json::from_str(answer).unwrap();
        let list = |key: &str| answer["placements"][0][key].as_array().unwrap().clone();
        [list("placementDecisions"), list("slices")].concat()
    };
    let first = objects(&portolan(scratch.path(), &args, "").stdout);
    let prior = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": first });
    scratch.write("prior.json", prior.to_string());
    let second = portolan(scratch.path(), &args, "");
    assert_eq!(second.stderr, "");
    assert_eq!(objects(&second.stdout), first);
}

#[test]
fn there_is_no_colour_without_a_terminal() {
    let scratch = Scratch::new();
    scratch.write("fleet.yaml", FLEET);
    for args in [
        &["simulate", "-f", "fleet.yaml"][..],
        &[
            "explain",
            "-f",
            "fleet.yaml",
            "--placement",
            "ns/p",
            "--cluster",
            "c1",
        ],
        &["simulate", "-f", "fleet.yaml", "--remove", "mcl/c1"],
        &["simulate", "--help"],
    ] {
        let run = portolan(scratch.path(), args, "");
        assert!(!run.stdout.contains('\u{1b}'), "{args:?}");
    }
}

#[test]
fn colour_can_be_asked_for_and_no_color_wins() {
    let scratch = Scratch::new();
    scratch.write("fleet.yaml", FLEET);
    let coloured = |no_color: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portolan"));
        command
            .args(["simulate", "-f", "fleet.yaml"])
            .current_dir(scratch.path());
        command.env_remove("NO_COLOR");
        match no_color {
            Some(value) => command.env("NO_COLOR", value),
            None => command.env("CLICOLOR_FORCE", "1"),
        };
        String::from_utf8(command.output().unwrap().stdout)
            .unwrap()
            .contains('\u{1b}')
    };
    assert!(coloured(None));
    assert!(!coloured(Some("1")));
}

#[test]
fn the_definitions_that_are_written_are_those_in_the_repository() {
    let scratch = Scratch::new();
    assert_eq!(portolan(scratch.path(), &["crds", "-o", "out"], "").code, 0);
    let committed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    let names = |directory: &std::path::Path| {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let written = scratch.path().join("out");
    assert_eq!(names(&written), names(&committed));
    for name in names(&written) {
        assert_eq!(
            std::fs::read(written.join(&name)).unwrap(),
            std::fs::read(committed.join(&name)).unwrap()
        );
    }
}

#[test]
#[cfg(unix)]
fn a_directory_that_links_to_itself_is_read_once() {
    let scratch = Scratch::new();
    scratch.write("dir/fleet.yaml", FLEET);
    std::os::unix::fs::symlink("..", scratch.path().join("dir/loop")).unwrap();
    let run = portolan(&scratch.path().join("dir"), &["simulate", "-f", "."], "");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}
