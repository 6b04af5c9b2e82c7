//! Lists in a strategic merge patch: elements, `$patch` inside lists, and order.

use std::collections::{BTreeSet, HashMap, HashSet};

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
            let mut seen = HashSet::with_capacity(live.len() + patch.len());
            let both = live.iter().chain(patch);
            let merged = both.filter(|value| seen.insert(*value)).cloned().collect();
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
    let mut doomed = HashSet::new();
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
                doomed.insert(fields.get(key).ok_or_else(|| no_merge_key(fields, key))?);
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
    if !doomed.is_empty() {
        live.retain(|element| element.get(key).is_none_or(|value| !doomed.contains(value)));
    }
    Ok((live, plain))
}

/// How often a patch may name one element of a list. Each time merges the whole element, which may be as large as the
/// object; no tool names an element twice.
const MOST_TIMES: usize = 10;

fn merge_elements(
    mut live: Vec<Value>,
    patch: &[&Map<String, Value>],
    key: &str,
    rules: &'static Field,
) -> Result<Vec<Value>, PatchError> {
    // Where the elements of each key are; one that is there more than once is merged where it comes first.
    let mut places: HashMap<Value, BTreeSet<usize>> = HashMap::with_capacity(live.len());
    for (at, element) in live.iter().enumerate() {
        if let Some(value) = element.get(key) {
            places.entry(value.clone()).or_default().insert(at);
        }
    }
    let mut times: HashMap<&Value, usize> = HashMap::with_capacity(patch.len());
    for fields in patch {
        let value = fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
        let times = times.entry(value).or_default();
        *times += 1;
        if *times > MOST_TIMES {
            return Err(PatchError::Unprocessable(format!(
                "the patch names the element with {key} {value} more than {MOST_TIMES} times; accepted: each element once"
            )));
        }
        let found = places.get(value).and_then(BTreeSet::first).copied();
        let at = found.unwrap_or(live.len());
        match live.get_mut(at) {
            Some(Value::Object(element)) => {
                let merged = merge_objects(std::mem::take(element), fields, rules)?;
                *element = merged;
            }
            _ => live.push(without_directives(&Value::Object((*fields).clone()))),
        }
        // Directives in the element can change even the field that it is told apart by.
        let merged = live.get(at).and_then(|element| element.get(key));
        if found.is_some() && merged == Some(value) {
            continue;
        }
        if let (Some(_), Some(others)) = (found, places.get_mut(value)) {
            others.remove(&at);
        }
        if let Some(merged) = merged {
            places.entry(merged.clone()).or_default().insert(at);
        }
    }
    Ok(live)
}

/// The order of the result: named elements as named, the others as they were, interleaved as they were where that
/// does not contradict the first.
fn in_order(merged: Vec<Value>, order: &[Value], before: &[Value], key: Option<&str>) -> Vec<Value> {
    let (order, before) = (Positions::of(order, key), Positions::of(before, key));
    let (mut named, others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| order.position(item).is_some());
    named.sort_by_cached_key(|item| order.position(item));
    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut named = named.into_iter().peekable();
    for other in others {
        let own = before.position(&other);
        while let Some(next) = named.peek() {
            let precedes = matches!((own, before.position(next)), (Some(own), Some(its)) if own < its);
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

/// Where each element of a list comes first. A search through the list for each element would take the product of two
/// lengths, both of which a client chooses.
struct Positions<'v> {
    key: Option<&'v str>,
    first: HashMap<&'v Value, usize>,
}

impl<'v> Positions<'v> {
    fn of(list: &'v [Value], key: Option<&'v str>) -> Self {
        let mut first = HashMap::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            if let Some(identity) = identity(item, key) {
                first.entry(identity).or_insert(at);
            }
        }
        Self { key, first }
    }

    fn position(&self, item: &Value) -> Option<usize> {
        self.first.get(identity(item, self.key)?).copied()
    }
}

/// What tells an element apart from others: the value of its key, or all of it where the list has none.
fn identity<'v>(item: &'v Value, key: Option<&str>) -> Option<&'v Value> {
    match key {
        Some(key) => item.get(key),
        None => Some(item),
    }
}

fn same(left: &Value, right: &Value, key: Option<&str>) -> bool {
    let left = identity(left, key);
    left.is_some() && left == identity(right, key)
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
