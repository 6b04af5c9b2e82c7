//! The files that `portolan up` and `portolan hub` write: none of somebody else and none of a server that runs is replaced.

use std::collections::BTreeMap;

use super::process::Process;
use super::support::{Scratch, portolan};
use super::up::Up;

const FREE_PORTS: [&str; 4] = ["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];

/// Starts a second one, which is to refuse; what it says.
fn refused(scratch: &Scratch, args: &[&str]) -> String {
    let run = portolan(scratch.path(), args, "");
    assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
    run.stderr
}

#[test]
fn the_kubeconfig_of_members_that_run_is_not_replaced() {
    let scratch = Scratch::new();
    let first = Up::start(
        &scratch,
        &["--spokes", "1", "--data", "one", "--kubeconfig", "one.kubeconfig"],
    );
    let members = scratch.path().join("members.kubeconfig");
    let before = std::fs::read_to_string(&members).unwrap();
    let second = ["--spokes", "2", "--data", "two", "--kubeconfig", "two.kubeconfig"];
    let said = refused(&scratch, &[&["up"], &FREE_PORTS[..], &second].concat());
    for word in [
        "members.kubeconfig",
        "https://127.0.0.1:",
        "which runs",
        "--kubeconfig FOLDER/FILE",
    ] {
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&members).unwrap(), before);
    assert!(
        !scratch.path().join("two.kubeconfig").exists(),
        "nothing is half done"
    );
    first.stop();
    // What nobody serves any more is replaced.
    Up::start(&scratch, &second).stop();
    assert_ne!(std::fs::read_to_string(&members).unwrap(), before);
}

#[test]
fn the_kubeconfig_of_a_hub_that_runs_is_not_replaced() {
    let scratch = Scratch::new();
    let hub = ["hub", "--listen", "127.0.0.1:0"];
    let mut first = Process::start(scratch.path(), &hub, &BTreeMap::new());
    first.line_with(&["the hub serves"]);
    let kubeconfig = scratch.path().join("portolan.kubeconfig");
    let before = std::fs::read_to_string(&kubeconfig).unwrap();
    let kept = ["--data", "data", "--kubeconfig", "portolan.kubeconfig"];
    for second in [
        hub.to_vec(),
        [&hub[..], &kept].concat(),
        [&["up", "--in-memory"], &FREE_PORTS[..]].concat(),
        [&["up"], &FREE_PORTS[..], &kept].concat(),
    ] {
        let said = refused(&scratch, &second);
        for word in [
            "portolan.kubeconfig",
            "https://127.0.0.1:",
            "which runs",
            "--kubeconfig FILE",
        ] {
            assert!(said.contains(word), "{said}");
        }
        assert_eq!(std::fs::read_to_string(&kubeconfig).unwrap(), before);
    }
    assert_eq!(first.stop().0, Some(0));
    // The second run of a hub finds its own file, and answers at the address in it.
    for _ in 0..2 {
        let mut again = Process::start(scratch.path(), &[&["hub"], &kept[..]].concat(), &BTreeMap::new());
        again.line_with(&["the hub serves"]);
        assert_eq!(again.stop().0, Some(0));
    }
}

#[test]
fn a_file_that_portolan_has_not_written_is_not_replaced() {
    let scratch = Scratch::new();
    let file = scratch.path().join("config");
    let members = scratch.path().join("members.kubeconfig");
    let foreign = "apiVersion: v1\nkind: Config\nclusters:\n- name: production\n  cluster: {server: 'https://prod:6443'}\n\
                   users:\n- name: me\n  user: {token: secret}\ncontexts:\n- name: production\n  context: {cluster: \
                   production, user: me}\ncurrent-context: production\n";
    let up = [&["up", "--in-memory", "--kubeconfig", "config"], &FREE_PORTS[..]].concat();
    let hub = ["hub", "--listen", "127.0.0.1:0", "--kubeconfig", "config"];
    for text in [foreign, "notes"] {
        std::fs::write(&file, text).unwrap();
        for args in [&up[..], &hub] {
            let said = refused(&scratch, args);
            assert!(
                said.contains("config: the file is there and is not one"),
                "{said}"
            );
            assert!(said.contains("accepted: another file"), "{said}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
    }
    std::fs::write(&members, foreign).unwrap();
    // A file without content holds nothing that could be lost.
    std::fs::write(&file, "").unwrap();
    let said = refused(&scratch, &[&up[..], &["--spokes", "1"]].concat());
    assert!(said.contains("members.kubeconfig: the file is there"), "{said}");
    assert_eq!(std::fs::read_to_string(&members).unwrap(), foreign);
    let mut process = Process::start(scratch.path(), &hub, &BTreeMap::new());
    process.line_with(&["the hub serves"]);
    assert_eq!(process.stop().0, Some(0));
}
