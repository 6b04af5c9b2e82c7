//! How answers leave the program: tables, JSON, YAML, colour, and a pipe that may be closed at any time.

mod age;
pub(crate) mod table;

use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;
use serde::Serialize;

pub(crate) use age::age;

/// `-o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people
    #[default]
    Table,
    /// JSON for programs
    Json,
    /// The same as YAML
    Yaml,
}

/// Writes a complete answer to standard output. A reader that has seen enough is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    finish(anstream::stdout().lock(), text)
}

/// Writes one line of an answer that has no end. Whether anybody still reads.
pub(crate) fn print_line(line: &str) -> anyhow::Result<bool> {
    let mut stream = anstream::stdout().lock();
    match writeln!(stream, "{line}").and_then(|()| stream.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(unwritable(error)),
    }
}

/// Writes remarks to standard error, where a failure to write has no one to be told to.
pub(crate) fn remark(text: &str) {
    let _ = finish(anstream::stderr().lock(), text);
}

fn finish(mut stream: impl Write, text: &str) -> anyhow::Result<()> {
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritable(error)),
        _ => Ok(()),
    }
}

fn unwritable(error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context("cannot write the answer to standard output")
}

/// A value as JSON, indented, with a line end.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

/// A value as YAML.
pub(crate) fn yaml(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_saphyr::to_string(value)?)
}
