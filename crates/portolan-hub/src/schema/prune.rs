//! Drops what the schema does not know, and says what that was.

use serde_json::Value;

use super::{Schema, join};

/// Removes unknown fields from a whole object and returns their paths. The fields every object has are kept.
pub(crate) fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    node(schema, value, true, "", &mut unknown);
    unknown
}

/// Whether a value that is not a whole object has fields that the schema does not know.
pub(super) fn unknown_in(schema: &Schema, value: &Value) -> bool {
    let mut unknown = Vec::new();
    node(
        schema,
        &mut value.clone(),
        schema.embedded_resource,
        "",
        &mut unknown,
    );
    !unknown.is_empty()
}

fn node(schema: &Schema, value: &mut Value, resource: bool, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| {
                let known = schema.preserve_unknown
                    || schema.field(key).is_some()
                    || (resource && matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
                if !known {
                    unknown.push(join(path, key));
                }
                known
            });
            for (key, value) in map {
                // The metadata of a resource has its own rules, whatever the schema says of it.
                if resource && key == "metadata" {
                    continue;
                }
                if let Some(field) = schema.field(key) {
                    node(field, value, field.embedded_resource, &join(path, key), unknown);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (i, item) in items.iter_mut().enumerate() {
                    node(
                        schema,
                        item,
                        schema.embedded_resource,
                        &format!("{path}[{i}]"),
                        unknown,
                    );
                }
            }
        }
        _ => {}
    }
}
