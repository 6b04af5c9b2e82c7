//! Fields that a schema does not have.

use serde_json::Value;

use super::MAX_ERRORS;
use super::compile::Node;
use super::defaults::is_envelope;
use super::metadata::FIELDS as METADATA_FIELDS;
use crate::field::Path;

/// A field that the schema does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// Where.
    pub path: String,
    /// Its name, shortened like everything in an error.
    pub name: String,
    /// The names the schema has in its place.
    pub siblings: Vec<String>,
}

pub(super) fn root(node: &Node, object: &Value) -> Vec<UnknownField> {
    let mut found = Vec::new();
    let Some(fields) = object.as_object() else {
        return found;
    };
    for (name, value) in fields {
        let path = Path::ROOT.field(name);
        if name == "metadata" {
            metadata(value, &path, &mut found);
        } else if !is_envelope(name) {
            field(node, name, value, &path, &mut found);
        }
    }
    found
}

fn walk(node: &Node, value: &Value, path: &Path<'_>, found: &mut Vec<UnknownField>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = path.field(name);
                match name.as_str() {
                    "metadata" if node.embedded => metadata(value, &path, found),
                    "apiVersion" | "kind" if node.embedded => {}
                    _ => field(node, name, value, &path, found),
                }
            }
        }
        Value::Array(items) => {
            if let Some(node) = &node.items {
                for (position, item) in items.iter().enumerate() {
                    walk(node, item, &path.index(position), found);
                }
            }
        }
        _ => {}
    }
}

fn field(node: &Node, name: &str, value: &Value, path: &Path<'_>, found: &mut Vec<UnknownField>) {
    if found.len() >= MAX_ERRORS {
        return;
    }
    if let Some(property) = node.properties.get(name) {
        walk(property, value, path, found);
    } else if let Some(additional) = &node.additional {
        walk(additional, value, path, found);
    } else if !node.preserve_unknown {
        found.push(UnknownField {
            path: path.to_string(),
            name: name.chars().take(64).collect(),
            siblings: node.properties.keys().cloned().collect(),
        });
    }
}

fn metadata(value: &Value, path: &Path<'_>, found: &mut Vec<UnknownField>) {
    let fields = value.as_object().into_iter().flatten();
    for (name, _) in fields.filter(|(name, _)| !METADATA_FIELDS.contains(&name.as_str())) {
        if found.len() < MAX_ERRORS {
            found.push(UnknownField {
                path: path.field(name).to_string(),
                name: name.chars().take(64).collect(),
                siblings: METADATA_FIELDS.iter().map(ToString::to_string).collect(),
            });
        }
    }
}
