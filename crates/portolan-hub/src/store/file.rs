//! The data file: one redb database with a table of objects and the revision counter, changed in the same transaction.
//!
//! A record is a checksum, the revision, the marks and the JSON text. Everything is read and checked when the file is opened; what
//! does not read back is reported with its key, and the file stays as it is.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition};

use super::error::OpenError;
use super::guarded::guarded;
use super::key::Key;
use super::object::{Marks, Stored};
use super::state::Event;

const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const REVISION: &str = "revision";
const FORMAT: &str = "format";
const KNOWN_FORMAT: u64 = 2;
const FILE_NAME: &str = "hub.redb";
const HEADER: usize = 16 + Marks::SIZE;
/// Pages that redb keeps in memory. All objects are in memory already; this is for the inner pages and one commit.
const CACHE: usize = 8 << 20;

/// An open data file. Only the committing thread writes to it.
#[derive(Debug)]
pub(super) struct File {
    database: Database,
}

/// What was in the file.
pub(super) struct Loaded {
    pub(super) objects: BTreeMap<Key, Arc<Stored>>,
    pub(super) revision: u64,
}

impl File {
    /// Opens the file in `folder`, or makes a new one if there is none.
    pub(super) fn open(folder: &Path) -> Result<(Self, Loaded), OpenError> {
        let path = folder.join(FILE_NAME);
        let io = |source| OpenError::Io {
            path: path.clone(),
            source,
        };
        std::fs::create_dir_all(folder).map_err(io)?;
        let exists = path.try_exists().map_err(io)?;
        if exists && path.metadata().map_err(io)?.len() == 0 {
            return Err(OpenError::Damaged {
                path,
                detail: "it is empty".into(),
            });
        }
        let open = || {
            let database = match exists {
                true => reopen(&path)?,
                false => create(folder, &path)?,
            };
            let file = Self { database };
            let loaded = file.load(&path)?;
            Ok((file, loaded))
        };
        // redb panics where pages are not what their parents say.
        guarded(open).unwrap_or_else(|detail| {
            Err(OpenError::Damaged {
                path: path.clone(),
                detail,
            })
        })
    }

    /// The file on a disk that a test made up.
    #[cfg(test)]
    pub(super) fn on(disk: impl redb::StorageBackend) -> Result<(Self, Loaded), OpenError> {
        let path = Path::new("simulated");
        let new = disk.len().is_ok_and(|length| length == 0);
        let database = Database::builder()
            .create_with_backend(disk)
            .map_err(|error| open_error(path, error))?;
        if new {
            initialise(&database).map_err(|error| OpenError::Damaged {
                path: path.to_path_buf(),
                detail: error.to_string(),
            })?;
        }
        let file = Self { database };
        let loaded = file.load(path)?;
        Ok((file, loaded))
    }

