//! Inverted index over label or claim keys: which clusters carry a key, and which carry each of its values.
//!
//! Only keys that some placement or set names are indexed: a posting per unique value of every key would cost more
//! than the fleet itself.

use std::sync::Arc;

use hashbrown::HashMap;

use super::bits::{ClusterId, Clusters, Posting};
use crate::selector::{Operator, Requirement, Selector};

#[derive(Debug, Default)]
pub(crate) struct KeyIndex {
    keys: HashMap<Arc<str>, Key>,
}

#[derive(Debug, Default)]
struct Key {
    /// How many users (placements, sets) named the key; at zero the key is dropped.
    users: usize,
    present: Clusters,
    values: HashMap<Arc<str>, Posting>,
}

impl KeyIndex {
    /// Counts one more user of `key`; true when the key is new and must be filled by the caller.
    pub(crate) fn retain_key(&mut self, key: &Arc<str>) -> bool {
        let entry = self.keys.entry(key.clone()).or_default();
        entry.users += 1;
        entry.users == 1
    }

    pub(crate) fn release_key(&mut self, key: &Arc<str>) {
        if let Some(entry) = self.keys.get_mut(key) {
            entry.users -= 1;
            if entry.users == 0 {
                self.keys.remove(key);
            }
        }
    }

    pub(crate) fn insert(&mut self, key: &str, value: &Arc<str>, cluster: ClusterId, slots: usize) {
        let Some(entry) = self.keys.get_mut(key) else {
            return;
        };
        entry.present.insert(cluster);
        match entry.values.get_mut(value) {
            Some(posting) => posting.insert(cluster, slots),
            None => {
                entry.values.insert(value.clone(), Posting::of(cluster));
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &str, value: &str, cluster: ClusterId) {
        let Some(entry) = self.keys.get_mut(key) else {
            return;
        };
        entry.present.remove(cluster);
        if let Some(posting) = entry.values.get_mut(value)
            && posting.remove(cluster)
        {
            entry.values.remove(value);
        }
    }

    /// Narrows `set` to the clusters that satisfy every requirement. All keys must be retained.
    pub(crate) fn narrow(&self, selector: &Selector, set: &mut Clusters) {
        for requirement in &selector.requirements {
            self.narrow_by(requirement, set);
        }
    }

    fn narrow_by(&self, requirement: &Requirement, set: &mut Clusters) {
        let entry = self.keys.get(&requirement.key);
        debug_assert!(
            entry.is_some(),
            "key {} is evaluated but not retained",
            requirement.key
        );
        let Some(entry) = entry else {
            if matches!(requirement.operator, Operator::In | Operator::Exists) {
                set.clear();
            }
            return;
        };
        match (requirement.operator, requirement.values.as_slice()) {
            (Operator::Exists, _) => set.intersect_with(&entry.present),
            (Operator::DoesNotExist, _) => set.subtract(&entry.present),
            (Operator::In, [value]) => match entry.values.get(value) {
                Some(posting) => posting.narrow(set),
                None => set.clear(),
            },
            (Operator::In, values) => {
                let mut any = Clusters::default();
                values
                    .iter()
                    .filter_map(|value| entry.values.get(value))
                    .for_each(|p| p.add_to(&mut any));
                set.intersect_with(&any);
            }
            (Operator::NotIn, values) => {
                values
                    .iter()
                    .filter_map(|value| entry.values.get(value))
                    .for_each(|p| p.remove_from(set));
            }
        }
    }
}
