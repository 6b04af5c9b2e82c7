//! The slices of one namespace that cannot be read, by the workload they may be for.

use std::collections::BTreeMap;

/// Namespace and name.
type Place = (String, String);

/// Slices that cannot be read, each with its placement-key and why. Every look at a workload asks for them, so that one tenant
/// with many of them must not make each look long.
#[derive(Debug, Default)]
pub(super) struct UnreadableSlices {
    keys: BTreeMap<Place, Option<String>>,
    /// Why those without a key cannot be read. They may be for any workload.
    keyless: BTreeMap<Place, String>,
    /// The same for the others, by their key.
    by_key: BTreeMap<String, BTreeMap<Place, String>>,
}

impl UnreadableSlices {
    pub(super) fn insert(&mut self, place: Place, key: Option<String>, why: String) {
        // Its key may be another one than before.
        self.remove(&place);
        match &key {
            Some(key) => self.by_key.entry(key.clone()).or_default(),
            None => &mut self.keyless,
        }
        .insert(place.clone(), why);
        self.keys.insert(place, key);
    }

    /// The slice can be read, or is gone. Whether that is news.
    pub(super) fn remove(&mut self, place: &Place) -> bool {
        let Some(key) = self.keys.remove(place) else {
            return false;
        };
        match key {
            None => drop(self.keyless.remove(place)),
            Some(key) => {
                if let Some(slices) = self.by_key.get_mut(&key) {
                    slices.remove(place);
                    if slices.is_empty() {
                        self.by_key.remove(&key);
                    }
                }
            }
        }
        true
    }

    /// Why the first slice cannot be read that may be for a key.
    pub(super) fn may_be_for(&self, key: &str) -> Option<&String> {
        let keyed = self.by_key.get(key).and_then(BTreeMap::first_key_value);
        let first = self.keyless.first_key_value().into_iter().chain(keyed).min();
        first.map(|(_, why)| why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_found_by_its_key_and_one_without_a_key_by_every_key() {
        let place = |name: &str| ("team".to_owned(), name.to_owned());
        let mut slices = UnreadableSlices::default();
        slices.insert(place("b"), Some("web".to_owned()), "b is odd".to_owned());
        slices.insert(place("c"), None, "c is odd".to_owned());
        let why = |slices: &UnreadableSlices, key| slices.may_be_for(key).cloned();
        assert_eq!(why(&slices, "web").as_deref(), Some("b is odd"), "the first");
        assert_eq!(why(&slices, "db").as_deref(), Some("c is odd"));
        assert!(slices.remove(&place("c")) && !slices.remove(&place("c")));
        assert_eq!(why(&slices, "db"), None);
        slices.insert(place("b"), Some("db".to_owned()), "b is odd still".to_owned());
        assert_eq!(why(&slices, "web"), None, "its key is another one");
        assert_eq!(why(&slices, "db").as_deref(), Some("b is odd still"));
        assert!(slices.remove(&place("b")));
        assert!(slices.by_key.is_empty() && slices.keys.is_empty(), "{slices:?}");
    }
}
