//! OpenAPI v3, one document per group and version: what `kubectl explain` shows and `kubectl apply` validates by.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::kinds::{Registry, Resource, definition_of_built_in_kinds as definition};
use crate::schema::REFERENCE;

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
    let mut referred = vec![OBJECT_META.to_owned()];
    for resource in registry.in_version(group, version) {
        let mut schema = schema(resource);
        if !resource.traits.custom {
            refer(&mut schema, &mut referred);
        }
        schemas.insert(schema_name(resource), schema);
        schemas.insert(format!("{}List", schema_name(resource)), list_schema(resource));
        add_paths(&mut paths, resource);
    }
    if schemas.is_empty() {
        return None;
    }
    while let Some(name) = referred.pop() {
        if let Some(definition) = definition(&name).filter(|_| !schemas.contains_key(&name)) {
            let mut definition = definition.clone();
            refer(&mut definition, &mut referred);
            schemas.insert(name, definition);
        }
    }
    Some(json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": super::VERSION}, "paths": paths,
        "components": {"schemas": schemas},
    }))
}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Collects what a schema refers to. Nothing may stand beside a reference in these documents, so the reference moves into an
/// `allOf`, as in those of Kubernetes.
fn refer(schema: &mut Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            let name = map.get("$ref").and_then(Value::as_str);
            if let Some(name) = name.and_then(|reference| reference.strip_prefix(REFERENCE)) {
                names.push(name.to_owned());
                if map.len() > 1 {
                    let reference = json!([{"$ref": map.remove("$ref")}]);
                    map.remove("properties");
                    map.insert("allOf".into(), reference);
                }
                return;
            }
            map.values_mut().for_each(|value| refer(value, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| refer(value, names)),
        _ => {}
    }
}

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
        let reference = json!([{"$ref": format!("{REFERENCE}{OBJECT_META}")}]);
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
