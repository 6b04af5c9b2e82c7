//! Which namespaces have profiles, and of which cluster sets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::reconcile::{Labels, Membership};

/// Sets, bindings and placements.
#[derive(Debug, Default)]
pub(super) struct BoundNamespaces {
    /// The one namespace for all profiles, if that is wanted.
    shared: Option<Arc<str>>,
    sets: BTreeMap<String, Membership>,
    bindings: BTreeMap<Arc<str>, BTreeSet<String>>,
    placements: BTreeMap<Arc<str>, BTreeSet<String>>,
}

/// The sets whose clusters have a profile in a namespace, sorted.
pub(super) type Bound = Vec<String>;

impl BoundNamespaces {
    pub(super) fn new(shared: Option<&str>) -> BoundNamespaces {
        BoundNamespaces {
            shared: shared.map(Arc::from),
            ..BoundNamespaces::default()
        }
    }

    /// Adds or changes a set. Whether it makes a difference.
    pub(super) fn apply_set(&mut self, name: &str, membership: Membership) -> bool {
        if self.sets.get(name) == Some(&membership) {
            return false;
        }
        if let Membership::Invalid(problem) = &membership {
            tracing::warn!(set = name, %problem, "cannot evaluate the selector of the ManagedClusterSet; ClusterProfiles in namespaces that bind the set are kept");
        }
        self.sets.insert(name.to_owned(), membership);
        true
    }

    pub(super) fn has_set(&self, name: &str) -> bool {
        self.sets.contains_key(name)
    }

    pub(super) fn remove_set(&mut self, name: &str) -> bool {
        self.sets.remove(name).is_some()
    }

    pub(super) fn apply_binding(&mut self, namespace: &str, name: &str) -> bool {
        self.bindings
            .entry(namespace.into())
            .or_default()
            .insert(name.to_owned())
    }

    pub(super) fn remove_binding(&mut self, namespace: &str, name: &str) -> bool {
        remove(&mut self.bindings, namespace, name)
    }

    pub(super) fn apply_placement(&mut self, namespace: &str, name: &str) -> bool {
        self.placements
            .entry(namespace.into())
            .or_default()
            .insert(name.to_owned())
    }

    pub(super) fn remove_placement(&mut self, namespace: &str, name: &str) -> bool {
        remove(&mut self.placements, namespace, name)
    }

    /// Every namespace that has profiles, with the sets they come from.
    pub(super) fn wanted(&self) -> BTreeMap<Arc<str>, Bound> {
        let mut wanted = BTreeMap::<Arc<str>, BTreeSet<&String>>::new();
        for (namespace, bindings) in &self.bindings {
            if !self.placements.contains_key(namespace) {
                continue;
            }
            let bound: Vec<&String> = bindings
                .iter()
                .filter(|name| self.sets.contains_key(*name))
                .collect();
            if !bound.is_empty() {
                let into = self.shared.as_ref().unwrap_or(namespace);
                wanted.entry(into.clone()).or_default().extend(bound);
            }
        }
        let listed = |sets: BTreeSet<&String>| sets.into_iter().cloned().collect();
        wanted
            .into_iter()
            .map(|(namespace, sets)| (namespace, listed(sets)))
            .collect()
    }

    pub(super) fn has(&self, bound: &Bound, cluster: &Labels) -> bool {
        bound
            .iter()
            .any(|set| self.sets.get(set).is_some_and(|set| set.has(cluster)))
    }

    /// Whether it cannot be told who belongs to one of the sets.
    pub(super) fn is_doubtful(&self, bound: &Bound) -> bool {
        bound
            .iter()
            .any(|set| self.sets.get(set).is_some_and(Membership::is_invalid))
    }
}

fn remove(map: &mut BTreeMap<Arc<str>, BTreeSet<String>>, namespace: &str, name: &str) -> bool {
    let Some(names) = map.get_mut(namespace) else {
        return false;
    };
    let removed = names.remove(name);
    if names.is_empty() {
        map.remove(namespace);
    }
    removed
}
