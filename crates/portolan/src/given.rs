//! What a command is given to work on: files, the live hub, or files applied over the live hub.

use crate::cli::InputArgs;
use crate::input::{self, Manifests, Notes};
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
