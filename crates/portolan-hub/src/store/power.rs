//! Power loss, on a disk that is simulated: what was synced stays, and of what was written since any part may be there
//! and any part missing, down to single sectors. Whatever is left must open with every commit that had returned.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use proptest::prelude::*;
use redb::StorageBackend;
use serde_json::json;

use super::file::File;
use super::state::State;
use super::{Change, Expect, History, Key, Write};

const HISTORY: History = History {
    events: 50,
    bytes: 1 << 20,
};
/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// The simulated disk; clones share it.
#[derive(Clone)]
struct Disk(Arc<Mutex<Media>>);

#[derive(Default)]
struct Media {
    /// What the process sees.
    now: Vec<u8>,
    /// What a power loss leaves for certain.
    synced: Vec<u8>,
    /// What happened since, in order.
    unsynced: Vec<Operation>,
    /// Says that it synced, and did not.
    lies: bool,
    random: u64,
    commits: usize,
    /// What power losses at random moments left, each with the number of commits that had returned by then.
    images: Vec<(usize, Vec<u8>)>,
}

enum Operation {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Disk {
    fn new(seed: u64, lies: bool) -> Self {
        Self(Arc::new(Mutex::new(Media {
            // The generator stays at zero if it starts there.
            random: seed | 1,
            lies,
            ..Media::default()
        })))
    }

    fn holding(image: Vec<u8>) -> Self {
        let disk = Self::new(1, false);
        disk.lock().now = image;
        disk
    }

    fn lock(&self) -> MutexGuard<'_, Media> {
        self.0.lock().unwrap()
    }
}

impl Media {
    /// Xorshift: a test needs variety, not secrecy.
    fn one_in(&mut self, n: u64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.is_multiple_of(n)
    }

    fn lose_power(&mut self) {
        let mut image = self.synced.clone();
        let unsynced = std::mem::take(&mut self.unsynced);
        for operation in &unsynced {
            match operation {
                Operation::Length(length) if self.one_in(2) => image.resize(*length, 0),
                Operation::Length(_) => {}
                Operation::Write(offset, data) => {
                    for (n, sector) in data.chunks(SECTOR).enumerate() {
                        if self.one_in(2) {
                            put(&mut image, offset + n * SECTOR, sector);
                        }
                    }
                }
            }
        }
        self.unsynced = unsynced;
        self.images.push((self.commits, image));
    }
}

fn put(image: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(data);
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Disk")
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.lock().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let offset = usize::try_from(offset).unwrap();
        let media = self.lock();
        let found = media.now.get(offset..offset + out.len());
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> Result<(), io::Error> {
        let length = usize::try_from(length).unwrap();
        let mut media = self.lock();
        media.now.resize(length, 0);
        media.unsynced.push(Operation::Length(length));
        Ok(())
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        let mut media = self.lock();
        // The moment before a sync is where the most is at stake.
        media.lose_power();
        if !media.lies {
            media.synced = media.now.clone();
            media.unsynced.clear();
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        let offset = usize::try_from(offset).unwrap();
        let mut media = self.lock();
        put(&mut media.now, offset, data);
        media.unsynced.push(Operation::Write(offset, data.to_vec()));
        if media.one_in(8) {
            media.lose_power();
        }
        Ok(())
    }
}

type Objects = BTreeMap<String, (u64, u64)>;

/// Commits batches of (name, data) to a new file on the disk; data of 0 deletes. Returns the states after each commit.
fn write(disk: &Disk, batches: &[Vec<(u8, u16)>]) -> Vec<(u64, Objects)> {
    let (file, loaded) = File::on(disk.clone()).unwrap();
    {
        // A new file is made under another name and renamed when it is whole; power losses count from there.
        let mut media = disk.lock();
        media.images.clear();
        media.synced = media.now.clone();
        media.unsynced.clear();
    }
    let mut state = State::new(loaded.objects, loaded.revision, HISTORY);
    let mut model = Objects::new();
    let mut states = vec![(state.revision(), model.clone())];
    for batch in batches {
        let writes = batch.iter().map(|(name, data)| {
            let key = Key::new("", "configmaps", "default", &format!("o{name}"));
            let expect = state
                .get(key.as_str())
                .map_or(Expect::Absent, |object| Expect::Revision(object.revision()));
            let change = match data {
                0 => Change::Delete(json!({"metadata": {"name": key.name()}})),
                _ => Change::Put(
                    json!({"metadata": {"name": key.name()}, "data": data, "filler": "x".repeat((*data).into())}),
                ),
            };
            Write {
                key,
                expect,
                change,
            }
        });
        // Writes that do not fit the state are refused, as ever.
        let (events, _) = state.plan(writes.map(Write::draft).collect());
        file.commit(&events).unwrap();
        for event in &events {
            let name = event.object.key().name().to_owned();
            match event.deleted {
                true => model.remove(&name),
                false => {
                    let data = event.object.value()["data"].as_u64().unwrap();
                    model.insert(name, (event.revision, data))
                }
            };
        }
        state.publish(events);
        states.push((state.revision(), model.clone()));
        disk.lock().commits += 1;
    }
    states
}

/// What is wrong with an image, if anything: it must hold the state after the commits that had returned, or after the
/// one that was on its way.
fn verdict(image: Vec<u8>, commits: usize, states: &[(u64, Objects)]) -> Result<(), String> {
    let (_, loaded) = File::on(Disk::holding(image)).map_err(|error| error.to_string())?;
    let objects: Objects = loaded
        .objects
        .values()
        .map(|object| {
            let data = object.value()["data"].as_u64().unwrap();
            (object.key().name().to_owned(), (object.revision(), data))
        })
        .collect();
    let found = (loaded.revision, objects);
    let may_be = &states[commits..states.len().min(commits + 2)];
    match may_be.contains(&found) {
        true => Ok(()),
        false => Err(format!("after {commits} commits revision {} was found", found.0)),
    }
}

fn batches() -> impl Strategy<Value = Vec<Vec<(u8, u16)>>> {
    let write = (0..5_u8, prop_oneof![1 => Just(0), 4 => 1..3000_u16]);
    proptest::collection::vec(proptest::collection::vec(write, 1..4), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_power_loss_at_any_moment_leaves_every_commit_that_returned(batches in batches(), seed in any::<u64>()) {
        let disk = Disk::new(seed, false);
        let states = write(&disk, &batches);
        let images = std::mem::take(&mut disk.lock().images);
        prop_assert!(images.len() >= batches.len());
        for (commits, image) in images {
            let verdict = verdict(image, commits, &states);
            prop_assert!(verdict.is_ok(), "{}", verdict.unwrap_err());
        }
    }
}

/// The check above can fail: it does on a disk that says it synced and did not.
#[test]
fn a_disk_that_lies_is_found_out() {
    let disk = Disk::new(7, true);
    let states = write(&disk, &[vec![(0, 100)], vec![(1, 200)], vec![(2, 300)]]);
    let images = std::mem::take(&mut disk.lock().images);
    let wrong = images
        .into_iter()
        .filter(|(commits, image)| verdict(image.clone(), *commits, &states).is_err());
    assert!(wrong.count() > 0);
}
