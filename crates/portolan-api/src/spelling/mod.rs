//! Spellings that are known to be wrong, with the right one.
//!
//! Design documents, blog posts and memory spell fields in ways that no definition has, and an API server drops such
//! a field without a word. This module walks an object along the schema of its kind, goes on below a field it
//! recognises under a wrong name, and reports every wrong spelling it can put right. A field that resembles nothing
//! is not reported; [`crate::structural::unknown_fields`] lists those.

mod known;
mod words;

use serde_json::Value;

use crate::duration::{self, DurationError};
use crate::field::{FieldError, Path, preview, quoted};
use crate::structural::compile::{Node, Type};
use crate::structural::{self, Kind, MAX_ERRORS};

/// Every spelling in an object that has a right counterpart. `kind` is used when the object itself does not say what
/// it is; pass the empty string if there is no idea.
pub fn misspellings(kind: &str, object: &Value) -> Vec<FieldError> {
    let mut found = Vec::new();
    let Some(kind) = resolve(kind, object) else {
        found.extend(misspelled_kind(object));
        return found;
    };
    let Some(fields) = object.as_object() else {
        return found;
    };
    known::label_keys(object, &mut found);
    for (name, value) in fields {
        if matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let place = Place { kind, parent: "" };
        field(&kind.schema.root, &place, name, value, &Path::ROOT, &mut found);
    }
    found.truncate(MAX_ERRORS);
    found
}

/// The name among `candidates` that someone who wrote `name` most likely meant: the same but for case, or at most two
/// letters away.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    words::closest(name, candidates)
}

/// What a field takes that has `text` instead of a duration: first the duration that is meant, where that is known (`48h` for
/// `2d`), then `form`, which is one of the texts of [`crate::duration`].
pub fn accepted_duration(text: &str, form: &str) -> String {
    match words::duration(text) {
        Some(meant) if form == duration::SIMPLE_DURATION => format!("{meant}; here a duration is {form}"),
        Some(meant) => format!("{meant}; durations are {form}"),
        None => form.to_owned(),
    }
}

/// What a selector or a toleration takes that has `text` for its operator: all operators, and the one that is meant, where
/// that is known.
pub fn accepted_operator(text: &str, path: &str) -> String {
    let accepted = match known::is_of_toleration(path) {
        true => "Equal or Exists",
        false => "In, NotIn, Exists or DoesNotExist",
    };
    match known::operator(text, path) {
        Some(meant) => format!("{accepted}; did you mean {meant}?"),
        None => accepted.to_owned(),
    }
}

fn resolve(kind: &str, object: &Value) -> Option<&'static Kind> {
    structural::kind_of(object)
        .ok()
        .or_else(|| structural::kinds().iter().find(|known| known.kind == kind))
}

fn misspelled_kind(object: &Value) -> Option<FieldError> {
    let kind = object.get("kind")?;
    let right = did_you_mean(
        kind.as_str()?,
        structural::kinds().iter().map(|known| known.kind.as_str()),
    )?;
    let accepted = format!("{right}, the right spelling");
    Some(FieldError::new("kind", kind, "there is no such kind", accepted))
}

/// Where the walk is: the kind, and the name of the field that holds the current object.
struct Place<'a> {
    kind: &'a Kind,
    parent: &'a str,
}

fn walk(node: &Node, place: &Place<'_>, value: &Value, path: &Path<'_>, found: &mut Vec<FieldError>) {
    if found.len() >= MAX_ERRORS {
        return;
    }
    match value {
        Value::Object(fields) if node.r#type == Some(Type::Object) => {
            for (name, value) in fields {
                field(node, place, name, value, path, found);
            }
        }
        Value::Array(items) => {
            let Some(node) = &node.items else { return };
            for (position, item) in items.iter().enumerate() {
                let path = path.index(position);
                if let Some(error) = known::bare_item(place.parent, item, &path) {
                    found.push(error);
                }
                walk(node, place, item, &path, found);
            }
        }
        Value::String(text) => scalar(node, place, text, value, path, found),
        _ => {}
    }
}

fn field(
    node: &Node,
    place: &Place<'_>,
    name: &str,
    value: &Value,
    path: &Path<'_>,
    found: &mut Vec<FieldError>,
) {
    let here = path.field(name);
    if let Some(property) = node.properties.get(name) {
        return walk(
            property,
            &Place {
                parent: name,
                ..*place
            },
            value,
            &here,
            found,
        );
    }
    if let Some(additional) = &node.additional {
        return walk(
            additional,
            &Place {
                parent: name,
                ..*place
            },
            value,
            &here,
            found,
        );
    }
    if node.preserve_unknown {
        return;
    }
    let right = known::field(&place.kind.group, &place.kind.kind, place.parent, name)
        .or_else(|| did_you_mean(name, node.properties.keys().map(String::as_str)));
    let Some(right) = right else { return };
    found.push(FieldError {
        path: here.to_string(),
        value: preview(value),
        problem: format!("there is no field {} here", quoted(name)),
        accepted: format!("{right}, the right spelling"),
    });
    if let Some((property, last)) = follow(node, right) {
        walk(
            property,
            &Place {
                parent: last,
                ..*place
            },
            value,
            &here,
            found,
        );
    }
}

/// The schema under a dotted name such as `groupClusterSelector.labelSelector`.
fn follow<'a>(node: &'a Node, dotted: &'a str) -> Option<(&'a Node, &'a str)> {
    dotted.split('.').try_fold((node, ""), |(node, _), name| {
        Some((node.properties.get(name)?, name))
    })
}

fn scalar(
    node: &Node,
    place: &Place<'_>,
    text: &str,
    value: &Value,
    path: &Path<'_>,
    found: &mut Vec<FieldError>,
) {
    if ["progressDeadline", "timeout", "minSuccessTime", "scoreRateLimit"].contains(&place.parent) {
        let form = match place.parent {
            "scoreRateLimit" => duration::SIMPLE_DURATION,
            _ => duration::DURATION,
        };
        return found.extend(words::duration(text).map(|_| FieldError {
            path: path.to_string(),
            value: preview(value),
            problem: DurationError::Syntax.to_string(),
            accepted: accepted_duration(text, form),
        }));
    }
    let right = match place.parent {
        "operator" => known::operator(text, &path.to_string()).map(str::to_owned),
        _ if !node.allowed.is_empty() && !node.allowed.contains(value) => {
            did_you_mean(text, node.allowed.iter().filter_map(Value::as_str)).map(str::to_owned)
        }
        _ => None,
    };
    if let Some(right) = right {
        found.push(FieldError {
            path: path.to_string(),
            value: preview(value),
            problem: "there is no such value".into(),
            accepted: format!("{right}, the right spelling"),
        });
    }
}
