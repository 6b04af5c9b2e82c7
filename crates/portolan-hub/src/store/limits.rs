//! How much may be stored: everything stored is in memory, so a client that may create objects could otherwise use all of it.

use std::collections::HashMap;

use super::error::WriteError;
use super::key::Key;
use super::object::Stored;

/// How many bytes of objects are stored at the most. A write that would add beyond it is refused; deletions never are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Of all objects together.
    pub(crate) total: u64,
    /// Of the objects in one namespace.
    pub(crate) namespace: u64,
}

/// Larger than what is given today, a fleet would fill the memory of a small machine; smaller, the decisions of 1,000
/// placements over 10,000 clusters would not fit.
pub(crate) const LIMITS: Limits = Limits {
    total: 4 << 30,
    namespace: 1 << 30,
};

/// The largest object. A client may not send more than three mebibytes at once, but could let an object grow by one patch after
/// the other. Larger, and each change of such an object would cost the hub and its watchers as much again; smaller, and an
/// object that was sent whole would not fit with its managed fields.
pub(crate) const LARGEST_OBJECT: i64 = 4 << 20;

/// An object that is being deleted may still get its deletion's time and lose finalizers when there is no room left.
const ROOM_FOR_DELETION: i64 = 4096;

/// The bytes stored now, or how they would change.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    total: i64,
    namespaces: HashMap<String, i64>,
}

impl Usage {
    pub(super) fn add(&mut self, key: &Key, bytes: i64) {
        self.total += bytes;
        if key.namespace().is_empty() {
            return;
        }
        match self.namespaces.get_mut(key.namespace()) {
            Some(stored) => *stored += bytes,
            None => {
                self.namespaces.insert(key.namespace().to_owned(), bytes);
            }
        }
        if self.namespaces.get(key.namespace()) == Some(&0) {
            self.namespaces.remove(key.namespace());
        }
    }

    fn namespace(&self, key: &Key) -> i64 {
        self.namespaces.get(key.namespace()).copied().unwrap_or_default()
    }
}

/// A write in terms of bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    pub(super) bytes: i64,
    /// Of the whole object, when it is written.
    pub(super) size: i64,
    /// The object is being deleted.
    pub(super) deleting: bool,
}

/// Refuses a write that adds more than fits, `planned` being what the writes before it add.
pub(super) fn check(
    limits: Limits,
    stored: &Usage,
    planned: &Usage,
    key: &Key,
    growth: Growth,
) -> Result<(), WriteError> {
    if growth.bytes <= 0 || (growth.deleting && growth.bytes <= ROOM_FOR_DELETION) {
        return Ok(());
    }
    if growth.size > LARGEST_OBJECT {
        return Err(WriteError::TooLarge {
            size: growth.size,
            limit: LARGEST_OBJECT,
        });
    }
    let over = |limit: u64, stored: i64, planned: i64| {
        let after = stored.saturating_add(planned).saturating_add(growth.bytes);
        u64::try_from(after).is_ok_and(|after| after > limit)
    };
    if over(limits.total, stored.total, planned.total) {
        return Err(WriteError::Full {
            place: "the hub".to_owned(),
            limit: limits.total,
        });
    }
    let in_namespace = !key.namespace().is_empty();
    if in_namespace && over(limits.namespace, stored.namespace(key), planned.namespace(key)) {
        return Err(WriteError::Full {
            place: format!("the namespace {}", key.namespace()),
            limit: limits.namespace,
        });
    }
    Ok(())
}

/// What an object takes.
pub(super) fn bytes_of(object: Option<&Stored>) -> i64 {
    let length = object.map_or(0, |object| object.bytes().len());
    i64::try_from(length).unwrap_or(i64::MAX)
}
