//! What a command is given to work on: files, the live hub, or files applied over the live hub.

use crate::cli::InputArgs;
use portolan_api::spelling;

use crate::input::{self, Manifests, Notes, Problem};
use crate::live::{Extent, Session};

/// The objects, and where they are from.
pub(crate) struct Given {
    /// What is there.
    pub(crate) before: Manifests,
    /// What would be there after the files were applied to the hub, when both are given.
    pub(crate) applied: Option<Manifests>,
    /// The hub, when one was read.
    pub(crate) hub: Option<Session>,
}

impl Given {
    /// Where the objects are from, for the end of a sentence: `in the input`, `on https://…`.
    pub(crate) fn place(&self) -> String {
        match (&self.hub, &self.applied) {
            (None, _) => "in the input".to_owned(),
            (Some(hub), None) => format!("on {}", hub.url()),
            (Some(hub), Some(_)) => format!("on {} or in the files", hub.url()),
        }
    }
}

/// How many names a message lists.
const LISTED_NAMES: usize = 10;

/// The error about a name that does not exist: `kind` and `name` as the user knows them, `place` from [`Given::place`],
/// and the names that exist.
pub(crate) fn missing(
    kind: &str,
    name: &str,
    place: &str,
    names: impl IntoIterator<Item = String>,
) -> Problem {
    let names: Vec<String> = names.into_iter().collect();
    let there = match (
        spelling::did_you_mean(name, names.iter().map(String::as_str)),
        names.len(),
    ) {
        (Some(meant), _) => format!("did you mean {meant}?"),
        (None, 0) => format!("there is no {kind} at all"),
        (None, count) if count > LISTED_NAMES => format!(
            "there are: {} and {} more",
            names[..LISTED_NAMES].join(", "),
            count - LISTED_NAMES
        ),
        (None, _) => format!("there are: {}", names.join(", ")),
    };
    Problem::of_arguments(format!("there is no {kind} {name} {place}; {there}"))
}

/// Reads files alone when only files are named, and the hub otherwise, as far as `extent` says.
pub(crate) fn read(args: &InputArgs, extent: Extent, notes: &mut Notes) -> anyhow::Result<Given> {
    if !args.file.is_empty() && !args.connect.is_given() {
        return Ok(Given {
            before: input::read(&args.file, notes)?,
            applied: None,
            hub: None,
        });
    }
    let hub = Session::new(&args.connect)?;
    let before = hub.read(extent, args.inventory, notes)?;
    let applied = match args.file.as_slice() {
        [] => None,
        files => {
            let change = input::read_over(&before, files, notes)?;
            let mut applied = before.clone();
            applied.overlay(change);
            Some(applied)
        }
    };
    Ok(Given {
        before,
        applied,
        hub: Some(hub),
    })
}
