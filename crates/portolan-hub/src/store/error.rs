//! What can go wrong in the store.

use std::path::{Display, Path, PathBuf};

use super::key::Key;

/// Opening the data file failed. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or file cannot be used.
    #[error("open the hub's data {}: cannot create or read it", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is in use by another process.
    #[error("open the hub's data: another process has the folder {} open", folder(path))]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a hub's data file, or parts of it do not read back.
    #[error(
        "open the hub's data {}: the file is damaged ({detail}); it was left as it is: restore a copy, or move it \
         away to start empty",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which part, and how.
        detail: String,
    },
    /// The file was written by a newer version.
    #[error("open the hub's data {}: format {found} is not known, this version reads {known}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format in the file.
        found: u64,
        /// The format this version reads.
        known: u64,
    },
}

/// People name the data by its folder.
fn folder(file: &Path) -> Display<'_> {
    file.parent().unwrap_or(file).display()
}

/// A write was refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WriteError {
    #[error("{0:?} exists already")]
    Exists(Key),
    #[error("{0:?} does not exist")]
    Missing(Key),
    #[error("{key:?} is at revision {current}, not at {expected}")]
    Conflict { key: Key, expected: u64, current: u64 },
    /// What is stored has a limit.
    #[error(
        "{place} stores at most {limit} bytes, and this write would add beyond that; delete objects, or start the hub \
         with a higher limit"
    )]
    Full { place: String, limit: u64 },
    /// Roles and bindings of a namespace have a limit of their own.
    #[error(
        "the namespace {namespace} stores at most {limit} bytes of roles and bindings, and this write would add beyond that; \
         delete some of them"
    )]
    FullOfRoles { namespace: String, limit: u64 },
    /// One object has a limit too.
    #[error(
        "the object would have {size} bytes with this write, and at most {limit} are stored of one object"
    )]
    TooLarge { size: i64, limit: i64 },
    /// Not known to be on disk. After this every write is refused until the hub is started again.
    #[error("the data file could not be written: {0}")]
    Failed(String),
}

/// The revision asked for is older than what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("revision {asked} was compacted; the oldest that can be continued from is {oldest}")]
pub(crate) struct Compacted {
    pub(crate) asked: u64,
    pub(crate) oldest: u64,
}
