//! The store: versions of objects under one revision counter, in memory, with an optional data file behind.
//!
//! A write is visible and answered only when it is on disk, and concurrent writes share one sync. Readers never wait for
//! the disk. The store knows keys and JSON text; what an object means is the server's business.

mod draft;
mod error;
mod field;
mod file;
mod follow;
mod guarded;
mod key;
mod limits;
mod object;
#[cfg(test)]
mod power;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, mpsc};

use tokio::sync::{oneshot, watch};

pub use error::OpenError;
pub(crate) use error::{Compacted, WriteError};
pub(crate) use follow::Follower;
pub(crate) use key::Key;
pub(crate) use limits::{LARGEST_OBJECT, LIMITS, Limits};
pub(crate) use object::{OwnerReference, Stored};
pub(crate) use state::{Change, Event, Expect, History, Write};

use file::File;
use follow::Followers;
use state::{Drafted, Outcome, State};

/// How many waiting writes one commit takes. It bounds how long the first of them waits for the others.
const BATCH: usize = 1024;

type Waiting = (Drafted, oneshot::Sender<Outcome>);

/// What the committing thread is asked.
#[derive(Debug)]
enum Job {
    Write(Waiting),
    /// Let go of the file, then tell.
    Close(oneshot::Sender<()>),
}

/// A handle on the store; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    shared: Arc<Shared>,
    writer: Writer,
}

#[derive(Debug)]
struct Shared {
    state: RwLock<State>,
    revision: watch::Sender<u64>,
    followers: Followers,
    /// How often the file was synced.
    commits: AtomicU64,
    /// Why no write can succeed any more.
    failure: watch::Sender<Option<String>>,
}

#[derive(Debug, Clone)]
enum Writer {
    /// In memory a write is decided where it is asked for.
    Inline(Arc<Mutex<()>>),
    /// With a file, one thread commits. It ends when the last handle is dropped.
    Thread(mpsc::Sender<Job>),
}

/// Objects as they were at one revision.
#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) objects: Vec<Arc<Stored>>,
    pub(crate) revision: u64,
}

impl Store {
    /// A store that forgets everything when it is dropped.
    pub(crate) fn in_memory(history: History) -> Self {
        let shared = Shared::new(State::new(BTreeMap::new(), 1, history));
        Self {
            shared,
            writer: Writer::Inline(Arc::default()),
        }
    }

    /// The store in `folder`, made if it is not there.
    pub(crate) fn open(folder: &Path, history: History) -> Result<Self, OpenError> {
        let (file, loaded) = File::open(folder)?;
        let shared = Shared::new(State::new(loaded.objects, loaded.revision, history));
        let (sender, jobs) = mpsc::channel();
        let committer = shared.clone();
        std::thread::Builder::new()
            .name("hub-store".into())
            .spawn(move || commit_loop(&committer, file, &jobs))
            .map_err(|source| OpenError::Io {
                path: folder.to_path_buf(),
                source,
            })?;
        Ok(Self {
            shared,
            writer: Writer::Thread(sender),
        })
    }

    /// Bounds what is stored from now on.
    pub(crate) fn limit(&self, limits: Limits) {
        let mut state = self.shared.state.write().unwrap_or_else(PoisonError::into_inner);
        state.limit(limits);
    }

    /// Why no write can succeed any more, once that is so.
    pub(crate) fn failure(&self) -> Option<String> {
        self.shared.failure.borrow().clone()
    }

