//! Stock kubectl. Skipped where there is none.

mod access;
mod custom;
mod deletion;
mod objects;

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use super::*;

struct Kubectl {
    server: TestServer,
    /// kubectl caches discovery below it.
    home: tempfile::TempDir,
    editor: String,
}

/// A server and a kubectl that talks to it.
async fn kubectl() -> Option<Kubectl> {
    if Command::new("kubectl")
        .args(["version", "--client"])
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no kubectl");
        return None;
    }
    Some(Kubectl {
        server: TestServer::start().await,
        home: tempfile::tempdir().unwrap(),
        editor: "false".into(),
    })
}

impl Kubectl {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command
            .args(arguments)
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.server.kubeconfig())
            .env("KUBE_EDITOR", &self.editor)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn output(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self.command(arguments).spawn().unwrap();
        // It may have ended without reading everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Runs a command that must succeed; words are apart by blanks.
    fn run(&self, arguments: &str) -> String {
        self.feed(arguments, "")
    }

    /// The same with something to read.
    fn feed(&self, arguments: &str, input: &str) -> String {
        self.words(&arguments.split_whitespace().collect::<Vec<_>>(), input)
    }

    fn words(&self, arguments: &[&str], input: &str) -> String {
        let output = self.output(arguments, input);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a command that must fail, and returns everything it says.
    fn fails(&self, arguments: &str, input: &str) -> String {
        let output = self.output(&arguments.split_whitespace().collect::<Vec<_>>(), input);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(!output.status.success(), "kubectl {arguments} succeeded: {said}");
        said
    }
}

/// A ConfigMap as kubectl reads it.
fn config_map_text(name: &str, value: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}})
        .to_string()
}
