//! The state in memory: an ordered map, the revision counter, and a ring of the latest events.
//!
//! The ring serves watches, and it also answers reads at an older revision: undoing the events since then gives the
//! state as it was. It is bounded by count and by bytes; what falls out is compacted.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;

use super::draft::Draft;
use super::error::{Compacted, WriteError};
use super::key::Key;
use super::limits::{self, Growth, Limits, Usage};
use super::object::Stored;

/// A change that was committed.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) revision: u64,
    /// The object after the change; for a deletion its last state with the deletion's revision.
    pub(crate) object: Arc<Stored>,
    pub(crate) previous: Option<Arc<Stored>>,
    pub(crate) deleted: bool,
}

/// One write and the state it was derived from.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) key: Key,
    pub(crate) expect: Expect,
    pub(crate) change: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    Absent,
    Revision(u64),
}

#[derive(Debug)]
pub(crate) enum Change {
    Put(Value),
    /// Removes the object. The value is what the deletion event shows.
    Delete(Value),
}

/// A write whose text is made.
#[derive(Debug)]
pub(super) struct Drafted {
    key: Key,
    expect: Expect,
    draft: Draft,
    deleted: bool,
    /// The object stays for now and is being deleted.
    deleting: bool,
}

impl Write {
    /// Makes the text: the part of a write that needs no state, and takes the most time.
    pub(super) fn draft(self) -> Drafted {
        let (value, deleted) = match self.change {
            Change::Put(value) => (value, false),
            Change::Delete(value) => (value, true),
        };
        let deleting = value.pointer("/metadata/deletionTimestamp").is_some();
        Drafted {
            key: self.key,
            expect: self.expect,
            deleting,
            draft: Draft::of(value),
            deleted,
        }
    }
}

/// The answer to a write: the object as it was committed.
pub(crate) type Outcome = Result<Arc<Stored>, WriteError>;

/// How much history is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
pub(crate) struct State {
    objects: BTreeMap<Key, Arc<Stored>>,
    events: VecDeque<Arc<Event>>,
    event_bytes: usize,
    revision: u64,
    /// Everything up to here can no longer be watched from or read at.
    compacted: u64,
    history: History,
    limits: Limits,
    usage: Usage,
}

impl State {
    pub(crate) fn new(objects: BTreeMap<Key, Arc<Stored>>, revision: u64, history: History) -> Self {
        let mut usage = Usage::default();
        for (key, object) in &objects {
            usage.add(key, limits::bytes_of(Some(object)));
        }
        // Revision 0 means "any" in the API, so an empty store is at 1.
        let revision = revision.max(1);
        Self {
            objects,
            events: VecDeque::new(),
            event_bytes: 0,
            revision,
            compacted: revision,
            history,
            limits: limits::LIMITS,
            usage,
        }
    }

    pub(super) fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Stored>> {
        self.objects.get(key)
    }

    fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a Key, &'a Arc<Stored>)> {
        self.objects
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(move |(key, _)| key.as_str().starts_with(prefix))
    }

    pub(crate) fn count(&self, prefix: &str) -> usize {
        self.under(prefix).count()
    }

    /// The objects whose key starts with `prefix`, in key order.
    pub(crate) fn range(&self, prefix: &str) -> Vec<Arc<Stored>> {
        self.under(prefix).map(|(_, object)| object.clone()).collect()
    }

    /// The same if there are no more than `most`.
    pub(crate) fn range_up_to(&self, prefix: &str, most: usize) -> Option<Vec<Arc<Stored>>> {
        let mut objects = self.under(prefix).map(|(_, object)| object);
        let some = objects.by_ref().take(most).cloned().collect();
        objects.next().is_none().then_some(some)
    }

    /// The same as it was at `revision`.
    pub(crate) fn range_at(&self, prefix: &str, revision: u64) -> Result<Vec<Arc<Stored>>, Compacted> {
        let mut past: BTreeMap<&Key, Option<&Arc<Stored>>> = BTreeMap::new();
        for event in self.since(revision)? {
            if event.object.key().as_str().starts_with(prefix) {
                past.entry(event.object.key()).or_insert(event.previous.as_ref());
            }
        }
        let mut objects: BTreeMap<&Key, &Arc<Stored>> = self.under(prefix).collect();
        for (key, object) in past {
            match object {
                Some(object) => objects.insert(key, object),
                None => objects.remove(key),
            };
        }
        Ok(objects.into_values().cloned().collect())
    }

    /// The events after `revision`, oldest first.
    pub(crate) fn since(&self, revision: u64) -> Result<impl Iterator<Item = &Arc<Event>>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted {
                asked: revision,
                oldest: self.compacted,
            });
        }
        let from = self.events.partition_point(|event| event.revision <= revision);
        Ok(self.events.range(from..))
    }

    /// Decides a batch of writes in order, each against the state its predecessors leave, without changing anything.
    pub(super) fn plan(&self, writes: Vec<Drafted>) -> (Vec<Arc<Event>>, Vec<Outcome>) {
        let mut ahead: HashMap<Key, Option<Arc<Stored>>> = HashMap::new();
        let mut planned = Usage::default();
        let mut revision = self.revision;
        let mut events = Vec::with_capacity(writes.len());
        let results = writes
            .into_iter()
            .map(|write| {
                let current = match ahead.get(&write.key) {
                    Some(object) => object.clone(),
                    None => self.objects.get(&write.key).cloned(),
                };
                check(&write.key, write.expect, current.as_deref())?;
                let deleted = write.deleted;
                let kept = (!deleted).then(|| write.draft.bytes());
                let growth = Growth {
                    bytes: limits::taken(kept) - limits::bytes_of(current.as_deref()),
                    size: kept.unwrap_or_default(),
                    deleting: write.deleting,
                };
                limits::check(self.limits, &self.usage, &planned, &write.key, growth)?;
                planned.add(&write.key, growth.bytes);
                revision += 1;
                let object = Arc::new(write.draft.seal(write.key.clone(), revision));
                ahead.insert(write.key, (!deleted).then(|| object.clone()));
                events.push(Arc::new(Event {
                    revision,
                    object: object.clone(),
                    previous: current,
                    deleted,
                }));
                Ok(object)
            })
            .collect();
        (events, results)
    }

    /// Makes planned events the state. They must come from [`State::plan`] on this very state.
    pub(crate) fn publish(&mut self, events: Vec<Arc<Event>>) {
        for event in events {
            let key = event.object.key().clone();
            let kept = (!event.deleted).then_some(&*event.object);
            let growth = limits::bytes_of(kept) - limits::bytes_of(event.previous.as_deref());
            self.usage.add(&key, growth);
            if event.deleted {
                self.objects.remove(&key);
            } else {
                self.objects.insert(key, event.object.clone());
            }
            self.revision = event.revision;
            self.event_bytes += event.object.bytes().len();
            self.events.push_back(event);
        }
        while self.events.len() > self.history.events || self.event_bytes > self.history.bytes {
            let Some(oldest) = self.events.pop_front() else {
                break;
            };
            self.event_bytes -= oldest.object.bytes().len();
            self.compacted = oldest.revision;
        }
    }
}

fn check(key: &Key, expect: Expect, current: Option<&Stored>) -> Result<(), WriteError> {
    match (expect, current) {
        (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => Err(WriteError::Exists(key.clone())),
        (Expect::Revision(_), None) => Err(WriteError::Missing(key.clone())),
        (Expect::Revision(expected), Some(object)) if object.revision() != expected => {
            Err(WriteError::Conflict {
                key: key.clone(),
                expected,
                current: object.revision(),
            })
        }
        (Expect::Revision(_), Some(_)) => Ok(()),
    }
}
