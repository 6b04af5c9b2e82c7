//! The rules of object metadata.

use serde_json::{Map, Value};

use super::syntax::{self, is_dns_label, is_dns_subdomain, is_label_value, is_qualified_name, is_time};
use super::{Errors, MAX_ERRORS};
use crate::count::counted;
use crate::field::{FieldError, Path};

/// The fields of object metadata.
pub(super) const FIELDS: &[&str] = &[
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// How many bytes all annotations of an object may have together.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// Longest key of a label or annotation: a DNS subdomain, a slash and a name.
const MAX_KEY: usize = 253 + 1 + 63;

/// Checks the metadata of a whole object. `namespaced` says where its kind lives, if that is known.
pub(super) fn validate(object: &Value, namespaced: Option<bool>, found: &mut Vec<FieldError>) {
    let mut errors = Errors::new(MAX_ERRORS.saturating_sub(found.len()));
    let path = Path::ROOT.field("metadata");
    match object.get("metadata") {
        None => errors.missing(&path, "an object with a name"),
        Some(Value::Object(metadata)) => {
            let generated = metadata
                .get("generateName")
                .and_then(Value::as_str)
                .is_some_and(|name| !name.is_empty());
            if !metadata.contains_key("name") && !generated {
                errors.missing(&path.field("name"), syntax::DNS_SUBDOMAIN);
            }
            if namespaced == Some(false)
                && let Some(namespace) = metadata.get("namespace").filter(|namespace| **namespace != "")
            {
                let problem = "objects of this kind live outside of namespaces";
                errors.push(&path.field("namespace"), namespace, problem, "no namespace");
            }
            fields(metadata, &path, &mut errors);
        }
        Some(other) => errors.push(&path, other, "not an object", "an object with a name"),
    }
    found.extend(errors.found);
}

/// Checks the metadata of an object inside another one, which needs no name.
pub(super) fn embedded(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    match metadata {
        Value::Object(metadata) => fields(metadata, path, errors),
        other => errors.push(path, other, "not an object", "an object"),
    }
}

fn fields(metadata: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    for (name, value) in metadata {
        let path = path.field(name);
        match name.as_str() {
            "name" => text(value, &path, is_dns_subdomain, syntax::DNS_SUBDOMAIN, errors),
            "namespace" => text(
                value,
                &path,
                |name| name.is_empty() || is_dns_label(name),
                syntax::DNS_LABEL,
                errors,
            ),
            "generateName" => text(value, &path, is_prefix, "the beginning of a name", errors),
            "labels" => map(value, &path, false, errors),
            "annotations" => map(value, &path, true, errors),
            "creationTimestamp" | "deletionTimestamp" if !value.is_null() => {
                text(value, &path, is_time, syntax::TIME, errors);
            }
            "finalizers" => finalizers(value, &path, errors),
            "ownerReferences" => owners(value, &path, errors),
            "generation" | "deletionGracePeriodSeconds" if !value.is_i64() && !value.is_null() => {
                errors.push(&path, value, "not an integer", "an integer");
            }
            "uid" | "resourceVersion" | "selfLink" => text(value, &path, |_| true, "a string", errors),
            _ => {}
        }
    }
}

fn text(value: &Value, path: &Path<'_>, check: impl Fn(&str) -> bool, accepted: &str, errors: &mut Errors) {
    match value.as_str() {
        None => errors.push(path, value, "not a string", accepted),
        Some(text) if !check(text) => errors.push(path, value, "another form is needed", accepted),
        Some(_) => {}
    }
}

fn is_prefix(text: &str) -> bool {
    text.is_empty() || is_dns_subdomain(&format!("{}0", text.get(..text.len().min(253)).unwrap_or("-")))
}

fn map(value: &Value, path: &Path<'_>, annotations: bool, errors: &mut Errors) {
    let entries = match value {
        Value::Null => return,
        Value::Object(entries) => entries,
        other => return errors.push(path, other, "not an object", "an object of strings"),
    };
    let mut size = 0;
    for (key, value) in entries {
        if errors.full() {
            return;
        }
        let path = path.field(key);
        // Annotation keys are compared without regard to case.
        let key_is_fine = key.len() <= MAX_KEY
            && if annotations {
                is_qualified_name(&key.to_ascii_lowercase())
            } else {
                is_qualified_name(key)
            };
        if !key_is_fine {
            let shown: String = key.chars().take(MAX_KEY).collect();
            errors.push(&path, &shown.into(), "not a valid key", syntax::QUALIFIED_NAME);
        }
        if annotations {
            text(value, &path, |_| true, "a string", errors);
        } else {
            text(value, &path, is_label_value, syntax::LABEL_VALUE, errors);
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if annotations && size > MAX_ANNOTATION_BYTES {
        let problem = format!("{} in all annotations together", counted(size, "byte"));
        errors.push(
            path,
            value,
            problem,
            format!("at most {MAX_ANNOTATION_BYTES} bytes"),
        );
    }
}

fn finalizers(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    match value {
        Value::Null => {}
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                text(
                    item,
                    &path.index(position),
                    is_qualified_name,
                    syntax::QUALIFIED_NAME,
                    errors,
                );
            }
        }
        other => errors.push(path, other, "not a list", "a list of strings"),
    }
}

fn owners(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    let owners = match value {
        Value::Null => return,
        Value::Array(owners) => owners,
        other => return errors.push(path, other, "not a list", "a list of owner references"),
    };
    for (position, owner) in owners.iter().enumerate() {
        let path = path.index(position);
        // Only a server knows uids: a manifest of an owned object, such as the seed's own example, has none.
        match owner.get("uid") {
            None => {}
            Some(uid) => text(uid, &path.field("uid"), |_| true, "a string", errors),
        }
        for name in ["apiVersion", "kind", "name"] {
            let path = path.field(name);
            match owner.get(name) {
                None => errors.missing(&path, "a string that is not empty"),
                Some(value) => text(
                    value,
                    &path,
                    |text| !text.is_empty(),
                    "a string that is not empty",
                    errors,
                ),
            }
        }
    }
    let controllers = owners
        .iter()
        .filter(|owner| owner.get("controller") == Some(&Value::Bool(true)))
        .count();
    if controllers > 1 {
        errors.push(
            path,
            value,
            format!("{controllers} controllers"),
            "at most one owner with controller: true",
        );
    }
}
