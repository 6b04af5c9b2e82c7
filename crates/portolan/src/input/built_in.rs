//! The sets that every hub has, for files that are read without a hub.

use std::collections::BTreeSet;

use portolan_api::cluster::{self, ManagedClusterSet};

use super::manifests::{Key, Manifests, Object};
use super::place::Place;
use super::problem::Notes;

/// Adds the built-in sets that bindings of the files name and the files do not have. The registration creates these
/// sets on a hub, and a file that has them as well makes `kubectl apply` warn about a set of somebody else.
pub(crate) fn add_built_in_sets(manifests: &mut Manifests, notes: &mut Notes) {
    let bound: BTreeSet<String> = manifests
        .bindings()
        .map(|binding| binding.spec.cluster_set.clone())
        .collect();
    for name in bound {
        let key = Key {
            group: cluster::GROUP,
            kind: "ManagedClusterSet",
            namespace: String::new(),
            name: name.clone(),
        };
        let Some(set) = ManagedClusterSet::built_in(&name).filter(|_| !manifests.contains(&key)) else {
            continue;
        };
        let object = Object::ClusterSet(Box::new(set));
        if manifests.add(key, object, Place::live("every hub")).is_ok() {
            notes.remark(format!(
                "ManagedClusterSet {name} is not in the files: taken as the registration of a hub creates it"
            ));
        }
    }
}
