//! Objects by the uid of their owners.

use std::collections::{BTreeSet, HashMap};

use crate::kinds::definition;
use crate::store::{Key, Stored};

#[derive(Debug, Default)]
pub(super) struct Index {
    objects: HashMap<String, Key>,
    dependents: HashMap<String, BTreeSet<Key>>,
}

impl Index {
    /// Takes in an object and says whom to look at.
    pub(super) fn put(&mut self, object: &Stored, previous: Option<&Stored>) -> Vec<Key> {
        let key = object.key();
        if previous.is_none_or(|previous| previous.uid() != object.uid()) {
            self.objects.insert(object.uid().to_owned(), key.clone());
        }
        let concerns_others = object.concerns_others() || previous.is_some_and(Stored::concerns_others);
        if !concerns_others {
            // Nearly every write. What is left to ask of a new object is whether its namespace went away while it was
            // made, and of a namespace whether it has what every namespace has.
            let is_namespace = (key.group(), key.plural()) == ("", "namespaces");
            let look = previous.is_none() && (is_namespace || !key.namespace().is_empty());
            return look.then(|| key.clone()).into_iter().collect();
        }
        let meta = object.meta();
        let mut concerned = vec![key.clone()];
        if let Some(previous) = previous {
            let kept = uids(object);
            for owner in uids(previous).difference(&kept) {
                concerned.extend(self.detach(owner, key));
            }
        }
        // A finalizer may have gone, and a namespace that is being deleted says which of them are left.
        if previous.is_some() && meta.deletion_timestamp.is_some() && !key.namespace().is_empty() {
            concerned.push(Key::new("", "namespaces", "", key.namespace()));
        }
        for owner in uids(object) {
            self.dependents
                .entry(owner.to_owned())
                .or_default()
                .insert(key.clone());
        }
        concerned
    }

    /// Forgets an object and says whom to look at: what it owned, what owned it, and what contained it.
    pub(super) fn remove(&mut self, object: &Stored) -> Vec<Key> {
        let (meta, key) = (object.meta(), object.key());
        self.objects.remove(&meta.uid);
        let mut concerned = Vec::new();
        for owner in uids(object) {
            concerned.extend(self.detach(owner, key));
        }
        concerned.extend(self.dependents_of(&meta.uid).cloned());
        if !key.namespace().is_empty() {
            concerned.push(Key::new("", "namespaces", "", key.namespace()));
        }
        let definition = format!("{}.{}", key.plural(), key.group());
        concerned.push(Key::new(definition::GROUP, definition::PLURAL, "", &definition));
        concerned
    }

    pub(super) fn find(&self, uid: &str) -> Option<&Key> {
        self.objects.get(uid)
    }

    pub(super) fn dependents_of(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.dependents.get(uid).into_iter().flatten()
    }

    fn detach(&mut self, owner: &str, key: &Key) -> Option<Key> {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(key);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
        self.objects.get(owner).cloned()
    }
}

/// The uids of an object's owners, in order and each once.
fn uids(object: &Stored) -> BTreeSet<&str> {
    let owners = object.meta().owner_references.iter();
    owners.map(|owner| owner.uid.as_str()).collect()
}
