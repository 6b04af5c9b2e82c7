//! Lists in a strategic merge patch: elements, `$patch` inside lists, and order.

use serde_json::{Map, Value};

use super::super::builtin::{Field, Strategy};
use super::super::error::PatchError;
use super::{PATCH, merge_objects, unknown_patch_type, without_directives};

/// Merges a patch's list into the live one by the list's strategy.
pub(super) fn merge(
    live: Vec<Value>,
    patch: &[Value],
    rules: &'static Field,
) -> Result<Vec<Value>, PatchError> {
    match rules.strategy() {
        Strategy::Default => Ok(replaced(patch)),
        Strategy::Merge => {
            refuse_nested_lists(&live, patch)?;
            let mut merged = Vec::with_capacity(live.len() + patch.len());
            for value in live.iter().chain(patch) {
                if !merged.contains(value) {
                    merged.push(value.clone());
                }
            }
            Ok(in_order(merged, patch, &live, None))
        }
        Strategy::MergeBy(key) => {
            refuse_nested_lists(&live, patch)?;
            let (live, additions) = take_directives(live, patch, key)?;
            let merged = merge_elements(live.clone(), &additions, key, rules.items())?;
            let order: Vec<Value> = additions.into_iter().cloned().map(Value::Object).collect();
            Ok(in_order(merged, &order, &live, Some(key)))
        }
    }
}

/// Merges like [`merge`] and then puts what `order` names into that order.
pub(super) fn merge_in_order(
    live: Option<Vec<Value>>,
    patch: Option<&Vec<Value>>,
    order: &[Value],
    rules: &'static Field,
) -> Result<Vec<Value>, PatchError> {
    let key = match rules.strategy() {
        Strategy::MergeBy(key) => Some(key),
        Strategy::Merge | Strategy::Default => None,
    };
    check_order(patch.map_or(&[], Vec::as_slice), order, key)?;
    let before = live.clone().unwrap_or_default();
    let merged = match (live, patch) {
        (Some(live), Some(patch)) => merge(live, patch, rules)?,
        (Some(live), None) => live,
        (None, patch) => replaced(patch.map_or(&[], Vec::as_slice)),
    };
    Ok(in_order(merged, order, &before, key))
}

fn replaced(patch: &[Value]) -> Vec<Value> {
    patch
        .iter()
        .filter(|item| item.get(PATCH).is_none())
        .map(without_directives)
        .collect()
}

fn refuse_nested_lists(live: &[Value], patch: &[Value]) -> Result<(), PatchError> {
    if live.iter().chain(patch).any(Value::is_array) {
        return Err(PatchError::Unprocessable(
            "lists of lists are not supported".into(),
        ));
    }
    Ok(())
}

/// What is left of the live list and of the patch once `$patch` elements are carried out.
type Rest<'p> = (Vec<Value>, Vec<&'p Map<String, Value>>);

fn take_directives<'p>(mut live: Vec<Value>, patch: &'p [Value], key: &str) -> Result<Rest<'p>, PatchError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replace = false;
    for item in patch {
        let Value::Object(fields) = item else {
            return Err(PatchError::Internal(format!(
                "expected a map[string]interface {{}}, but received a {}",
                go_type(item)
            )));
        };
        match fields.get(PATCH).map(|directive| (directive, directive.as_str())) {
            None => plain.push(fields),
            Some((_, Some("delete"))) => {
                let value = fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
                live.retain(|element| element.get(key) != Some(value));
            }
            Some((_, Some("replace"))) => replace = true,
            Some((_, Some("merge"))) => {
                return Err(PatchError::Internal(
                    "merging lists cannot yet be specified in the patch".into(),
                ));
            }
            Some((directive, _)) => return Err(unknown_patch_type(directive, fields)),
        }
    }
    if replace {
        live.clear();
    }
    Ok((live, plain))
}

fn merge_elements(
    mut live: Vec<Value>,
    patch: &[&Map<String, Value>],
    key: &str,
    rules: &'static Field,
) -> Result<Vec<Value>, PatchError> {
    for fields in patch {
        let value = fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
        let found = live.iter_mut().find(|element| element.get(key) == Some(value));
        match found {
            Some(Value::Object(element)) => {
                let merged = merge_objects(std::mem::take(element), fields, rules)?;
                *element = merged;
            }
            _ => live.push(without_directives(&Value::Object((*fields).clone()))),
        }
    }
    Ok(live)
}

/// The order of the result: named elements as named, the others as they were, interleaved as they were where that
/// does not contradict the first.
fn in_order(merged: Vec<Value>, order: &[Value], before: &[Value], key: Option<&str>) -> Vec<Value> {
    let position = |list: &[Value], item: &Value| list.iter().position(|other| same(other, item, key));
    let (mut named, others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| position(order, item).is_some());
    named.sort_by_key(|item| position(order, item));
    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut named = named.into_iter().peekable();
    for other in others {
        let own = position(before, &other);
        while let Some(next) = named.peek() {
            let precedes = matches!((own, position(before, next)), (Some(own), Some(its)) if own < its);
            if precedes {
                break;
            }
            result.extend(named.next());
        }
        result.push(other);
    }
    result.extend(named);
    result
}

fn same(left: &Value, right: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => left.get(key).is_some() && left.get(key) == right.get(key),
        None => left == right,
    }
}

/// A patch whose list contradicts its own `$setElementOrder` was computed wrongly; guessing would hide that.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    let mut rest = order.iter();
    for item in patch.iter().filter(|item| item.get(PATCH).is_none()) {
        if let Some(key) = key
            && item.get(key).is_none()
        {
            let fields = item.as_object().cloned().unwrap_or_default();
            return Err(no_merge_key(&fields, key));
        }
        if !order.is_empty() && !rest.any(|named| same(named, item, key)) {
            return Err(PatchError::Internal(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                Value::from(patch.to_vec()),
                Value::from(order.to_vec())
            )));
        }
    }
    Ok(())
}

fn no_merge_key(fields: &Map<String, Value>, key: &str) -> PatchError {
    PatchError::Internal(format!(
        "map: {} does not contain declared merge key: {key}",
        Value::Object(fields.clone())
    ))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
