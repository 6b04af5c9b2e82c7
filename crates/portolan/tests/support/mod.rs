//! Running the built binary in a directory of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the binary in `directory`, with `stdin` as its standard input.
pub(crate) fn portolan(directory: &Path, args: &[&str], stdin: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args(args)
        // Help is wrapped to it.
        .env_remove("COLUMNS")
        // Whatever hubs the person who runs the tests has, they are not for tests.
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", directory)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    let text = stdin.to_owned();
    // A program that fails early does not read its input.
    let feed = std::thread::spawn(move || drop(std::io::Write::write_all(&mut input, text.as_bytes())));
    let output = child.wait_with_output().expect("the binary ends");
    feed.join().expect("feeding does not panic");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the binary prints UTF-8");
    let run = Run {
        code: output.status.code().expect("the binary exits by itself"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    };
    assert!(
        !run.stderr.contains("panicked"),
        "{args:?} panicked: {}",
        run.stderr
    );
    assert!(
        run.code != 2 || run.stdout.is_empty(),
        "{args:?} failed and printed: {}",
        run.stdout
    );
    run
}

/// A directory that is gone when the test ends.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch directory can be made");
        Scratch(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, with the directories on its way.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a file is in a directory"))
            .expect("a directory can be made");
        std::fs::write(path, content).expect("a file can be written");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
