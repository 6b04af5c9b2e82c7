//! Merging a configuration into the live object, and taking fields out of it again.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::typed::{Key, Typed, child, item};
use super::path::PathElement;
use super::set::FieldSet;
use super::walk::{Shape, element_of, index, shape};

/// The live value with the configuration laid over it. Nothing is removed here.
pub(super) fn merge(live: Option<&Value>, config: &Value, typed: &dyn Typed) -> Value {
    match (shape(typed, config), live, config) {
        (Shape::Object, Some(Value::Object(old)), Value::Object(new)) => {
            Value::Object(merge_fields(old, new, typed))
        }
        (Shape::Object, None | Some(_), Value::Object(new)) => {
            Value::Object(merge_fields(&Map::new(), new, typed))
        }
        // Null says nothing about the parts of an object or list, and owns none of them.
        (Shape::Object, Some(Value::Object(old)), Value::Null) if !old.is_empty() => {
            Value::Object(old.clone())
        }
        (Shape::List(_), Some(Value::Array(old)), Value::Null) if !old.is_empty() => {
            Value::Array(old.clone())
        }
        (Shape::List(keys), Some(Value::Array(old)), Value::Array(new)) if !old.is_empty() => {
            Value::Array(merge_items(old, new, typed, keys))
        }
        (Shape::List(_), _, Value::Array(new)) => {
            Value::Array(new.iter().map(|value| merge(None, value, item(typed))).collect())
        }
        _ => config.clone(),
    }
}

fn merge_fields(old: &Map<String, Value>, new: &Map<String, Value>, typed: &dyn Typed) -> Map<String, Value> {
    let mut merged = old.clone();
    for (name, value) in new {
        let value = merge(old.get(name), value, child(typed, name));
        merged.insert(name.clone(), value);
    }
    merged
}

/// Elements of both lists in the configuration's order, with the live list's own elements where they were relative
/// to those.
fn merge_items(old: &[Value], new: &[Value], typed: &dyn Typed, keys: &[Key]) -> Vec<Value> {
    let existing = index(typed, keys, old);
    let wanted: Vec<(Option<PathElement>, &Value)> = new
        .iter()
        .map(|value| (element_of(typed, keys, value).ok(), value))
        .collect();
    let named: BTreeSet<&PathElement> = wanted
        .iter()
        .filter_map(|(element, _)| element.as_ref())
        .collect();
    let merged = |(element, value): &(Option<PathElement>, &Value)| {
        let same = element.as_ref().and_then(|element| existing.get(element));
        let single = same.filter(|values| values.len() == 1).map(|values| values[0]);
        merge(single, value, item(typed))
    };
    // The places in the configuration of the elements that both lists have, in order. A search from each element of the live
    // list would take the product of two lengths, both of which a client chooses.
    let mut shared = wanted.iter().enumerate().filter_map(|(at, (element, _))| {
        let element = element.as_ref()?;
        existing.contains_key(element).then_some((at, element))
    });
    let mut next = shared.next();
    let mut result = Vec::with_capacity(old.len() + new.len());
    let mut done = 0;
    for value in old {
        let element = element_of(typed, keys, value).ok();
        let Some(element) = element.filter(|element| named.contains(element)) else {
            result.push(value.clone());
            continue;
        };
        // Only the next element both lists have marks a place; others come when the configuration says so.
        if let Some((at, marks)) = next
            && *marks == element
        {
            result.extend(wanted[done..=at].iter().map(merged));
            done = at + 1;
            next = shared.next();
        }
    }
    result.extend(wanted[done..].iter().map(merged));
    result
}

/// The value without the members of a set. Containers stay, if only empty, unless they are members themselves.
pub(super) fn remove(value: &Value, doomed: &FieldSet, typed: &dyn Typed) -> Value {
    match (shape(typed, value), value) {
        (Shape::Object, Value::Object(fields)) => {
            let kept = fields.iter().filter_map(|(name, value)| {
                let kept = remove_element(value, &PathElement::field(name), doomed, child(typed, name))?;
                Some((name.clone(), kept))
            });
            Value::Object(kept.collect())
        }
        (Shape::List(keys), Value::Array(items)) => {
            let kept = items
                .iter()
                .filter_map(|value| match element_of(typed, keys, value) {
                    Ok(element) => remove_element(value, &element, doomed, item(typed)),
                    Err(_) => Some(value.clone()),
                });
            Value::Array(kept.collect())
        }
        _ => value.clone(),
    }
}

fn remove_element(
    value: &Value,
    element: &PathElement,
    doomed: &FieldSet,
    typed: &dyn Typed,
) -> Option<Value> {
    match doomed.nodes.get(element) {
        None => Some(value.clone()),
        Some(node) if node.owned => None,
        Some(node) => Some(remove(value, &node.below, typed)),
    }
}