    /// Commits the events and syncs them to disk.
    pub(super) fn commit(&self, events: &[Arc<Event>]) -> Result<(), redb::Error> {
        let Some(last) = events.last() else { return Ok(()) };
        let transaction = self.database.begin_write()?;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            for event in events {
                let key = event.object.key().as_str();
                if event.deleted {
                    objects.remove(key)?;
                } else {
                    let size = HEADER + event.object.bytes().len();
                    encode(&event.object, objects.insert_reserve(key, size)?.as_mut());
                }
            }
            transaction.open_table(NUMBERS)?.insert(REVISION, last.revision)?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn load(&self, path: &Path) -> Result<Loaded, OpenError> {
        let damaged = |error: redb::Error| OpenError::Damaged {
            path: path.to_path_buf(),
            detail: error.to_string(),
        };
        let numbers = self.numbers().map_err(damaged)?;
        let [found, revision] = numbers;
        if found != KNOWN_FORMAT {
            return Err(OpenError::Format {
                path: path.to_path_buf(),
                found,
                known: KNOWN_FORMAT,
            });
        }
        let mut objects = BTreeMap::new();
        self.each_record(|key, record| {
            let object = decode(key, record).and_then(|object| match object.revision() <= revision {
                true => Ok(object),
                false => Err(format!(
                    "its revision {} is after the counter {revision}",
                    object.revision()
                )),
            });
            let object = object.map_err(|detail| OpenError::Damaged {
                path: path.to_path_buf(),
                detail: format!("record {key:?}: {detail}"),
            })?;
            objects.insert(object.key().clone(), Arc::new(object));
            Ok(())
        })
        .map_err(damaged)??;
        Ok(Loaded { objects, revision })
    }

    fn numbers(&self) -> Result<[u64; 2], redb::Error> {
        let transaction = self.database.begin_read()?;
        let numbers = transaction.open_table(NUMBERS)?;
        let read =
            |name| -> Result<u64, redb::Error> { Ok(numbers.get(name)?.map_or(0, |value| value.value())) };
        Ok([read(FORMAT)?, read(REVISION)?])
    }

    /// One at a time: a second copy of everything would stay in the heap.
    fn each_record(
        &self,
        mut each: impl FnMut(&str, &[u8]) -> Result<(), OpenError>,
    ) -> Result<Result<(), OpenError>, redb::Error> {
        let transaction = self.database.begin_read()?;
        for entry in transaction.open_table(OBJECTS)?.iter()? {
            let (key, record) = entry?;
            if let Err(error) = each(key.value(), record.value()) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }
}

/// Makes a new file under another name and renames it, so that a crash half way leaves no file rather than one without
/// tables, which would read as damaged.
fn create(folder: &Path, path: &Path) -> Result<Database, OpenError> {
    let damaged = |error: redb::Error| OpenError::Damaged {
        path: path.to_path_buf(),
        detail: error.to_string(),
    };
    let io = |source| OpenError::Io {
        path: path.to_path_buf(),
        source,
    };
    let draft: PathBuf = folder.join(format!("{FILE_NAME}.new"));
    if draft.try_exists().map_err(io)? {
        std::fs::remove_file(&draft).map_err(io)?;
    }
    {
        let database = Database::create(&draft).map_err(|error| open_error(path, error))?;
        initialise(&database).map_err(damaged)?;
        // Secrets will be in it.
        std::fs::set_permissions(&draft, Permissions::from_mode(0o600)).map_err(io)?;
    }
    std::fs::rename(&draft, path).map_err(io)?;
    std::fs::File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(io)?;
    reopen(path)
}

fn reopen(path: &Path) -> Result<Database, OpenError> {
    Database::builder()
        .set_cache_size(CACHE)
        .open(path)
        .map_err(|error| open_error(path, error))
}

fn initialise(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        transaction.open_table(OBJECTS)?;
        let mut numbers = transaction.open_table(NUMBERS)?;
        numbers.insert(FORMAT, KNOWN_FORMAT)?;
        numbers.insert(REVISION, 1)?;
    }
    transaction.commit()?;
    Ok(())
}

fn open_error(path: &Path, error: DatabaseError) -> OpenError {
    let path = path.to_path_buf();
    match error {
        DatabaseError::DatabaseAlreadyOpen => OpenError::Locked { path },
        DatabaseError::Storage(StorageError::Io(source))
            if source.kind() != std::io::ErrorKind::InvalidData =>
        {
            OpenError::Io { path, source }
        }
        other => OpenError::Damaged {
            path,
            detail: other.to_string(),
        },
    }
}

/// Writes a record into a place of its size.
fn encode(object: &Stored, record: &mut [u8]) {
    let (sum, rest) = record.split_at_mut(8);
    rest[..8].copy_from_slice(&object.revision().to_le_bytes());
    rest[8..8 + Marks::SIZE].copy_from_slice(&object.marks().to_bytes());
    rest[8 + Marks::SIZE..].copy_from_slice(object.bytes());
    sum.copy_from_slice(&checksum(rest).to_le_bytes());
}

fn decode(key: &str, record: &[u8]) -> Result<Stored, String> {
    let key = Key::parse(key).ok_or("the key has not four parts")?;
    let (sum, rest) = record.split_first_chunk::<8>().ok_or("it is cut short")?;
    if checksum(rest) != u64::from_le_bytes(*sum) {
        return Err("the checksum does not match".into());
    }
    let (revision, rest) = rest.split_first_chunk::<8>().ok_or("it is cut short")?;
    let (marks, text) = rest.split_first_chunk().ok_or("it is cut short")?;
    let marks = Marks::from_bytes(marks, text.len()).ok_or("its marks are beyond its end")?;
    let text = Bytes::copy_from_slice(text);
    Ok(Stored::new(key, u64::from_le_bytes(*revision), text, marks))
}

/// FNV-1a with eight bytes a step, and its length. It finds damage, not forgery, and is a dozen lines less than a
/// dependency.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .fold(0xcbf2_9ce4_8422_2325 ^ bytes.len() as u64, step);
    rest.iter().map(|byte| u64::from(*byte)).fold(hash, step)
}
