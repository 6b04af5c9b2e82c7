//! Reading manifests: from paths to typed objects, or to a list of everything that is wrong.
//!
//! ```text
//! paths ─► sources (files, directories, standard input)
//!       ─► documents (YAML or JSON, several in a file, lists taken apart)
//!       ─► objects (kind, spelling, schema, defaults, types)
//!       ─► manifests (one object a kind, namespace and name)
//! ```
//!
//! Nothing is judged that the engine judges: a selector that cannot be evaluated is read as it is. Nothing here
//! panics or takes more memory than a small multiple of the input, whatever the input is.

mod apply;
mod built_in;
mod check;
mod document;
mod finding;
mod kind;
mod manifests;
mod normal;
mod place;
mod problem;
mod rules;
mod source;
mod tree;
mod works;
mod written;

use std::path::{Path, PathBuf};

use portolan_api::FieldError;
use portolan_api::count::counted;

use crate::progress::Progress;

pub(crate) use built_in::add_built_in_sets;
pub(crate) use check::severity;
pub(crate) use finding::{Finding, Severity};
pub(crate) use kind::{Reference, parse_reference};
pub(crate) use manifests::Key;
pub use manifests::Manifests;
pub use place::Place;
pub use problem::{Notes, Problem, Problems};

/// Reads every path. `-` stands for standard input, a directory for the manifests in and below it.
pub(crate) fn read(paths: &[PathBuf], notes: &mut Notes) -> Result<Manifests, Problems> {
    read_paths(paths, None, notes)
}

/// Reads every path as `kubectl apply` would leave it on a hub that has `there`: what a manifest does not say stays as
/// it is, its status above all.
pub(crate) fn read_over(
    there: &Manifests,
    paths: &[PathBuf],
    notes: &mut Notes,
) -> Result<Manifests, Problems> {
    let read = read_paths(paths, Some(there), notes)?;
    read.keys()
        .for_each(|key| notes.replace_unreadable(&key.to_string()));
    Ok(read)
}

