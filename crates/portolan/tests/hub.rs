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
fn an_address_that_is_no_address_is_refused_with_what_would_be_accepted() {
    let run = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args(["hub", "--listen", "everywhere"])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stderr).contains("--listen"));
}
