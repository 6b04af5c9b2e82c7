//! The Python client, in a script of its own.

use std::path::PathBuf;
use std::process::Command;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_writes_lists_and_watches() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(here.join("../../hack/python-client.sh"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "hack/python-client.sh: {errors}");
    let interpreter = String::from_utf8(output.stdout).unwrap();

    let (server, _) = server().await;
    with_widgets(&server).await;
    let output = Command::new(interpreter.trim())
        .arg(here.join("tests/suite/client.py"))
        .arg(server.kubeconfig())
        .args([server.namespace(), server.group()])
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    assert!(said.ends_with("everything held\n"), "{said}");
}
