//! How much may be stored: everything stored is in memory, so a client that may create objects could otherwise use all of it.

use std::collections::HashMap;

use super::error::WriteError;
use super::key::Key;
use super::object::Stored;
use crate::access::rbac;

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

/// Bytes of the roles and bindings in one namespace. Each request in the namespace is compared with those that its user has. Larger,
/// and that could take longer than the request; smaller, and some thousand bindings would not fit.
const ROLES: u64 = 8 << 20;

/// What an object takes beside its text: its keys and its places in the maps of the store and of the janitor. Without it, a client
/// could fill the memory with objects that have hardly any text.
const AROUND_AN_OBJECT: i64 = 512;

/// An object that is being deleted may still get its deletion's time and lose finalizers when there is no room left.
const ROOM_FOR_DELETION: i64 = 4096;

/// The bytes stored now, or how they would change.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    total: i64,
    namespaces: HashMap<String, i64>,
    /// Of the roles and bindings in each namespace.
    roles: HashMap<String, i64>,
}

impl Usage {
    pub(super) fn add(&mut self, key: &Key, bytes: i64) {
        self.total += bytes;
        if key.namespace().is_empty() {
            return;
        }
        add(&mut self.namespaces, key.namespace(), bytes);
        if key.group() == rbac::GROUP {
            add(&mut self.roles, key.namespace(), bytes);
        }
    }

    fn namespace(&self, key: &Key) -> i64 {
        self.namespaces.get(key.namespace()).copied().unwrap_or_default()
    }

    fn roles(&self, key: &Key) -> i64 {
        self.roles.get(key.namespace()).copied().unwrap_or_default()
    }
}

fn add(namespaces: &mut HashMap<String, i64>, namespace: &str, bytes: i64) {
    match namespaces.get_mut(namespace) {
        Some(stored) => *stored += bytes,
        None => {
            namespaces.insert(namespace.to_owned(), bytes);
        }
    }
    if namespaces.get(namespace) == Some(&0) {
        namespaces.remove(namespace);
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
    let is_role = in_namespace && key.group() == rbac::GROUP;
    if is_role && over(ROLES, stored.roles(key), planned.roles(key)) {
        return Err(WriteError::FullOfRoles {
            namespace: key.namespace().to_owned(),
            limit: ROLES,
        });
    }
    Ok(())
}

/// What an object takes.
pub(super) fn bytes_of(object: Option<&Stored>) -> i64 {
    taken(object.map(|object| i64::try_from(object.bytes().len()).unwrap_or(i64::MAX)))
}

/// What an object of so many bytes takes, or nothing without an object.
pub(super) fn taken(bytes: Option<i64>) -> i64 {
    bytes.map_or(0, |bytes| bytes.saturating_add(AROUND_AN_OBJECT))
}
