//! Strategic merge patch: a merge patch that knows which lists merge and by which field, plus directives.
//!
//! Only built-in kinds take it; the server answers 415 for custom resources.

mod list;

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::builtin::Field;
use super::error::PatchError;

/// `$patch: replace | merge | delete` in an object or in a list's element.
const PATCH: &str = "$patch";
/// `$retainKeys: [..]` in an object: every other field goes.
const RETAIN_KEYS: &str = "$retainKeys";
/// `$deleteFromPrimitiveList/<field>: [..]` beside a list of scalars.
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
/// `$setElementOrder/<field>: [..]` beside a merging list.
const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// Applies a strategic merge patch with the rules of the object's kind.
pub(crate) fn strategic(live: &Value, patch: &Value, rules: &'static Field) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::BadRequest("invalid JSON document".into()));
    };
    let Value::Object(live) = live else {
        return Err(PatchError::BadRequest("invalid JSON document".into()));
    };
    merge_objects(live.clone(), patch, rules).map(Value::Object)
}

fn merge_objects(
    mut live: Map<String, Value>,
    patch: &Map<String, Value>,
    rules: &'static Field,
) -> Result<Map<String, Value>, PatchError> {
    match patch.get(PATCH).map(|directive| (directive, directive.as_str())) {
        None => {}
        Some((_, Some("replace"))) => {
            let mut replacement = patch.clone();
            replacement.remove(PATCH);
            return Ok(replacement);
        }
        Some((_, Some("delete"))) => return Ok(Map::new()),
        // `merge` is documented as the default, yet the server refuses to see it spelled out, and so do we.
        Some((directive, _)) => return Err(unknown_patch_type(directive, patch)),
    }
    retain_keys(&mut live, patch)?;
    let ordered = merge_ordered_lists(&mut live, patch, rules)?;
    for (key, value) in patch {
        if key == PATCH || key == RETAIN_KEYS || directive_target(key, SET_ELEMENT_ORDER).is_some() {
            continue;
        }
        if let Some(target) = directive_target(key, DELETE_FROM_LIST) {
            delete_from_list(&mut live, target?, value)?;
        } else if !ordered.contains(key.as_str()) {
            merge_field(&mut live, key, value, rules.member(key))?;
        }
    }
    Ok(live)
}

fn merge_field(
    live: &mut Map<String, Value>,
    key: &str,
    value: &Value,
    rules: &'static Field,
) -> Result<(), PatchError> {
    if value.is_null() {
        live.remove(key);
        return Ok(());
    }
    let merged = match (live.remove(key), value) {
        (Some(Value::Object(old)), Value::Object(new)) => Value::Object(merge_objects(old, new, rules)?),
        (Some(Value::Array(old)), Value::Array(new)) => Value::Array(list::merge(old, new, rules)?),
        _ => without_directives(value),
    };
    live.insert(key.to_owned(), merged);
    Ok(())
}

/// Where nothing is there to merge with, the patch's value becomes the value; instructions and deletions in it have
/// nothing to act on.
fn without_directives(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(key, value)| !is_directive(key) && !value.is_null())
                .map(|(key, value)| (key.clone(), without_directives(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(
            items
                .iter()
                .filter(|item| item.get(PATCH).is_none())
                .map(without_directives)
                .collect(),
        ),
        other => other.clone(),
    }
}

fn is_directive(key: &str) -> bool {
    key == PATCH
        || key == RETAIN_KEYS
        || directive_target(key, DELETE_FROM_LIST).is_some()
        || directive_target(key, SET_ELEMENT_ORDER).is_some()
}

fn retain_keys(live: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), PatchError> {
    let Some(directive) = patch.get(RETAIN_KEYS) else {
        return Ok(());
    };
    let Some(kept) = directive.as_array() else {
        return Err(PatchError::BadRequest(
            "invalid patch format of retainKeys".into(),
        ));
    };
    let kept: HashSet<&str> = kept.iter().filter_map(Value::as_str).collect();
    let foreign = |(key, value): (&String, &Value)| {
        !value.is_null() && !is_directive(key) && !kept.contains(key.as_str())
    };
    if patch.iter().any(foreign) {
        return Err(PatchError::BadRequest(
            "invalid patch format of retainKeys".into(),
        ));
    }
    live.retain(|key, _| kept.contains(key.as_str()));
    Ok(())
}

/// Merges the lists that come with `$setElementOrder` and returns their names, so that they are not merged again.
fn merge_ordered_lists<'p>(
    live: &mut Map<String, Value>,
    patch: &'p Map<String, Value>,
    rules: &'static Field,
) -> Result<HashSet<&'p str>, PatchError> {
    let mut done = HashSet::new();
    for (key, order) in patch {
        let Some(target) = directive_target(key, SET_ELEMENT_ORDER) else {
            continue;
        };
        let target = target?;
        let order = as_list(order)?;
        let rule = rules.member(target);
        let additions = match patch.get(target) {
            None | Some(Value::Null) => None,
            Some(value) => Some(as_list(value)?),
        };
        if patch.get(target).is_some_and(Value::is_null) {
            continue;
        }
        let existing = match live.get(target) {
            None | Some(Value::Null) => None,
            Some(value) => Some(as_list(value)?.clone()),
        };
        done.insert(target);
        if existing.is_none() && additions.is_none() {
            continue;
        }
        let merged = list::merge_in_order(existing, additions, order, rule)?;
        live.insert(target.to_owned(), Value::Array(merged));
    }
    Ok(done)
}

fn delete_from_list(live: &mut Map<String, Value>, target: &str, value: &Value) -> Result<(), PatchError> {
    if value.is_null() {
        live.remove(target);
        return Ok(());
    }
    if let (Some(Value::Array(items)), Value::Array(doomed)) = (live.get_mut(target), value) {
        let doomed: HashSet<&Value> = doomed.iter().collect();
        items.retain(|item| !doomed.contains(item));
    }
    Ok(())
}

/// The field a prefixed directive is about: `None` if it is another key, an error if the field is missing.
fn directive_target<'k>(key: &'k str, prefix: &str) -> Option<Result<&'k str, PatchError>> {
    let rest = key.strip_prefix(prefix)?;
    Some(rest.strip_prefix('/').ok_or_else(|| {
        let list = if prefix == DELETE_FROM_LIST {
            "primitive"
        } else {
            "setElementOrder"
        };
        PatchError::BadRequest(format!("invalid patch format of {list} list"))
    }))
}

fn as_list(value: &Value) -> Result<&Vec<Value>, PatchError> {
    value
        .as_array()
        .ok_or_else(|| PatchError::BadRequest("invalid patch format of setElementOrder list".into()))
}

fn unknown_patch_type(directive: &Value, patch: &Map<String, Value>) -> PatchError {
    let directive = directive
        .as_str()
        .map_or_else(|| directive.to_string(), str::to_owned);
    PatchError::Internal(format!(
        "unknown patch type: {directive} in map: {}",
        Value::Object(patch.clone())
    ))
}
