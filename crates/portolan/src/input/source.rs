//! Files, directories and standard input.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::problem::{Problem, Problems};

/// The largest file that is read. A hundred thousand clusters take about half of it.
const MAX_BYTES: u64 = 1 << 30;
/// Endings of the files that are read in a directory.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Something to read.
#[derive(Debug)]
pub(super) enum Source {
    Stdin,
    File { path: PathBuf, name: String },
}

/// All sources of the given paths: directories in sorted order, recursively.
pub(super) fn find(paths: &[PathBuf], problems: &mut Problems) -> Vec<Source> {
    let mut walk = Walk {
        found: Vec::new(),
        seen: HashSet::new(),
        problems,
    };
    let mut stdin = false;
    for path in paths {
        if path.as_os_str() != "-" {
            walk.path(path);
        } else if !std::mem::replace(&mut stdin, true) {
            walk.found.push(Source::Stdin);
        }
    }
    walk.found
}

struct Walk<'a> {
    found: Vec<Source>,
    /// Directories already read, so that links neither go round in circles nor bring files twice.
    seen: HashSet<PathBuf>,
    problems: &'a mut Problems,
}

impl Walk<'_> {
    fn path(&mut self, path: &Path) {
        match fs::metadata(path) {
            Err(error) => self
                .problems
                .push(Problem::of_source(&path.display().to_string(), error)),
            Ok(metadata) if metadata.is_dir() => self.directory(path),
            Ok(_) => {
                let name = path.display().to_string();
                self.found.push(Source::File {
                    path: path.to_owned(),
                    name,
                });
            }
        }
    }

    fn directory(&mut self, path: &Path) {
        let (real, entries) = match (fs::canonicalize(path), list(path)) {
            (Ok(real), Ok(entries)) => (real, entries),
            (Err(error), _) | (_, Err(error)) => {
                return self
                    .problems
                    .push(Problem::of_source(&path.display().to_string(), error));
            }
        };
        if !self.seen.insert(real) {
            return;
        }
        for entry in entries.iter().filter(|entry| !is_hidden(entry)) {
            // Only what is named on the command line may be a pipe: one found on the way would block for good.
            if entry.is_dir() || (has_known_extension(entry) && !is_special(entry)) {
                self.path(entry);
            }
        }
    }
}

fn list(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    Ok(entries)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// A pipe, a socket or a device. A link to nowhere is none of these: opening it says what is wrong.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

fn has_known_extension(path: &Path) -> bool {
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| EXTENSIONS.contains(&ending))
}

impl Source {
    pub(super) fn name(&self) -> &str {
        match self {
            Source::Stdin => "standard input",
            Source::File { name, .. } => name,
        }
    }

    pub(super) fn read(&self) -> Result<String, Problem> {
        let failed = |error: std::io::Error| Problem::of_source(self.name(), error);
        let bytes = match self {
            Source::Stdin => read_bounded(std::io::stdin().lock()),
            Source::File { path, .. } => File::open(path).and_then(read_bounded),
        }
        .map_err(failed)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Problem::of_source(
                self.name(),
                format!("too large; accepted: at most {MAX_BYTES} bytes"),
            ));
        }
        decode(self.name(), bytes)
    }
}

/// One byte more than is allowed tells a file that fits from one that does not.
fn read_bounded(source: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text in the bytes, without a byte order mark.
pub(super) fn decode(name: &str, bytes: Vec<u8>) -> Result<String, Problem> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        Problem::of_content(
            name,
            format!("not UTF-8 text at byte {at} (line {line}); accepted: UTF-8"),
        )
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}
