//! The clients of other languages, each in a script of its own. Each is installed once, outside of the checkout.

use std::path::PathBuf;
use std::process::Command;

use super::*;

fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: there is no {program}");
    }
    there
}

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// What a script of `hack` installs and prints.
fn install(script: &str) -> String {
    let output = Command::new(here().join("../../hack").join(script))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "hack/{script}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs a script that says so when it has come to its end; its last arguments name the server.
async fn run(mut script: Command) {
    let (server, _) = server().await;
    with_widgets(&server).await;
    script
        .arg(server.kubeconfig())
        .args([server.namespace(), server.group()]);
    let output = script.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("everything held\n"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_writes_lists_and_watches() {
    if !is_there("python3") {
        return;
    }
    let mut script = Command::new(install("python-client.sh"));
    script.arg(here().join("tests/suite/client.py"));
    run(script).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_javascript_client_writes_lists_and_informs() {
    if !is_there("node") || !is_there("npm") {
        return;
    }
    let modules = install("javascript-client.sh");
    let mut script = Command::new("node");
    script.arg(here().join("tests/suite/client.mjs")).arg(modules);
    run(script).await;
}
