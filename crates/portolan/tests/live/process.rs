//! A run of the binary that does not end by itself.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

/// A process that does not outlive its test.
pub(crate) struct Process {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Lines<BufReader<ChildStderr>>,
}

impl Process {
    pub(crate) fn start(folder: &Path, args: &[&str], environment: &BTreeMap<&str, &str>) -> Process {
        let mut child = Command::new(env!("CARGO_BIN_EXE_portolan"))
            .args(args)
            .current_dir(folder)
            .env_remove("KUBECONFIG")
            .env("HOME", folder)
            .env_remove("XDG_DATA_HOME")
            .envs(environment)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let stderr = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        Process {
            child,
            stdout,
            stderr,
        }
    }

    /// The next line of standard output.
    pub(crate) fn line(&mut self) -> String {
        let line = self.stdout.next().and_then(Result::ok);
        line.unwrap_or_else(|| {
            panic!(
                "it ended: {}",
                self.stderr.by_ref().map_while(Result::ok).collect::<String>()
            )
        })
    }

    /// The first line of standard output from here on that has all of the words.
    pub(crate) fn line_with(&mut self, words: &[&str]) -> String {
        loop {
            let line = self.line();
            if words.iter().all(|word| line.contains(word)) {
                return line;
            }
        }
    }

    /// The first line of the log from here on that has all of the words.
    pub(crate) fn log_with(&mut self, words: &[&str]) -> String {
        let mut seen = String::new();
        loop {
            let line = self.stderr.next().and_then(Result::ok);
            let line = line.unwrap_or_else(|| panic!("no line with {words:?}: {seen}"));
            if words.iter().all(|word| line.contains(word)) {
                return line;
            }
            seen.push_str(&line);
            seen.push('\n');
        }
    }

    /// Asks it to stop, and waits. The exit code and what was left to say on standard error.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        let told = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(told.expect("kill runs").success());
        // A full pipe would keep it from ending.
        self.stdout.by_ref().for_each(drop);
        let rest: Vec<String> = self.stderr.by_ref().map_while(Result::ok).collect();
        let status = self.child.wait().expect("it can be waited for");
        (status.code(), rest.join("\n"))
    }
}

impl Process {
    /// Waits until it ends by itself. The exit code.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.stdout.by_ref().for_each(drop);
        self.child.wait().expect("it can be waited for").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Status and body of a plain GET.
pub(crate) fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .expect("a request can be sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    (status.expect("a status"), body.unwrap_or_default())
}

/// Waits until the controllers behind an address say that they are ready.
pub(crate) fn wait_until_ready(address: &str) {
    while get(address, "/readyz").0 != 200 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}
