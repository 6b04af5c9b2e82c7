//! Bindings: the ones that are missing, that bind no set, and that bind another set than they say.

use std::collections::BTreeSet;

use super::concern::Concern;
use super::{Check, names};
use crate::input::Manifests;
use crate::stray_bindings::{StrayBindings, concerning};

pub(super) fn judge(manifests: &Manifests, concern: &Concern<'_>) -> Check {
    let sets: BTreeSet<&str> = manifests
        .cluster_sets()
        .filter_map(|set| set.metadata.name.as_deref())
        .collect();
    if let Some(stray) = stray(manifests, concern) {
        return stray;
    }
    if let Some(note) = misnamed(manifests, concern) {
        return note;
    }
    let bound: BTreeSet<&str> = manifests
        .bindings()
        .filter_map(|binding| binding.metadata.namespace.as_deref())
        .collect();
    let unbound: BTreeSet<&str> = manifests
        .placements()
        .filter_map(|placement| placement.metadata.namespace.as_deref())
        .filter(|namespace| !bound.contains(namespace) && concern.has_namespace(namespace))
        .collect();
    match unbound.len() {
        1.. => Check::problem(
            "bindings",
            format!(
                "{} Placements and no ManagedClusterSetBinding: {}",
                match unbound.len() {
                    1 => "a namespace has".to_owned(),
                    number => format!("{number} namespaces have"),
                },
                names(unbound.iter().copied())
            ),
            format!(
                "create a ManagedClusterSetBinding in {} {}, named after a ManagedClusterSet: {}",
                match unbound.len() {
                    1 => "the namespace",
                    _ => "each of the namespaces",
                },
                names(unbound.iter().copied()),
                names(sets)
            ),
        ),
        0 => Check::ok(
            "bindings",
            "every namespace with Placements has a binding to an existing set",
        ),
    }
}

/// Bindings to sets that do not exist. The conditions of the Placements that they concern say so, too, and are not repeated.
fn stray(manifests: &Manifests, concern: &Concern<'_>) -> Option<Check> {
    let (mut keys, mut said) = (Vec::new(), Vec::new());
    for (namespace, name, words) in StrayBindings::of(manifests).iter() {
        if !concern.has_namespace(namespace) {
            continue;
        }
        // A Placement that asks for other sets does without the binding.
        let placements = manifests.placements().filter(|placement| {
            let (metadata, sets) = (&placement.metadata, &placement.spec.cluster_sets);
            metadata.namespace.as_deref() == Some(namespace)
                && (sets.is_empty() || sets.iter().any(|set| set == name))
        });
        keys.push(format!("{namespace}/{name}"));
        said.push(concerning(words, placements.count()));
    }
    (!keys.is_empty()).then(|| {
        let keys = names(keys.iter().map(String::as_str));
        let advice = format!(
            "a ManagedClusterSetBinding has the name of an existing ManagedClusterSet, also in spec.clusterSet; correct or \
             delete {keys}"
        );
        Check::problem("bindings", names(said.iter().map(String::as_str)), advice)
    })
}

/// Bindings whose `spec.clusterSet` is another name than their own. Each of them binds the set of its own name.
fn misnamed(manifests: &Manifests, concern: &Concern<'_>) -> Option<Check> {
    let misnamed: Vec<String> = manifests
        .bindings()
        .filter_map(|binding| {
            let (metadata, said) = (&binding.metadata, &binding.spec.cluster_set);
            let name = metadata.name.as_deref()?;
            let namespace = metadata.namespace.as_deref().unwrap_or_default();
            (concern.has_namespace(namespace) && said != name)
                .then(|| format!("{namespace}/{name}, and spec.clusterSet is {said:?}"))
        })
        .collect();
    let all = names(misnamed.iter().map(String::as_str));
    (!misnamed.is_empty()).then(|| {
        Check::note(
            "bindings",
            format!(
                "a binding has the name of its cluster set, and binds the set of that name: {all}: rename the binding, or correct \
                 spec.clusterSet if that is the mistake"
            ),
        )
    })
}
