//! Which replica sets a change of a placement or of a cluster concerns. A member cluster may change what it says of itself as often
//! as it likes, and a change must not cost an evaluation of every replica set of the hub.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::decisions::Part;
use super::key::{SetKey, WorkKey};

/// Namespace and name of a placement.
type Place = (String, String);

/// Replica sets by placement, and placements by the clusters of their decisions. Decisions that no replica set refers to are not
/// in it: on most hubs these are most decisions.
#[derive(Debug, Default)]
pub(super) struct Index {
    referring: HashMap<Arc<Place>, BTreeSet<SetKey>>,
    /// By cluster: the placements whose decision names the cluster, and in how many of their objects. An update may name a cluster
    /// in two objects for a moment.
    deciding: HashMap<String, HashMap<Arc<Place>, usize>>,
}

impl Index {
    /// The replica sets that refer to a placement.
    pub(super) fn referring(&self, place: &Place) -> impl Iterator<Item = &SetKey> {
        self.referring.get(place).into_iter().flatten()
    }

    /// The replica sets that refer to a placement whose decision names the cluster. A replica set that refers to several of them
    /// comes several times.
    pub(super) fn choosing(&self, cluster: &str) -> impl Iterator<Item = &SetKey> {
        let places = self.deciding.get(cluster).into_iter().flat_map(HashMap::keys);
        places.flat_map(|place| self.referring(place))
    }

    /// A replica set refers to these placements now, and referred to those before. `parts` has the decision of a placement.
    pub(super) fn refer<'p>(
        &mut self,
        set: &SetKey,
        before: &BTreeSet<&str>,
        now: &BTreeSet<&str>,
        parts: impl Fn(&Place) -> Option<&'p BTreeMap<String, Part>>,
    ) {
        let place = |placement: &&&str| (set.namespace.clone(), (**placement).to_owned());
        for place in before.difference(now).map(|placement| place(&placement)) {
            let Some((place, mut sets)) = self.referring.remove_entry(&place) else {
                continue;
            };
            sets.remove(set);
            if sets.is_empty() {
                let parts = parts(&place).into_iter().flat_map(BTreeMap::values);
                parts.for_each(|part| self.forget(&place, part));
            } else {
                self.referring.insert(place, sets);
            }
        }
        for place in now.difference(before).map(|placement| place(&placement)) {
            if let Some(sets) = self.referring.get_mut(&place) {
                sets.insert(set.clone());
                continue;
            }
            let place = Arc::new(place);
            self.referring
                .insert(place.clone(), BTreeSet::from([set.clone()]));
            let parts = parts(&place).into_iter().flat_map(BTreeMap::values);
            parts.for_each(|part| self.name(&place, part));
        }
    }

    /// An object of a placement's decision changed. `None` stands for an object that is not there.
    pub(super) fn decide(&mut self, place: &Place, before: Option<&Part>, now: Option<&Part>) {
        let Some((place, _)) = self.referring.get_key_value(place) else {
            return;
        };
        let place = place.clone();
        if let Some(now) = now {
            self.name(&place, now);
        }
        if let Some(before) = before {
            self.forget(&place, before);
        }
    }

    fn name(&mut self, place: &Arc<Place>, part: &Part) {
        for cluster in &part.clusters {
            let places = match self.deciding.get_mut(cluster) {
                Some(places) => places,
                None => self.deciding.entry(cluster.clone()).or_default(),
            };
            *places.entry(place.clone()).or_default() += 1;
        }
    }

    fn forget(&mut self, place: &Arc<Place>, part: &Part) {
        for cluster in &part.clusters {
            let Some(places) = self.deciding.get_mut(cluster) else {
                continue;
            };
            if let Some(objects) = places.get_mut(place) {
                *objects -= 1;
                if *objects == 0 {
                    places.remove(place);
                }
            }
            if places.is_empty() {
                self.deciding.remove(cluster);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.referring.is_empty() && self.deciding.is_empty()
    }
}

/// Works that cannot be read, and whose they are. A replica set that is deleted waits for them.
#[derive(Debug, Default)]
pub(super) struct UnreadableWorks {
    owners: BTreeMap<WorkKey, SetKey>,
    /// How many a replica set has.
    numbers: BTreeMap<SetKey, usize>,
}

impl UnreadableWorks {
    /// Whether a replica set has a work that cannot be read.
    pub(super) fn has_any_of(&self, set: &SetKey) -> bool {
        self.numbers.contains_key(set)
    }

    /// A work cannot be read. The replica set that it was of, if that was another one.
    pub(super) fn insert(&mut self, work: WorkKey, owner: SetKey) -> Option<SetKey> {
        let before = self.remove(&work);
        *self.numbers.entry(owner.clone()).or_default() += 1;
        let is_other = |before: &SetKey| *before != owner;
        let before = before.filter(is_other);
        self.owners.insert(work, owner);
        before
    }

    /// A work can be read again, or is gone. The replica set that it was of.
    pub(super) fn remove(&mut self, work: &WorkKey) -> Option<SetKey> {
        let owner = self.owners.remove(work)?;
        if let Some(number) = self.numbers.get_mut(&owner) {
            *number -= 1;
            if *number == 0 {
                self.numbers.remove(&owner);
            }
        }
        Some(owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_unreadable_works_until_the_last_is_readable_or_another_sets() {
        let (mut works, shop, web) = (
            UnreadableWorks::default(),
            SetKey::new("ns", "shop"),
            SetKey::new("ns", "web"),
        );
        let work = |cluster: &str| WorkKey {
            cluster: cluster.to_owned(),
            name: "w".to_owned(),
        };
        assert_eq!(works.insert(work("a"), shop.clone()), None);
        assert_eq!(
            works.insert(work("a"), shop.clone()),
            None,
            "it is heard of again"
        );
        assert_eq!(works.insert(work("b"), shop.clone()), None);
        assert_eq!(works.remove(&work("a")), Some(shop.clone()));
        assert!(works.has_any_of(&shop) && !works.has_any_of(&web));
        assert_eq!(works.insert(work("b"), web.clone()), Some(shop.clone()));
        assert!(!works.has_any_of(&shop) && works.has_any_of(&web));
        assert_eq!(works.remove(&work("b")), Some(web.clone()));
        assert_eq!(works.remove(&work("b")), None);
        assert!(works.numbers.is_empty());
    }
}
