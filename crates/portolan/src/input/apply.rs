//! A manifest applied over what is there, as `kubectl apply` does for an object that it has not seen before: fields that
//! the manifest has win, all others stay. Fields that an earlier manifest had and this one lacks stay too; what would
//! tell is not in the input.

use serde_json::Value;

use super::manifests::{Key, Manifests};
use super::{kind, normal};

/// The object as it would be after the manifest was applied.
pub(super) fn over(there: &Manifests, mut manifest: Value) -> Value {
    // A kind that is not known is reported where every object is checked.
    let Ok(kind) = kind::known(&manifest) else {
        return manifest;
    };
    normal::normalise(kind, &mut manifest);
    match there.value(&Key::of(kind, &manifest)) {
        Some(mut object) => {
            merge(&mut object, manifest);
            object
        }
        None => manifest,
    }
}

/// Objects are merged; lists and plain values are replaced.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                match into.get_mut(&name) {
                    Some(there) => merge(there, value),
                    None => drop(into.insert(name, value)),
                }
            }
        }
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::input::read_bytes;

    #[test]
    fn a_manifest_without_status_keeps_the_status_and_the_labels_of_others() {
        let cluster = |labels: Value| {
            json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
                    "metadata": { "name": "c1", "labels": labels } })
        };
        let mut live = cluster(json!({ "team": "a", "tier": "gold" }));
        live["status"] = json!({ "allocatable": { "cpu": "8" } });
        let there = read_bytes("live", live.to_string().into_bytes()).unwrap();
        let after = over(&there, cluster(json!({ "tier": "silver" })));
        assert_eq!(
            after["metadata"]["labels"],
            json!({ "team": "a", "tier": "silver" })
        );
        assert_eq!(after["status"]["allocatable"]["cpu"], "8");
    }

    #[test]
    fn a_manifest_of_something_new_stays_as_it_is() {
        let manifest = json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
                               "metadata": { "name": "c1" } });
        assert_eq!(over(&Manifests::default(), manifest.clone()), manifest);
    }
}
