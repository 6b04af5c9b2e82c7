//! The rules of object metadata, which hold for every kind.

use portolan_api::structural;
use serde_json::{Value, json};

fn placement(spec: Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": { "name": "p", "namespace": "n" },
        "spec": spec,
    })
}

/// Paths of all errors.
fn refused(object: &Value) -> Vec<String> {
    structural::validate(object)
        .into_iter()
        .map(|error| error.path)
        .collect()
}

#[test]
fn metadata_follows_the_rules_of_kubernetes() {
    let with = |metadata: Value| {
        let mut object = placement(json!({}));
        object["metadata"] = metadata;
        refused(&object)
    };
    let none: [&str; 0] = [];
    assert_eq!(with(json!({ "name": "p" })), none);
    assert_eq!(with(json!({ "generateName": "p-" })), none);
    assert_eq!(
        with(json!({ "name": "p", "creationTimestamp": null, "labels": null })),
        none
    );
    let cases = [
        (json!({}), "metadata.name"),
        (json!({ "name": "" }), "metadata.name"),
        (json!({ "name": "Upper" }), "metadata.name"),
        (json!({ "name": "a".repeat(254) }), "metadata.name"),
        (
            json!({ "name": "p", "namespace": "dotted.ns" }),
            "metadata.namespace",
        ),
        (
            json!({ "name": "p", "labels": { "a": "b".repeat(64) } }),
            "metadata.labels.a",
        ),
        (
            json!({ "name": "p", "labels": { "a b": "c" } }),
            r#"metadata.labels["a b"]"#,
        ),
        (
            json!({ "name": "p", "labels": { "a": true } }),
            "metadata.labels.a",
        ),
        (json!({ "name": "p", "labels": ["a"] }), "metadata.labels"),
        (
            json!({ "name": "p", "annotations": { "a/b/c": "d" } }),
            r#"metadata.annotations["a/b/c"]"#,
        ),
        (
            json!({ "name": "p", "annotations": { "a": 1 } }),
            "metadata.annotations.a",
        ),
        (
            json!({ "name": "p", "annotations": { "a": "b".repeat(256 << 10) } }),
            "metadata.annotations",
        ),
        (
            json!({ "name": "p", "creationTimestamp": "yesterday" }),
            "metadata.creationTimestamp",
        ),
        (
            json!({ "name": "p", "finalizers": ["a b"] }),
            "metadata.finalizers[0]",
        ),
        (
            json!({ "name": "p", "ownerReferences": [{ "apiVersion": "v1", "kind": "X", "uid": "" }] }),
            "metadata.ownerReferences[0].name",
        ),
        (json!("text"), "metadata"),
    ];
    for (metadata, path) in cases {
        assert_eq!(with(metadata.clone()), [path], "{metadata}");
    }
}

#[test]
fn a_cluster_scoped_object_has_no_namespace() {
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
        "metadata": { "name": "s", "namespace": "n" },
    });
    assert_eq!(refused(&object), ["metadata.namespace"]);
}
