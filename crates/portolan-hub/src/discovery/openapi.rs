//! OpenAPI v3, one document per group and version: what `kubectl explain` shows and `kubectl apply` validates by.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::kinds::{Registry, Resource};

/// The list of documents, each under a name that changes with its content.
pub(super) fn index(registry: &Registry) -> &Value {
    registry.openapi.get(|| made(registry))
}

/// Makes the index. Every document is made for its hash.
fn made(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for (group, versions) in registry.groups() {
        for version in versions {
            let Some(document) = document(registry, group, version) else {
                continue;
            };
            let path = if group.is_empty() {
                format!("api/{version}")
            } else {
                format!("apis/{group}/{version}")
            };
            let url = format!("/openapi/v3/{path}?hash={}", hash(&document.to_string()));
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

pub(super) fn hash(document: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(document)
        .iter()
        .take(16)
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02X}");
            text
        })
}

pub(super) fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for resource in registry.in_version(group, version) {
        schemas.insert(schema_name(resource), schema(resource));
        schemas.insert(format!("{}List", schema_name(resource)), list_schema(resource));
        add_paths(&mut paths, resource);
    }
    if schemas.is_empty() {
        return None;
    }
    schemas.insert(OBJECT_META.into(), object_meta());
    Some(json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": super::VERSION}, "paths": paths,
        "components": {"schemas": schemas},
    }))
}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The usual name: the group's parts reversed, the version, the kind.
fn schema_name(resource: &Resource) -> String {
    let group = match resource.group.as_str() {
        "" => "io.k8s.api.core".to_owned(),
        group if !group.contains('.') => format!("io.k8s.api.{group}"),
        group => group.split('.').rev().collect::<Vec<_>>().join("."),
    };
    format!("{group}.{}.{}", resource.version, resource.kind)
}

fn group_version_kind(resource: &Resource, kind: &str) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": kind})
}

fn schema(resource: &Resource) -> Value {
    let mut schema = (*resource.source).clone();
    let text = |description: &str| json!({"type": "string", "description": description});
    let properties = schema
        .as_object_mut()
        .map(|schema| schema.entry("properties").or_insert_with(|| json!({})));
    if let Some(properties) = properties.and_then(Value::as_object_mut) {
        properties.insert(
            "apiVersion".into(),
            text("APIVersion defines the versioned schema of this representation of an object."),
        );
        properties.insert(
            "kind".into(),
            text("Kind is the REST resource this object represents."),
        );
        let reference = json!([{"$ref": format!("#/components/schemas/{OBJECT_META}")}]);
        properties.insert(
            "metadata".into(),
            json!({"description": "Standard object's metadata.", "allOf": reference, "default": {}}),
        );
    }
    schema["x-kubernetes-group-version-kind"] = json!([group_version_kind(resource, &resource.kind)]);
    schema
}

fn list_schema(resource: &Resource) -> Value {
    let item = json!({"$ref": format!("#/components/schemas/{}", schema_name(resource))});
    json!({
        "type": "object", "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "items": {"type": "array", "items": item},
        },
        "x-kubernetes-group-version-kind": [group_version_kind(resource, &resource.list_kind)],
    })
}

fn add_paths(paths: &mut Map<String, Value>, resource: &Resource) {
    let base = if resource.group.is_empty() {
        "/api".to_owned()
    } else {
        format!("/apis/{}", resource.group)
    };
    let base = format!("{base}/{}", resource.version);
    let scope = if resource.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{base}{scope}/{}", resource.plural);
    if resource.traits.review {
        paths.insert(collection, json!({"post": operation(resource, "post")}));
        return;
    }
    let one = format!("{collection}/{{name}}");
    let all = |verbs: &[(&str, &str)]| -> Value {
        verbs
            .iter()
            .map(|(method, action)| ((*method).to_owned(), operation(resource, action)))
            .collect::<Map<_, _>>()
            .into()
    };
    paths.insert(
        collection,
        all(&[("get", "list"), ("post", "post"), ("delete", "deletecollection")]),
    );
    let single = [
        ("get", "get"),
        ("put", "put"),
        ("patch", "patch"),
        ("delete", "delete"),
    ];
    paths.insert(one.clone(), all(&single));
    if resource.status {
        paths.insert(format!("{one}/status"), all(&single[..3]));
    }
}

/// An operation. kubectl looks for `fieldValidation` among the parameters of the patch to learn whether the server
/// validates.
fn operation(resource: &Resource, action: &str) -> Value {
    let parameter =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let names: &[&str] = match action {
        "patch" => &["dryRun", "fieldManager", "fieldValidation", "force"],
        "post" | "put" => &["dryRun", "fieldManager", "fieldValidation"],
        "list" | "deletecollection" => &[
            "labelSelector",
            "fieldSelector",
            "limit",
            "continue",
            "resourceVersion",
            "resourceVersionMatch",
            "watch",
        ],
        "delete" => &["dryRun", "gracePeriodSeconds", "propagationPolicy"],
        _ => &[],
    };
    let content = json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{}", schema_name(resource))}}});
    json!({
        "parameters": names.iter().map(|name| parameter(name)).collect::<Vec<_>>(),
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": group_version_kind(resource, &resource.kind),
    })
}

fn object_meta() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let strings = |description: &str| json!({"type": "object", "description": description, "additionalProperties": {"type": "string"}});
    let number = json!({"type": "integer", "format": "int64"});
    json!({
        "type": "object",
        "description": "ObjectMeta is metadata that all persisted resources must have, which includes all objects users must create.",
        "properties": {
            "name": text("Name must be unique within a namespace."),
            "generateName": text("GenerateName is a prefix used by the server to generate a unique name."),
            "namespace": text("Namespace defines the space within which each name must be unique."),
            "uid": text("UID is the unique in time and space value for this object."),
            "selfLink": text("Deprecated."),
            "resourceVersion": text("An opaque value that represents the internal version of this object."),
            "generation": number,
            "creationTimestamp": {"type": "string", "format": "date-time"},
            "deletionTimestamp": {"type": "string", "format": "date-time"},
            "deletionGracePeriodSeconds": number,
            "labels": strings("Map of string keys and values that can be used to organize and categorize objects."),
            "annotations": strings("Annotations is an unstructured key value map stored with a resource."),
            "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "ownerReferences": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "items": {"type": "object", "required": ["apiVersion", "kind", "name", "uid"], "properties": {
                    "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"},
                    "uid": {"type": "string"}, "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
                }},
            },
            "managedFields": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        },
    })
}
