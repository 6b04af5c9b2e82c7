//! Where a value is in an object.

use std::sync::Arc;

use serde_json::Value;

use super::Visits;

/// One step to a place in an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Shared: a name may be as long as an object, and is part of every place below it.
    Field(Arc<str>),
    Index(usize),
}

/// A place in an object. The places of all that is in a value share the place of the value: a list of places takes no more
/// room where they are deep down.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    above: Trail,
    key: Key,
    depth: usize,
}

impl Trail {
    /// The place of something in what is here.
    pub(crate) fn then(&self, key: Key) -> Trail {
        Trail(Some(Arc::new(Link {
            depth: self.depth() + 1,
            above: self.clone(),
            key,
        })))
    }

    /// How many steps lead here.
    pub(crate) fn depth(&self) -> usize {
        self.0.as_ref().map_or(0, |link| link.depth)
    }

    /// The steps, the first one first.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::with_capacity(self.depth());
        let mut at = self;
        while let Some(link) = &at.0 {
            keys.push(link.key.clone());
            at = &link.above;
        }
        keys.reverse();
        keys
    }
}

/// A step that is not kept yet.
#[derive(Clone, Copy)]
pub(super) enum Child<'v> {
    Field(&'v str),
    Index(usize),
}

impl Key {
    /// The value that the step leads to.
    pub(crate) fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Key::Field(name) => value.get(&**name),
            Key::Index(index) => value.get(index),
        }
    }
}

/// What is kept of the way to a value: the place, or nothing where the value alone is wanted.
pub(super) trait Place: Clone + Default {
    /// Of something in what is here, once it is paid for.
    fn child(&self, key: Child<'_>, visits: &mut Visits<'_>) -> Result<Self, String>;
}

impl Place for () {
    fn child(&self, _: Child<'_>, visits: &mut Visits<'_>) -> Result<(), String> {
        visits.spend(1)
    }
}

impl Place for Trail {
    fn child(&self, key: Child<'_>, visits: &mut Visits<'_>) -> Result<Trail, String> {
        match key {
            Child::Field(name) => {
                visits.spend_text(name.len())?;
                Ok(self.then(Key::Field(name.into())))
            }
            Child::Index(index) => {
                visits.spend(1)?;
                Ok(self.then(Key::Index(index)))
            }
        }
    }
}
