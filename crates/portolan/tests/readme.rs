//! The README's commands for a hub do what it says, typed as they stand there.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The lines of the code block that a comment marks.
fn block(page: &str, marker: &str) -> String {
    let (_, rest) = page
        .split_once(&format!("<!-- {marker} -->\n```sh\n"))
        .expect("the README has the block");
    rest.split("```").next().unwrap_or_default().to_owned()
}

#[test]
fn kubectl_works_against_the_hub_as_the_readme_shows() {
    if Command::new("kubectl")
        .arg("version")
        .arg("--client")
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no kubectl");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("README.md")).unwrap();
    let program = env!("CARGO_BIN_EXE_portolan");
    // A free port instead of the usual one, and what was just built instead of cargo.
    let start = block(&page, "hub").replace(
        "cargo run -- hub",
        &format!("exec {program} hub --listen 127.0.0.1:0"),
    );
    let session = block(&page, "kubectl").replace("cargo run --", program);
    let folder = std::env::temp_dir().join(format!("portolan-readme-{}", std::process::id()));
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
    let mut hub = shell(&start).spawn().unwrap();
    let mut lines = BufReader::new(hub.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("the hub serves"));
    let output = shell(&session).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Command::new("kill").arg(hub.id().to_string()).status().unwrap();
    hub.wait().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(output.status.success(), "{session}\n{said}");
    assert!(
        said.contains("placement.cluster.open-cluster-management.io/"),
        "{said}"
    );
    assert!(
        said.contains("GROUP:") && said.contains("FIELD: numberOfClusters"),
        "{said}"
    );
}
