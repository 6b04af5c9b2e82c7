//! Slots: one number for every cluster that the fleet holds or a decision or score names.

use std::sync::Arc;

use hashbrown::{Equivalent, HashMap};

use super::bits::{ClusterId, Clusters};
use super::cluster::Cluster;

/// Namespace (empty for a ManagedCluster) and name.
pub(crate) type Key = (Arc<str>, Arc<str>);

#[derive(Debug, Default)]
pub(crate) struct Slots {
    ids: HashMap<Key, ClusterId>,
    slots: Vec<Slot>,
    free: Vec<ClusterId>,
    present: usize,
}

#[derive(Debug)]
struct Slot {
    key: Key,
    cluster: Option<Box<Cluster>>,
    /// Number of users of the slot: the fleet itself, entries of decisions, score objects. Freed at zero.
    holders: u32,
}

#[derive(Hash)]
struct KeyRef<'a>(&'a str, &'a str);

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        *key.0 == *self.0 && *key.1 == *self.1
    }
}

impl Slots {
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Number of clusters in the fleet.
    pub(crate) fn present(&self) -> usize {
        self.present
    }

    pub(crate) fn find(&self, namespace: &str, name: &str) -> Option<ClusterId> {
        self.ids.get(&KeyRef(namespace, name)).copied()
    }

    /// The slot of a name, made if need be. A new slot is not held yet.
    pub(crate) fn reserve(&mut self, namespace: &str, name: &str) -> ClusterId {
        if let Some(id) = self.find(namespace, name) {
            return id;
        }
        self.add((namespace.into(), name.into()))
    }

    /// The same for a name that is shared with others already.
    pub(crate) fn reserve_shared(&mut self, namespace: &Arc<str>, name: &Arc<str>) -> ClusterId {
        if let Some(id) = self.find(namespace, name) {
            return id;
        }
        self.add((namespace.clone(), name.clone()))
    }

    fn add(&mut self, key: Key) -> ClusterId {
        let slot = Slot {
            key: key.clone(),
            cluster: None,
            holders: 0,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id.index()] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                ClusterId::from_index(self.slots.len() - 1)
            }
        };
        self.ids.insert(key, id);
        id
    }

    pub(crate) fn hold(&mut self, id: ClusterId) {
        self.slots[id.index()].holders += 1;
    }

    pub(crate) fn release(&mut self, id: ClusterId) {
        let slot = &mut self.slots[id.index()];
        slot.holders = slot.holders.saturating_sub(1);
        if slot.holders == 0 {
            self.ids.remove(&slot.key);
            self.free.push(id);
        }
    }

    pub(crate) fn key(&self, id: ClusterId) -> &Key {
        &self.slots[id.index()].key
    }

    pub(crate) fn cluster(&self, id: ClusterId) -> Option<&Cluster> {
        self.slots.get(id.index())?.cluster.as_deref()
    }

    pub(crate) fn take_cluster(&mut self, id: ClusterId) -> Option<Box<Cluster>> {
        let taken = self.slots[id.index()].cluster.take();
        self.present -= usize::from(taken.is_some());
        taken
    }

    pub(crate) fn put_cluster(&mut self, id: ClusterId, cluster: Cluster) {
        let replaced = self.slots[id.index()].cluster.replace(Box::new(cluster));
        self.present += usize::from(replaced.is_none());
    }

    pub(crate) fn clusters(&self) -> impl Iterator<Item = (ClusterId, &Cluster)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(index, slot)| Some((ClusterId::from_index(index), slot.cluster.as_deref()?)))
    }

    pub(crate) fn all_present(&self) -> Clusters {
        self.clusters().map(|(id, _)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_lives_as_long_as_somebody_holds_it() {
        let mut slots = Slots::default();
        let a = slots.reserve("", "a");
        slots.hold(a);
        slots.hold(a);
        slots.release(a);
        assert_eq!(slots.find("", "a"), Some(a));
        slots.release(a);
        assert_eq!(slots.find("", "a"), None);
        assert_eq!(slots.reserve("", "b"), a, "a freed slot is used again");
    }
}
