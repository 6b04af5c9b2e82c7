//! Which commit is built. Read with the `git` command where there is one; `PORTOLAN_COMMIT` and `PORTOLAN_COMMIT_DATE`
//! say it where the sources come without their history, as in an image or an archive.

use std::process::Command;

fn main() {
    let commit = given("PORTOLAN_COMMIT").or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let date = given("PORTOLAN_COMMIT_DATE").or_else(|| git(&["show", "-s", "--format=%cs", "HEAD"]));
    println!("cargo::rustc-env=PORTOLAN_COMMIT={}", text(commit));
    println!("cargo::rustc-env=PORTOLAN_COMMIT_DATE={}", text(date));
    println!("cargo::rerun-if-changed=build.rs");
    // A new commit appends to the log of HEAD, in a linked work tree, too.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

fn text(value: Option<String>) -> String {
    value.unwrap_or_else(|| "unknown".to_owned())
}

fn given(variable: &str) -> Option<String> {
    println!("cargo::rerun-if-env-changed={variable}");
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

/// The one line that git answers, or nothing when there is no git, no repository or no commit.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}
