//! `portolan hub` as a process: it says how to use it, and stops when it is told to.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn the_hub_writes_a_private_kubeconfig_says_where_it_serves_and_stops_on_sigterm() {
    use std::os::unix::fs::PermissionsExt;
    let folder = std::env::temp_dir().join(format!("portolan-hub-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let kubeconfig = folder.join("kubeconfig");
    let mut hub = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args(["hub", "--listen", "127.0.0.1:0", "--data"])
        .arg(folder.join("data"))
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(hub.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("the hub serves https://127.0.0.1:"), "{first}");
    assert_eq!(
        std::fs::metadata(&kubeconfig).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let stopped = Command::new("kill").arg(hub.id().to_string()).status().unwrap();
    assert!(stopped.success());
    assert_eq!(hub.wait().unwrap().code(), Some(0));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_hub_logs_what_it_does_and_what_it_refuses_and_names_its_host() {
    let folder = std::env::temp_dir().join(format!("portolan-hub-log-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let kubeconfig = folder.join("kubeconfig");
    let mut hub = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args([
            "hub",
            "--listen",
            "127.0.0.1:0",
            "--hostname",
            "localhost",
            "--log-level",
            "debug",
            "--kubeconfig",
        ])
        .arg(&kubeconfig)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let first = BufReader::new(hub.stdout.take().unwrap())
        .lines()
        .next()
        .unwrap()
        .unwrap();
    assert!(first.starts_with("the hub serves https://localhost:"), "{first}");
    let kubectl = |args: &[&str]| {
        let kubectl = Command::new("kubectl")
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .args(args)
            .output();
        kubectl.expect("kubectl is installed")
    };
    let made = kubectl(&["create", "namespace", "shop"]);
    assert!(
        made.status.success(),
        "the certificate is for localhost: {made:?}"
    );
    assert!(!kubectl(&["--as=eve", "get", "secrets"]).status.success());
    Command::new("kill").arg(hub.id().to_string()).status().unwrap();
    let log = String::from_utf8(hub.wait_with_output().unwrap().stderr).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    for line in [
        "INFO portolan_hub::server::journal: system:admin: create namespaces shop\n",
        "DEBUG portolan_hub::server::service: refused GET /api/v1/namespaces/default/secrets: 403 secrets is forbidden: User \"eve\"",
    ] {
        assert!(log.contains(line), "{line} is not in\n{log}");
    }
}

#[test]
fn an_address_that_is_no_address_is_refused_with_what_would_be_accepted() {
    let run = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args(["hub", "--listen", "everywhere"])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stderr).contains("--listen"));
}
