//! How answers leave the program: tables, JSON, YAML, colour, and a pipe that may be closed at any time.

mod age;
mod controls;
pub(crate) mod prose;
pub(crate) mod table;
pub(crate) mod terminal;

use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Serialize;
use tokio::sync::oneshot;

pub(crate) use age::{age, whole_second};

use crate::shell;
use controls::{escaped_json, without_controls};
use table::ELLIPSIS;

/// `-o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people; on a terminal they fit it
    #[default]
    Table,
    /// The same with every column in full, however wide
    Wide,
    /// JSON for programs
    Json,
    /// The same as YAML
    Yaml,
}

impl Format {
    /// The answer in this format. `people` renders it for a width: that of the terminal, or none when everything is to
    /// be shown.
    pub(crate) fn render(
        self,
        value: &impl Serialize,
        people: impl Fn(Option<usize>) -> String,
    ) -> anyhow::Result<String> {
        match self {
            Format::Table => {
                let width = terminal::columns();
                let mut text = people(width);
                if width.is_some() && is_cut(&text, &people(None)) {
                    text.push_str("\nto see what is cut (…), add -o wide\n");
                }
                Ok(prose::wrapped(&shell::as_called(&without_controls(&text)), width))
            }
            Format::Wide => Ok(shell::as_called(&without_controls(&people(None))).into_owned()),
            Format::Json => json(value),
            Format::Yaml => yaml(value),
        }
    }
}

/// Whether something of the whole text was left out for want of room. What is left out always leaves an ellipsis.
fn is_cut(fitted: &str, whole: &str) -> bool {
    fitted.matches(ELLIPSIS).count() > whole.matches(ELLIPSIS).count()
}

/// Writes a complete answer to standard output. A reader that has seen enough is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    finish(anstream::stdout().lock(), text)
}

/// Writes one line of an answer that has no end. Whether anybody still reads.
pub(crate) fn print_line(line: &str) -> anyhow::Result<bool> {
    let mut stream = anstream::stdout().lock();
    match writeln!(stream, "{}", without_controls(line)).and_then(|()| stream.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(unwritable(error)),
    }
}

/// Returns when no process reads standard output any more, so that an answer without an end ends although there is
/// nothing to write. A file or a device has no reader that could go: then this never returns.
pub(crate) async fn closed() {
    let (gone, told) = oneshot::channel();
    // A thread of its own, which ends with the process: the runtime would need `unsafe` for a descriptor that it does not
    // own, and waits for its own threads when it stops.
    let waiting = std::thread::Builder::new().name("stdout".into()).spawn(move || {
        let stdout = io::stdout();
        // Asked for nothing, the system reports nothing but that the other end is gone.
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        while let Err(Errno::INTR) = poll(&mut watched, None) {}
        if watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            let _ = gone.send(());
        }
    });
    if waiting.is_err() || told.await.is_err() {
        std::future::pending().await
    }
}

/// Writes remarks to standard error, where a failure to write has no one to be told to. Wrapped on a terminal.
pub(crate) fn remark(text: &str) {
    let text = prose::wrapped(
        &shell::as_called(&without_controls(text)),
        terminal::columns_of_errors(),
    );
    let _ = finish(anstream::stderr().lock(), &text);
}

/// Prints sentences, wrapped on a terminal.
pub(crate) fn say(text: &str) -> anyhow::Result<()> {
    print(&prose::wrapped(
        &shell::as_called(&without_controls(text)),
        terminal::columns(),
    ))
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

/// A value as JSON in one line, without a line end.
pub(crate) fn json_line(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(escaped_json(serde_json::to_string(value)?))
}

/// A value as JSON, indented, with a line end.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<String> {
    let mut text = escaped_json(serde_json::to_string_pretty(value)?);
    text.push('\n');
    Ok(text)
}

/// A value as YAML.
pub(crate) fn yaml(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_saphyr::to_string(value)?)
}
