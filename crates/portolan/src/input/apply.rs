//! What `kubectl apply` leaves on a server: the object that is there, with what the manifest says, and without what the last
//! manifest said and this one does not. kubectl keeps the last manifest in an annotation; without the annotation, fields
//! that the manifest lacks stay.

use serde_json::Value;

use super::manifests::{Key, Manifests};
use super::{kind, normal};

/// Where kubectl keeps the manifest that was applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object as it would be after the manifest was applied.
pub(super) fn over(there: &Manifests, mut manifest: Value) -> Value {
    // A kind that is not known is reported where every object is checked.
    let Ok(kind) = kind::known(&manifest) else {
        return manifest;
    };
    // Every kind here that has a status has it as a subresource, which a server takes from those who report it alone.
    if let Some(fields) = manifest.as_object_mut() {
        fields.remove("status");
    }
    let mut normal = manifest.clone();
    normal::normalise(kind, &mut normal);
    match there.value(&Key::of(kind, &normal)) {
        Some(mut object) => {
            if let Some(mut last) = last_applied(&object) {
                if let Some(last) = last.as_object_mut() {
                    last.remove("status");
                }
                remove(&mut object, &last, &manifest);
            }
            merge(&mut object, manifest);
            object
        }
        None => normal,
    }
}

fn last_applied(object: &Value) -> Option<Value> {
    let annotations = object.get("metadata")?.get("annotations")?;
    serde_json::from_str(annotations.get(LAST_APPLIED)?.as_str()?).ok()
}

/// Takes from `object` the fields that `last` has and `manifest` lacks. Lists and plain values are replaced as a whole, so that
/// nothing is taken from inside of them.
fn remove(object: &mut Value, last: &Value, manifest: &Value) {
    let (Some(object), Some(last), Some(manifest)) =
        (object.as_object_mut(), last.as_object(), manifest.as_object())
    else {
        return;
    };
    for (name, last) in last {
        match (object.get_mut(name), manifest.get(name)) {
            (Some(object), Some(manifest)) => remove(object, last, manifest),
            (Some(_), None) => drop(object.remove(name)),
            (None, _) => {}
        }
    }
}

/// Objects are merged; lists and plain values are replaced; null removes.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                match into.get_mut(&name) {
                    _ if value.is_null() => drop(into.remove(&name)),
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
        let mut with_status = cluster(json!({}));
        with_status["status"] = json!({ "allocatable": { "cpu": "64" } });
        let after = over(&there, with_status.clone());
        assert_eq!(
            after["status"]["allocatable"]["cpu"], "8",
            "kubectl apply writes no status"
        );
        let new = over(&Manifests::default(), with_status);
        assert_eq!(new, cluster(json!({})));
    }

    #[test]
    fn what_the_last_manifest_said_and_this_one_does_not_goes() {
        let placement = |spec: Value| {
            json!({ "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
                    "metadata": { "name": "p", "namespace": "ns" }, "spec": spec })
        };
        let last = placement(
            json!({ "numberOfClusters": 2, "clusterSets": ["a"], "tolerations": [{ "key": "k" }] }),
        );
        let mut live = placement(
            json!({ "numberOfClusters": 2, "clusterSets": ["a"], "tolerations": [{ "key": "k" }],
            "sortBy": "Score" }),
        );
        live["metadata"]["annotations"] = json!({ LAST_APPLIED: last.to_string() });
        let there = read_bytes("live", live.to_string().into_bytes()).unwrap();
        let after = over(
            &there,
            placement(json!({ "clusterSets": ["b"], "tolerations": null })),
        );
        // Another manager set the order, so the order stays.
        assert_eq!(after["spec"]["sortBy"], "Score");
        assert_eq!(after["spec"]["clusterSets"], json!(["b"]));
        let gone = ["numberOfClusters", "tolerations"];
        assert!(
            gone.iter().all(|name| after["spec"].get(name).is_none()),
            "{after}"
        );
        // Without the annotation nothing tells that a field was applied.
        live["metadata"]["annotations"] = json!({});
        let there = read_bytes("live", live.to_string().into_bytes()).unwrap();
        let after = over(&there, placement(json!({})));
        assert_eq!(after["spec"]["numberOfClusters"], 2);
    }

    #[test]
    fn a_manifest_of_something_new_stays_as_it_is() {
        let manifest = json!({ "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
                               "metadata": { "name": "c1" } });
        assert_eq!(over(&Manifests::default(), manifest.clone()), manifest);
    }
}
