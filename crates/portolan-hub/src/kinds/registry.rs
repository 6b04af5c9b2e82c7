//! All resources that are served, as one snapshot.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::Value;

use super::Resource;

#[derive(Debug, Default, Clone)]
pub(crate) struct Registry {
    /// By group, version, plural.
    resources: BTreeMap<(String, String, String), Arc<Resource>>,
    /// What each definition was compiled to, by its name, with the revision that it was compiled of.
    definitions: BTreeMap<String, (u64, Vec<Arc<Resource>>)>,
    pub(crate) openapi: Memo,
}

/// What is computed from a registry once. A copy of a registry is made to be changed, and has nothing of it.
#[derive(Debug, Default)]
pub(crate) struct Memo(OnceLock<Value>);

impl Memo {
    /// The value, computed the first time. Others that ask meanwhile wait: each of them would compute the same.
    pub(crate) fn get(&self, compute: impl FnOnce() -> Value) -> &Value {
        self.0.get_or_init(compute)
    }
}

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Registry {
    fn new(resources: impl IntoIterator<Item = Resource>) -> Self {
        let mut registry = Self::default();
        for resource in resources {
            registry.add(Arc::new(resource));
        }
        registry
    }

    /// The kinds every hub has.
    pub(crate) fn builtin() -> Self {
        static BUILTIN: LazyLock<Registry> = LazyLock::new(|| Registry::new(super::builtin::resources()));
        BUILTIN.clone()
    }

    /// Adds what a revision of a definition was compiled to.
    pub(crate) fn define(&mut self, name: &str, revision: u64, resources: Vec<Arc<Resource>>) {
        resources.iter().cloned().for_each(|resource| self.add(resource));
        self.definitions.insert(name.to_owned(), (revision, resources));
    }

    /// What this revision of a definition was compiled to, if it was.
    pub(crate) fn compiled(&self, name: &str, revision: u64) -> Option<Vec<Arc<Resource>>> {
        let (compiled, resources) = self.definitions.get(name)?;
        (*compiled == revision).then(|| resources.clone())
    }

    pub(crate) fn add(&mut self, resource: Arc<Resource>) {
        let key = (
            resource.group.clone(),
            resource.version.clone(),
            resource.plural.clone(),
        );
        self.resources.insert(key, resource);
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        // The tuple of Strings cannot be borrowed as a tuple of strs; this is once per request.
        self.resources
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    pub(crate) fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.in_version(group, version)
            .find(|resource| resource.kind == kind)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    pub(crate) fn in_version(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Resource>> {
        self.iter()
            .filter(move |resource| resource.group == group && resource.version == version)
    }

    /// One resource per kept kind: the one whose names are those of the storage.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.iter().filter(|resource| {
            !resource.traits.review
                && self
                    .for_storage(&resource.storage_group, &resource.plural)
                    .is_some_and(|first| Arc::ptr_eq(first, resource))
        })
    }

    /// A resource through which the objects under a storage group and plural can be handled.
    pub(crate) fn for_storage(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        let own = |resource: &&Arc<Resource>| resource.storage_group == group && resource.plural == plural;
        let mut all = self.iter().filter(own);
        let first = all.next()?;
        let best = |resource: &&Arc<Resource>| resource.api_version() == resource.storage_version;
        if best(&first) {
            Some(first)
        } else {
            all.find(best).or(Some(first))
        }
    }

    /// Groups in order of their names with their versions, the preferred first.
    pub(crate) fn groups(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for resource in self.iter() {
            let versions = groups.entry(&resource.group).or_default();
            if !versions.contains(&resource.version.as_str()) {
                versions.push(&resource.version);
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by_key(|version| Reverse(priority(version)));
        }
        groups
    }
}

/// Kubernetes' order of versions: stable, then beta, then alpha, newer first; others last.
pub(crate) fn priority(version: &str) -> (u8, u32, u32, Reverse<String>) {
    let other = (0, 0, 0, Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else {
        return other;
    };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (major, rest) = rest.split_at(digits);
    let Ok(major) = major.parse() else { return other };
    let (level, minor) = if rest.is_empty() {
        (3, "0")
    } else if let Some(minor) = rest.strip_prefix("beta") {
        (2, minor)
    } else if let Some(minor) = rest.strip_prefix("alpha") {
        (1, minor)
    } else {
        return other;
    };
    match minor.parse() {
        Ok(minor) => (level, major, minor, Reverse(String::new())),
        Err(_) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut versions = [
            "v1alpha1", "foo", "v2", "v1", "v2beta1", "v1beta2", "v10", "v1beta1",
        ];
        versions.sort_by_key(|version| Reverse(priority(version)));
        assert_eq!(
            versions,
            [
                "v10", "v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1", "foo"
            ]
        );
    }

    #[test]
    fn what_is_computed_from_a_registry_is_computed_once_and_not_kept_by_a_copy() {
        let registry = Registry::default();
        assert_eq!(registry.openapi.get(|| 1.into()), &1);
        assert_eq!(registry.openapi.get(|| 2.into()), &1);
        assert_eq!(registry.clone().openapi.get(|| 2.into()), &2);
    }
}
