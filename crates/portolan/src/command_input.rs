//! What a command is given to work on: files, the live hub, or files applied over the live hub.

use std::path::PathBuf;

use jiff::Timestamp;
use portolan_api::spelling;

use crate::input::{self, Manifests, Notes, Problem};
use crate::live::{Extent, Namespaces, Session};
use crate::object_name::{DEFAULT_NAMESPACE, listed};
use crate::world::Inventory;
use crate::{clock, live};

/// Where objects come from and how they are read: the same for every command that reads them.
#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// Manifests in YAML or JSON: files, directories (read recursively), or - for standard input. Without it the live
    /// hub is read; with --kubeconfig or --context as well, the manifests are applied over what is live
    #[arg(short, long, value_name = "PATH", num_args = 1..)]
    pub(crate) file: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) connect: live::ConnectArgs,

    /// The time to evaluate at, in RFC 3339 [default: now]
    #[arg(long, value_name = "TIME", value_parser = clock::parse)]
    pub(crate) now: Option<Timestamp>,

    /// Which objects are the clusters
    #[arg(long, value_enum, default_value_t)]
    pub(crate) inventory: Inventory,
}

/// The objects, and where they are from.
pub(crate) struct CommandInput {
    /// What is there.
    pub(crate) before: Manifests,
    /// What would be there after the files were applied to the hub, when both are given.
    pub(crate) applied: Option<Manifests>,
    /// The hub, when one was read.
    pub(crate) hub: Option<Session>,
}

impl CommandInput {
    /// The namespace of a name that brings none.
    pub(crate) fn namespace(&self) -> &str {
        self.hub.as_ref().map_or(DEFAULT_NAMESPACE, Session::namespace)
    }

    /// Where the objects are from, for the end of a sentence: `in the input`, `on https://…`.
    pub(crate) fn place(&self) -> String {
        match (&self.hub, &self.applied) {
            (None, _) => "in the input".to_owned(),
            (Some(hub), None) => format!("on {}", hub.url()),
            (Some(hub), Some(_)) => format!("on {} or in the files", hub.url()),
        }
    }
}

/// The error about a name without a namespace that does not exist: `kind` and `name` as the user knows them, `place` from [`CommandInput::place`],
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
        (None, _) => format!("there are: {}", listed(&names)),
    };
    Problem::of_arguments(format!("there is no {kind} {name} {place}; {there}"))
}

/// Reads files alone when only files are named, and the hub otherwise, as far as `extent` says. `namespaces` are those that
/// the answer is about.
pub(crate) fn read(
    args: &InputArgs,
    extent: Extent,
    namespaces: Namespaces<'_>,
    notes: &mut Notes,
) -> anyhow::Result<CommandInput> {
    if !args.file.is_empty() && !args.connect.is_given() {
        let mut before = input::read(&args.file, notes)?;
        input::add_built_in_sets(&mut before, notes);
        // ClusterProfiles need none.
        let needs_binding =
            args.inventory.resolve(&before) == portolan_engine::fleet::Inventory::ManagedClusters;
        if needs_binding
            && before.bindings().next().is_none()
            && std::env::var_os("KUBECONFIG").is_some_and(|set| !set.is_empty())
        {
            notes.remark(
                "the files have no ManagedClusterSetBinding, and the hub of $KUBECONFIG is not read beside files; \
                 --kubeconfig FILE applies them over a hub"
                    .to_owned(),
            );
        }
        return Ok(CommandInput {
            before,
            applied: None,
            hub: None,
        });
    }
    let hub = Session::new(&args.connect)?;
    let before = hub.read(extent, namespaces, args.inventory, notes)?;
    let applied = match args.file.as_slice() {
        [] => None,
        files => {
            let change = input::read_over(&before, files, notes)?;
            hub.note_missing_namespaces(&change, notes)?;
            let mut applied = before.clone();
            applied.overlay(change);
            Some(applied)
        }
    };
    Ok(CommandInput {
        before,
        applied,
        hub: Some(hub),
    })
}
