//! The commands of the README and of the tutorial do what they say, typed as they stand there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The lines of the code block that a comment marks.
fn block(page: &str, marker: &str) -> String {
    let (_, rest) = page
        .split_once(&format!("<!-- {marker} -->\n```sh\n"))
        .expect("the page has the block");
    rest.split("```").next().unwrap_or_default().to_owned()
}

fn has_kubectl() -> bool {
    let found = Command::new("kubectl")
        .arg("version")
        .arg("--client")
        .output()
        .is_ok();
    if !found {
        eprintln!("skipped: there is no kubectl");
    }
    found
}

/// Types the block `session` while the block `start` runs in another terminal and has said `ready`. What the session
/// says. A free port instead of the usual one, and what was just built instead of cargo.
fn typed(page: &str, start: (&str, &str, &str), session: &str, ready: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join(page)).unwrap();
    let program = env!("CARGO_BIN_EXE_portolan");
    let (marker, command, ports) = start;
    let start = block(&page, marker).replace(
        &format!("cargo run -- {command}"),
        &format!("exec {program} {command} {ports}"),
    );
    let session = block(&page, session).replace("cargo run --", program);
    let folder = std::env::temp_dir().join(format!("portolan-readme-{marker}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(
        root.join("examples").canonicalize().unwrap(),
        folder.join("examples"),
    )
    .unwrap();
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command
            .args(["-euc", script])
            .current_dir(&folder)
            .env("HOME", &folder)
            .stdout(Stdio::piped());
        command
    };
    let mut server = shell(&start).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap().contains(ready)),
        "it never said {ready:?}"
    );
    // Whatever it says from here on, it is not to wait for somebody to read it.
    let rest = std::thread::spawn(move || lines.for_each(drop));
    let output = shell(&session).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Command::new("kill")
        .arg(server.id().to_string())
        .status()
        .unwrap();
    server.wait().unwrap();
    rest.join().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{session}\n{said}\n{errors}");
    said
}

#[test]
fn kubectl_works_against_the_hub_as_the_readme_shows() {
    if !has_kubectl() {
        return;
    }
    let said = typed(
        "README.md",
        ("hub", "hub", "--listen 127.0.0.1:0"),
        "kubectl",
        "the hub serves",
    );
    assert!(
        said.contains("placement.cluster.open-cluster-management.io/"),
        "{said}"
    );
    assert!(
        said.contains("GROUP:") && said.contains("FIELD: numberOfClusters"),
        "{said}"
    );
}

#[test]
fn the_rollout_tutorial_works_as_it_is_typed() {
    if !has_kubectl() {
        return;
    }
    let ports = "--listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0";
    let start = ("rollout-up", "up", ports);
    let said = typed("README.md", start, "rollout", "Ctrl-C stops it");
    for expected in [
        "shop/web: 0 of 3 clusters done",
        "shop/web: 1 of 3 clusters done, paused",
        "shop/web resumed",
        "3 of 3 clusters done, complete",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn the_tutorial_ends_with_a_workload_that_failed_over() {
    if !has_kubectl() {
        return;
    }
    let ports = "--listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0";
    let start = ("failover-up", "up", ports);
    let said = typed("docs/tutorial.md", start, "failover", "Ctrl-C stops it");
    let named = |words: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(words));
        line.unwrap_or_else(|| panic!("{words}: {said}")).to_owned()
    };
    let (first, second) = (named("the ledger runs on "), named("the ledger moved to "));
    assert_ne!(first, second);
    assert!(said.contains("deployment.apps/ledger condition met"), "{said}");
    assert_eq!(named("the ledger stays on "), second);
}
