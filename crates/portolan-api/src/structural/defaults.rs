//! Filling in defaults. Runs before validation, as in the API server: a required field with a default may be left out,
//! and a null where no null is allowed counts as left out.

use serde_json::Value;

use super::compile::Node;

pub(super) fn root(node: &Node, object: &mut Value) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    for (name, property) in &node.properties {
        if !is_envelope(name) {
            fill(property, fields, name);
        }
    }
}

/// The fields every object has, which a schema describes but does not govern.
pub(super) fn is_envelope(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

fn apply(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &node.properties {
                fill(property, fields, name);
            }
            if let Some(additional) = &node.additional {
                for (name, value) in fields.iter_mut() {
                    if !node.properties.contains_key(name) {
                        apply(additional, value);
                    }
                }
            }
        }
        Value::Array(items) => {
            if let Some(node) = &node.items {
                items.iter_mut().for_each(|item| apply(node, item));
            }
        }
        _ => {}
    }
}

fn fill(property: &Node, fields: &mut serde_json::Map<String, Value>, name: &str) {
    if fields
        .get(name)
        .is_some_and(|value| value.is_null() && !property.nullable)
    {
        fields.remove(name);
    }
    if let (None, Some(default)) = (fields.get(name), &property.default) {
        fields.insert(name.to_owned(), default.clone());
    }
    if let Some(value) = fields.get_mut(name) {
        apply(property, value);
    }
}