    /// Waits until no write can succeed any more.
    pub(crate) async fn failed(&self) -> String {
        let mut failure = self.shared.failure.subscribe();
        loop {
            if let Some(why) = failure.borrow_and_update().clone() {
                return why;
            }
            // The sender lives as long as this store.
            if failure.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn fail(&self, why: &str) {
        self.shared.failure.send_replace(Some(why.to_owned()));
    }

    /// How many commits were made to the file since it was opened.
    pub(crate) fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    pub(crate) fn revision(&self) -> u64 {
        self.shared.read().revision()
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Stored>> {
        self.shared.read().get(key.as_str()).cloned()
    }

    /// The objects under a prefix, now.
    pub(crate) fn range(&self, prefix: &str) -> Range {
        let state = self.shared.read();
        Range {
            objects: state.range(prefix),
            revision: state.revision(),
        }
    }

    /// How many objects there are under a prefix.
    pub(crate) fn count(&self, prefix: &str) -> usize {
        self.shared.read().count(prefix)
    }

    /// The objects under a prefix, if there are no more than `most`.
    pub(crate) fn range_up_to(&self, prefix: &str, most: usize) -> Option<Range> {
        let state = self.shared.read();
        let objects = state.range_up_to(prefix, most)?;
        let revision = state.revision();
        Some(Range { objects, revision })
    }

    /// The objects under a prefix as they were at `revision`.
    pub(crate) fn range_at(&self, prefix: &str, revision: u64) -> Result<Range, Compacted> {
        let objects = self.shared.read().range_at(prefix, revision)?;
        Ok(Range { objects, revision })
    }

    /// Up to `limit` events under a prefix after `revision`, and the revision up to which nothing was left out.
    pub(crate) fn events(
        &self,
        prefix: &str,
        revision: u64,
        limit: usize,
    ) -> Result<(Vec<Arc<Event>>, u64), Compacted> {
        let state = self.shared.read();
        let mut events = Vec::new();
        for event in state.since(revision)? {
            if event.object.key().as_str().starts_with(prefix) {
                events.push(event.clone());
                if events.len() == limit {
                    return Ok((events, event.revision));
                }
            }
        }
        Ok((events, state.revision()))
    }

    /// Why the events after a revision cannot be told any more, if that is so.
    pub(crate) fn compacted(&self, revision: u64) -> Option<Compacted> {
        self.shared.read().since(revision).err()
    }

    /// Tells each new revision; values in between may be skipped.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.shared.revision.subscribe()
    }

    /// Commits one write. When this returns the write is on disk and visible.
    pub(crate) async fn write(&self, write: Write) -> Outcome {
        let write = write.draft();
        match &self.writer {
            Writer::Inline(turn) => {
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                let (events, mut results) = self.shared.read().plan(vec![write]);
                self.shared.publish(events);
                results.pop().unwrap_or_else(|| Err(stopped()))
            }
            Writer::Thread(jobs) => {
                let (sender, outcome) = oneshot::channel();
                jobs.send(Job::Write((write, sender))).map_err(|_| stopped())?;
                outcome.await.unwrap_or_else(|_| Err(stopped()))
            }
        }
    }
}

impl Store {
    /// Closes the file; later writes are refused. In memory nothing happens.
    pub(crate) async fn close(&self) {
        if let Writer::Thread(jobs) = &self.writer {
            let (sender, closed) = oneshot::channel();
            if jobs.send(Job::Close(sender)).is_ok() {
                // An error means that the thread has ended, and then the file is closed.
                let _ = closed.await;
            }
        }
    }
}

impl Shared {
    fn new(state: State) -> Arc<Self> {
        let (revision, _) = watch::channel(state.revision());
        Arc::new(Self {
            state: RwLock::new(state),
            revision,
            followers: Followers::default(),
            commits: AtomicU64::new(0),
            failure: watch::Sender::new(None),
        })
    }

    // A poisoned lock is taken anyway: every change under it is made of steps that cannot panic half way.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, events: Vec<Arc<Event>>) {
        let Some(last) = events.last().map(|event| event.revision) else {
            return;
        };
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let marked = self.followers.mark(&events);
        state.publish(events);
        drop(state);
        self.revision.send_replace(last);
        marked.iter().for_each(|mark| mark.wake());
    }
}

fn stopped() -> WriteError {
    WriteError::Failed("the store has stopped".into())
}

/// Takes what is waiting, decides it, syncs it once, shows it, answers. A failed commit may or may not have reached the
/// disk; going on would risk using its revisions twice, so everything after it is refused.
fn commit_loop(shared: &Shared, file: File, jobs: &mpsc::Receiver<Job>) {
    let mut failed: Option<WriteError> = None;
    let mut closing = None;
    while closing.is_none()
        && let Ok(first) = jobs.recv()
    {
        let mut batch = Vec::new();
        for job in std::iter::once(first).chain(jobs.try_iter()) {
            match job {
                Job::Write(write) => batch.push(write),
                Job::Close(closed) => closing = Some(closed),
            }
            if closing.is_some() || batch.len() == BATCH {
                break;
            }
        }
        commit(shared, &file, batch, &mut failed);
    }
    drop(file);
    if let Some(closed) = closing {
        let _ = closed.send(());
    }
}

fn commit(shared: &Shared, file: &File, batch: Vec<Waiting>, failed: &mut Option<WriteError>) {
    let (writes, senders): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
    if let Some(error) = failed {
        return answer(senders, std::iter::repeat_with(|| Err(error.clone())));
    }
    let (events, results) = shared.read().plan(writes);
    match file.commit(&events) {
        Ok(()) => {
            shared.commits.fetch_add(1, Ordering::Relaxed);
            shared.publish(events);
            answer(senders, results);
        }
        Err(error) => {
            shared.failure.send_replace(Some(error.to_string()));
            let error = WriteError::Failed(error.to_string());
            answer(senders, std::iter::repeat_with(|| Err(error.clone())));
            *failed = Some(error);
        }
    }
}

fn answer(senders: Vec<oneshot::Sender<Outcome>>, results: impl IntoIterator<Item = Outcome>) {
    for (sender, result) in senders.into_iter().zip(results) {
        // The client may be gone; its write stands.
        let _ = sender.send(result);
    }
}