/// Reads the one document of a file that is no manifest. `-` stands for standard input. In a folder, and in a file with several
/// documents, it is the one that has no kind: manifests may stand beside it.
pub(crate) fn read_document(path: &Path) -> Result<(Place, serde_json::Value), Problems> {
    let mut problems = Problems::default();
    let mut documents = Vec::new();
    let is_folder = path.is_dir();
    for source in source::find(&[path.to_owned()], &mut problems) {
        let parsed = match source.read() {
            Ok(text) => document::parse(source.name(), &text),
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        for document in parsed {
            match document {
                Ok(document) if is_folder && document.value.get("kind").is_some() => {}
                Ok(document) => documents.push((source.name().to_owned(), document)),
                Err(problem) => problems.push(problem),
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let all = documents.len();
    if all > 1 {
        documents.retain(|(_, document)| document.value.get("kind").is_none());
    }
    let what = match documents.as_slice() {
        [] if all > 1 => format!(
            "it has {all} manifests and no description of a rollout; accepted: one document without a kind, in YAML or JSON, as \
             `portolan rollout plan --help` shows; for a rollout on a hub use `portolan rollout status NS/NAME`"
        ),
        [_] => {
            let (_, document) = documents.remove(0);
            return Ok((document.place, document.value));
        }
        [] if is_folder => {
            "this folder has no description of a rollout, only manifests; accepted: a file or a folder that has one \
             document without a kind, in YAML or JSON, as `portolan rollout plan --help` shows"
                .to_owned()
        }
        [(first, _), (second, _), ..] if is_folder => format!(
            "there are {} without a kind in this folder; accepted: one of the files, such as -f {first} or -f {second}",
            counted(documents.len(), "document")
        ),
        documents => {
            let count = counted(documents.len(), "document");
            format!("there are {count} without a kind in it; accepted: one, in YAML or JSON")
        }
    };
    Err(Problem::of_source(&path.display().to_string(), what).into())
}

/// Everything that is wrong with the fields of such a document.
pub(crate) fn refuse_document(place: &Place, errors: &[FieldError]) -> Problems {
    let mut problems = Problems::default();
    errors
        .iter()
        .for_each(|error| problems.push(Problem::of_field(place, "", error)));
    problems
}

/// Reads what an API server gave. One unreadable object must not hide all others, so it is left out with a note.
pub(crate) fn read_live(
    server: &str,
    objects: impl IntoIterator<Item = serde_json::Value>,
    notes: &mut Notes,
) -> Manifests {
    let mut manifests = Manifests::default();
    let place = Place::live(server);
    for value in objects {
        let mut problems = Problems::default();
        // What a server has accepted needs no advice on spelling.
        let read = check::object(&place, value, &mut Notes::default(), &mut problems);
        match problems.of_object() {
            Some((object, why)) => {
                let findings = problems.findings().unwrap_or_default();
                notes.add_unreadable(object.to_owned(), why, findings);
            }
            None => problems
                .iter()
                .for_each(|problem| notes.remark(format!("left out: {problem}"))),
        }
        if let Some((key, object)) = read
            && let Err(problem) = manifests.add(key, object, place.clone())
        {
            notes.remark(format!("left out: {problem}"));
        }
    }
    manifests.unreadable = notes.unreadable();
    manifests
}

fn read_paths(paths: &[PathBuf], over: Option<&Manifests>, notes: &mut Notes) -> Result<Manifests, Problems> {
    let mut reader = Reader {
        manifests: Manifests::default(),
        over,
        notes,
        problems: Problems::default(),
    };
    let sources = source::find(paths, &mut reader.problems);
    let mut progress = Progress::new("files read", sources.len());
    let mut documents = 0;
    let mut empty = Vec::new();
    for source in sources {
        match source.read() {
            Ok(text) => match reader.read_text(source.name(), &text) {
                0 => empty.push(source.name().to_owned()),
                found => documents += found,
            },
            Err(problem) => reader.problems.push(problem),
        }
        progress.advance();
    }
    drop(progress);
    if documents == 0 && reader.problems.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        reader.problems.push(Problem::of_source(
            &names.join(", "),
            "there is no object in it; accepted: manifests in YAML or JSON, in files ending in .yaml, .yml or .json",
        ));
    } else {
        empty.iter().for_each(|name| reader.notes.add_empty(name));
    }
    reader.finish()
}

/// Reads manifests that are already in memory. `name` stands for the file in errors.
pub fn read_bytes(name: &str, bytes: Vec<u8>) -> Result<Manifests, Problems> {
    let mut notes = Notes::default();
    let mut reader = Reader {
        manifests: Manifests::default(),
        over: None,
        notes: &mut notes,
        problems: Problems::default(),
    };
    match source::decode(name, bytes) {
        Ok(text) => drop(reader.read_text(name, &text)),
        Err(problem) => reader.problems.push(problem),
    }
    reader.finish()
}

/// What has been read so far.
struct Reader<'a> {
    manifests: Manifests,
    /// What manifests are applied over.
    over: Option<&'a Manifests>,
    notes: &'a mut Notes,
    problems: Problems,
}

impl Reader<'_> {
    /// Reads all documents of a text; the number of those that are not empty.
    fn read_text(&mut self, name: &str, text: &str) -> usize {
        let mut found = 0;
        for document in document::parse(name, text) {
            found += 1;
            match document {
                Ok(document) => self.read_value(document.place, document.value),
                Err(problem) => self.problems.push(problem),
            }
        }
        found
    }

    fn read_value(&mut self, place: Place, value: serde_json::Value) {
        for (place, mut value) in kind::take_lists_apart(place, value, self.notes, &mut self.problems) {
            if let Some(there) = self.over {
                if value
                    .get("status")
                    .is_some_and(|status| *status != serde_json::json!({}))
                {
                    let message = "status is left out, as kubectl apply leaves it out: a hub takes the status of an object from the \
                                   controllers and agents that report it";
                    self.notes.add(&place, message);
                }
                value = apply::over(there, value);
            }
            let Some((key, object)) = check::object(&place, value, self.notes, &mut self.problems) else {
                continue;
            };
            if let Err(problem) = self.manifests.add(key, object, place) {
                self.problems.push(problem);
            }
        }
    }

    fn finish(self) -> Result<Manifests, Problems> {
        if self.problems.is_empty() {
            Ok(self.manifests)
        } else {
            Err(self.problems)
        }
    }
}
