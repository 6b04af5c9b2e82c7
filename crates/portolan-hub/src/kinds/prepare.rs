//! The few things a built-in kind does with its objects on a write that neither schema nor traits can say.

use base64::Engine as _;
use serde_json::{Value, json};

use super::{Resource, definition};
use crate::schema::FieldError;

/// Completes an object that is about to be created or replaced.
pub(crate) fn complete(resource: &Resource, object: &mut Value, old: Option<&Value>) {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => namespace(object, old),
        ("", "Secret") => secret(object),
        (definition::GROUP, "CustomResourceDefinition") => definition::complete(object),
        _ => {}
    }
}

/// What is wrong with it beyond its schema.
pub(crate) fn check(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match (resource.group.as_str(), resource.kind.as_str()) {
        (definition::GROUP, "CustomResourceDefinition") => definition::check(object),
        ("", "ConfigMap" | "Secret") => immutable(object, old),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => role_ref(object, old),
        _ => Vec::new(),
    }
}

fn namespace(object: &mut Value, old: Option<&Value>) {
    let name = object.pointer("/metadata/name").cloned().unwrap_or_default();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".into(), name);
        }
    }
    // Both belong to the server: only deletion changes them.
    object["spec"] = old.map_or_else(
        || json!({"finalizers": ["kubernetes"]}),
        |old| old["spec"].clone(),
    );
    if old.is_none() {
        object["status"] = json!({"phase": "Active"});
    }
}

fn secret(object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let Some(Value::Object(plain)) = object.remove("stringData") else {
        return;
    };
    let data = object.entry("data").or_insert_with(|| json!({}));
    if let Some(data) = data.as_object_mut() {
        for (key, value) in plain {
            let text = value.as_str().unwrap_or_default();
            data.insert(key, base64::engine::general_purpose::STANDARD.encode(text).into());
        }
    }
}

fn immutable(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let Some(old) = old.filter(|old| old["immutable"] == true) else {
        return Vec::new();
    };
    let detail = "field is immutable when `immutable` is set";
    let changed = |field: &&str| old[*field] != object[*field];
    let fields = ["immutable", "data", "binaryData", "stringData"].into_iter();
    fields
        .filter(changed)
        .map(|field| FieldError::forbidden(field, detail))
        .collect()
}

fn role_ref(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match old {
        Some(old) if old["roleRef"] != object["roleRef"] => {
            vec![FieldError::invalid(
                "roleRef",
                &object["roleRef"],
                "cannot change roleRef",
            )]
        }
        _ => Vec::new(),
    }
}
