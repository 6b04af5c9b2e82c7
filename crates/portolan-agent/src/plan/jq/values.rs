//! What jq makes of values: their order, their types, and the functions and relations that conditions ask for.

use std::cmp::Ordering;

use serde_json::Value;

use super::steps::{End, Found, Steps};
use super::{Comparison, Function, Relation};

pub(super) fn apply(function: Function, value: &Value) -> Found<Value> {
    Ok(match (function, value) {
        (Function::Not, value) => (!is_true(value)).into(),
        (Function::Type, value) => type_of(value).into(),
        (Function::Length, Value::Null) => 0.into(),
        (Function::Length, Value::String(text)) => text.chars().count().into(),
        (Function::Length, Value::Array(items)) => items.len().into(),
        (Function::Length, Value::Object(fields)) => fields.len().into(),
        (Function::Length, Value::Number(number)) => match number.as_i64() {
            Some(number) => number.unsigned_abs().into(),
            None => number.as_f64().unwrap_or_default().abs().into(),
        },
        (Function::Length, Value::Bool(_)) => return Err(End::Error("length of a boolean".to_owned())),
    })
}

pub(super) fn relates(
    relation: Relation,
    value: &Value,
    other: &Value,
    steps: &mut Steps<'_>,
) -> Found<bool> {
    let error = |name: &str| {
        let types = format!("{} and {}", type_of(value), type_of(other));
        Err(End::Error(format!("{name} of values of the types {types}")))
    };
    steps.take(weight(other))?;
    match (relation, value, other) {
        (Relation::Has, Value::Object(fields), Value::String(name)) => Ok(fields.contains_key(name)),
        (Relation::Has, Value::Array(items), Value::Number(index)) => {
            let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
            Ok(index.is_some_and(|index| index < items.len()))
        }
        // As gojq has it. jq itself calls this an error.
        (Relation::Has, Value::Null, _) => Ok(false),
        (Relation::Has, ..) => error("has"),
        (Relation::StartsWith, Value::String(text), Value::String(part)) => Ok(text.starts_with(part)),
        (Relation::StartsWith, ..) => error("startswith"),
        (Relation::EndsWith, Value::String(text), Value::String(part)) => Ok(text.ends_with(part)),
        (Relation::EndsWith, ..) => error("endswith"),
        (Relation::Contains, value, other) if type_of(value) != type_of(other) => error("contains"),
        (Relation::Contains, value, other) => contains(value, other, steps),
    }
}

fn contains(value: &Value, part: &Value, steps: &mut Steps<'_>) -> Found<bool> {
    steps.take(1)?;
    match (value, part) {
        (Value::String(text), Value::String(part)) => {
            steps.take(text.len().div_ceil(64))?;
            Ok(text.contains(part))
        }
        (Value::Array(items), Value::Array(parts)) => {
            for part in parts {
                let mut is_in = false;
                for item in items {
                    is_in |= contains(item, part, steps)?;
                }
                if !is_in {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(fields), Value::Object(parts)) => {
            for (name, part) in parts {
                match fields.get(name) {
                    Some(value) if contains(value, part, steps)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        _ => Ok(order(value, part, steps)? == Ordering::Equal),
    }
}

pub(super) fn holds(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Less => order.is_lt(),
        Comparison::AtMost => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::AtLeast => order.is_ge(),
        Comparison::Equal => order.is_eq(),
        Comparison::Unequal => order.is_ne(),
    }
}

/// The order of jq: by type first.
pub(super) fn order(a: &Value, b: &Value, steps: &mut Steps<'_>) -> Found<Ordering> {
    steps.take(1)?;
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(false) => 1,
        Value::Bool(true) => 2,
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::Array(_) => 5,
        Value::Object(_) => 6,
    };
    Ok(match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => {
                let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
                a.total_cmp(&b)
            }
        },
        (Value::String(a), Value::String(b)) => {
            steps.take(a.len().min(b.len()).div_ceil(64))?;
            a.cmp(b)
        }
        (Value::Array(a), Value::Array(b)) => {
            for (a, b) in a.iter().zip(b) {
                let order = order(a, b, steps)?;
                if order.is_ne() {
                    return Ok(order);
                }
            }
            a.len().cmp(&b.len())
        }
        (Value::Object(a), Value::Object(b)) => {
            // Keys are compared to put them in order and with one another, and are as long as the author of the object likes.
            let lengths = a.keys().chain(b.keys()).map(|key| 1 + key.len().div_ceil(64));
            steps.take(lengths.sum())?;
            let keys = |fields: &serde_json::Map<String, Value>| {
                let mut keys: Vec<String> = fields.keys().cloned().collect();
                keys.sort();
                keys
            };
            let (a_keys, b_keys) = (keys(a), keys(b));
            if a_keys != b_keys {
                return Ok(a_keys.cmp(&b_keys));
            }
            for key in &a_keys {
                let order = order(&a[key], &b[key], steps)?;
                if order.is_ne() {
                    return Ok(order);
                }
            }
            Ordering::Equal
        }
        _ => rank(a).cmp(&rank(b)),
    })
}

pub(super) fn is_true(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What a copy of the value costs.
pub(in crate::plan) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(weight).sum::<usize>(),
        _ => 1,
    }
}
