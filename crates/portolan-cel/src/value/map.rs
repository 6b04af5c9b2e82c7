//! Maps as sorted vectors: lookups are binary searches, iteration order is the same on every run.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Val;
use super::compare::{double_to_int, int_to_uint_order};

/// What CEL allows as a key. An int and a uint of the same value are the same key.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    Bool(bool),
    Int(i64),
    Uint(u64),
    String(Arc<str>),
}

impl Key {
    /// The key for a value, or `None` for a value that no map can hold as a key.
    pub(crate) fn from_val(value: &Val) -> Option<Key> {
        match value {
            Val::Bool(value) => Some(Key::Bool(*value)),
            Val::Int(value) => Some(Key::Int(*value)),
            Val::Uint(value) => Some(Key::Uint(*value)),
            Val::String(value) => Some(Key::String(Arc::clone(value))),
            _ => None,
        }
    }

    pub(crate) fn to_val(&self) -> Val {
        match self {
            Key::Bool(value) => Val::Bool(*value),
            Key::Int(value) => Val::Int(*value),
            Key::Uint(value) => Val::Uint(*value),
            Key::String(value) => Val::String(Arc::clone(value)),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Key::Bool(_) => 0,
            Key::Int(_) | Key::Uint(_) => 1,
            Key::String(_) => 2,
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        match (self, other) {
            (Key::Bool(left), Key::Bool(right)) => left.cmp(right),
            (Key::Int(left), Key::Int(right)) => left.cmp(right),
            (Key::Uint(left), Key::Uint(right)) => left.cmp(right),
            (Key::Int(left), Key::Uint(right)) => int_to_uint_order(*left, *right),
            (Key::Uint(left), Key::Int(right)) => int_to_uint_order(*right, *left).reverse(),
            (Key::String(left), Key::String(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

/// Key-value pairs in key order, each key once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    entries: Vec<(Key, Val)>,
}

impl Map {
    /// Sorts the entries; gives back the key that occurs twice, if any.
    pub(crate) fn new(mut entries: Vec<(Key, Val)>) -> Result<Map, Key> {
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(pair[0].0.clone()),
            None => Ok(Map { entries }),
        }
    }

    /// Sorts the entries; of equal keys the last one stays, as JSON readers do.
    pub(crate) fn last_wins(mut entries: Vec<(Key, Val)>) -> Map {
        entries.reverse();
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        entries.dedup_by(|later, earlier| later.0 == earlier.0);
        Map { entries }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entries(&self) -> &[(Key, Val)] {
        &self.entries
    }

    /// The value of a field, by name.
    #[inline]
    pub(crate) fn field(&self, name: &str) -> Option<&Val> {
        let found = self.entries.binary_search_by(|(key, _)| match key {
            Key::String(key) => (**key).cmp(name),
            _ => Ordering::Less,
        });
        found.ok().map(|at| &self.entries[at].1)
    }

    /// The value under a key given as a value; a whole `double` finds the integer key.
    pub(crate) fn get(&self, key: &Val) -> Option<&Val> {
        let key = match key {
            Val::String(name) => return self.field(name),
            Val::Double(value) => Key::Int(double_to_int(*value)?),
            other => Key::from_val(other)?,
        };
        self.find(&key)
    }

    pub(crate) fn find(&self, key: &Key) -> Option<&Val> {
        let found = self.entries.binary_search_by(|(candidate, _)| candidate.cmp(key));
        found.ok().map(|at| &self.entries[at].1)
    }
}
