//! The objects that a watch has reported, to find out which of them a new list no longer has.

use std::collections::HashMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher;

use super::Key;

/// Objects of one watch. Decisions are followed up to a million clusters, and this leaves four works for each of them. A server
/// that makes up objects without an end would otherwise fill the memory, with objects however small.
const MOST_OBJECTS: usize = 4_000_000;

/// UIDs by namespace and name.
pub(super) type Places = HashMap<(String, String), String>;

/// What was reported to be there.
#[derive(Debug)]
pub(super) struct Known {
    objects: Places,
    /// [`MOST_OBJECTS`], or fewer in tests.
    most: usize,
}

impl Default for Known {
    fn default() -> Known {
        Known {
            objects: Places::new(),
            most: MOST_OBJECTS,
        }
    }
}

impl Known {
    #[cfg(test)]
    pub(super) fn of_at_most(most: usize) -> Known {
        Known {
            most,
            ..Known::default()
        }
    }

    pub(super) fn insert(&mut self, key: Key) {
        self.objects.insert((key.namespace, key.name), key.uid);
    }

    pub(super) fn remove(&mut self, key: &Key) {
        self.objects.remove(&(key.namespace.clone(), key.name.clone()));
    }

    /// Those that a complete list does not have.
    pub(super) fn missing_in(&self, listed: &Places) -> Vec<Key> {
        let missing = self
            .objects
            .iter()
            .filter(|(place, _)| !listed.contains_key(*place));
        missing
            .map(|((namespace, name), uid)| Key {
                namespace: namespace.clone(),
                name: name.clone(),
                uid: uid.clone(),
            })
            .collect()
    }

    /// Whether there is no room for an object.
    pub(super) fn is_full(&self, object: &ObjectMeta) -> bool {
        self.objects.len() >= self.most && !has(&self.objects, object)
    }

    /// Whether there is no room for an object of a list that has not ended. Objects that the list does not have are let go of at
    /// its end, so that twice as many are known until then; more would come of lists that are given up again and again.
    pub(super) fn is_list_full(&self, listed: Option<&Places>, object: &ObjectMeta) -> bool {
        let is_long = |listed: &&Places| listed.len() >= self.most && !has(listed, object);
        listed.as_ref().is_some_and(is_long)
            || (self.objects.len() >= 2 * self.most && !has(&self.objects, object))
    }

    pub(super) fn too_many(&self, resource: &str) -> watcher::Error {
        let most = self.most;
        let error = format!(
            "the server has sent more than {most} objects for the watch of {resource}, and no more are read; accepted: at most \
             {most} objects"
        );
        watcher::Error::WatchFailed(kube::Error::Service(error.into()))
    }
}

fn has(places: &Places, object: &ObjectMeta) -> bool {
    let Key { namespace, name, .. } = Key::of(object);
    places.contains_key(&(namespace, name))
}
