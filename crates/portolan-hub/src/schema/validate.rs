//! Checks a document against a schema and reports every violation.

use std::borrow::Cow;
use std::collections::HashSet;

use portolan_cel::Quantity;
use serde_json::Value;

use super::date_time::is_date_time;
use super::rules::{Items, same};
use super::{Checks, FieldError, Kind, ListType, Schema, join};

/// One document reports at most this many; nobody reads more.
const MOST: usize = 100;

/// Every violation of `schema` in `value`, in document order. Of an object that is changed, violations by what did not
/// change are not reported: they were there before, and whoever changes something else cannot help them.
pub(crate) fn validate(schema: &Schema, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Found::default();
    node(schema, value, None, "", &mut found);
    if let Some(old) = old.filter(|_| !found.errors.is_empty()) {
        found.errors.clear();
        node(schema, value, Some(old), "", &mut found);
    }
    // A list that had duplicates before may keep them, whatever else changed.
    let Found {
        mut errors, lists, ..
    } = found;
    let inherited = || {
        old.is_some_and(|old| {
            let mut before = Found::default();
            node(schema, old, None, "", &mut before);
            !before.lists.is_empty()
        })
    };
    if !lists.is_empty() && !inherited() {
        errors.extend(lists);
    }
    errors.truncate(MOST);
    errors
}

/// What the value validations say about a value at `path`.
pub(super) fn violations(schema: &Schema, value: &Value, path: &str) -> Vec<FieldError> {
    let mut found = Found::default();
    node(schema, value, None, path, &mut found);
    found.errors
}

/// What is wrong: by the value validations, and by what sets and keyed lists demand.
#[derive(Default)]
struct Found {
    errors: Vec<FieldError>,
    lists: Vec<FieldError>,
    /// Values that were compared with branches (`allOf`, `anyOf`, `oneOf`, `not`) so far.
    branches: usize,
}

/// Most values that are compared with the branches of a schema. A definition chooses how many branches there are, and an object
/// how many values. Larger, and a small object could keep a thread busy for long; smaller, and large objects of definitions
/// with many branches would be refused.
const MOST_BRANCHES: usize = 1_000_000;

fn node(schema: &Schema, value: &Value, old: Option<&Value>, path: &str, found: &mut Found) {
    let errors = &mut found.errors;
    if errors.len() >= MOST || (value.is_null() && schema.nullable) {
        return;
    }
    if old.is_some_and(|old| same(schema, value, old)) {
        return;
    }
    if let Some(error) = type_error(schema, value, path) {
        errors.push(error);
        return;
    }
    enumeration(&schema.checks, value, path, errors);
    match value {
        Value::Object(map) => {
            let before = errors.len();
            object_checks(&schema.checks, map, path, errors);
            if schema.embedded_resource && errors.len() == before {
                for field in ["apiVersion", "kind"] {
                    if map
                        .get(field)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .is_empty()
                    {
                        errors.push(FieldError::required(join(path, field), "must not be empty"));
                    }
                }
            }
            for (key, value) in map {
                if let Some(field) = schema.field(key) {
                    let old = old.and_then(|old| old.get(key));
                    node(field, value, old, &join(path, key), found);
                }
            }
        }
        Value::Array(items) => {
            array_checks(&schema.checks, items, path, errors);
            list_checks(schema, items, path, &mut found.lists);
            if let Some(of_items) = &schema.items {
                let before = Items::of(schema, old);
                for (i, item) in items.iter().enumerate() {
                    let old = before.before(item);
                    node(of_items, item, old, &format!("{path}[{i}]"), found);
                }
            }
        }
        Value::String(text) => string_checks(&schema.checks, text, value, path, errors),
        Value::Number(number) => {
            if let Some(number) = number.as_f64() {
                number_checks(&schema.checks, number, value, path, errors);
            }
        }
        _ => {}
    }
    junctors(schema, value, path, found);
}

fn type_error(schema: &Schema, value: &Value, path: &str) -> Option<FieldError> {
    if schema.int_or_string {
        let fits = matches!(value, Value::String(_)) || is_integer(value);
        return (!fits).then(|| FieldError::type_invalid(path, value, "integer,string"));
    }
    if schema.quantity {
        return quantity_error(value, path);
    }
    let kind = schema.kind?;
    let fits = match kind {
        Kind::Object => value.is_object(),
        Kind::Array => value.is_array(),
        Kind::String => value.is_string(),
        Kind::Integer => is_integer(value),
        Kind::Number => value.is_number(),
        Kind::Boolean => value.is_boolean(),
    };
    (!fits).then(|| FieldError::type_invalid(path, value, kind.name()))
}

fn quantity_error(value: &Value, path: &str) -> Option<FieldError> {
    match value {
        Value::Number(_) => None,
        Value::String(text) if Quantity::parse(text).is_some() => None,
        Value::String(_) => Some(FieldError::quantity_invalid(path, value)),
        _ => Some(FieldError::type_invalid(path, value, "number,string")),
    }
}

/// The largest whole number that a 64-bit float holds together with all smaller ones.
const MAX_WHOLE_FLOAT: f64 = 9_007_199_254_740_991.0;

/// `1.0` is an integer to Kubernetes. What does not fit into 64 bits with a sign is a float to it, and a float of that
/// size is no integer.
fn is_integer(value: &Value) -> bool {
    let whole = |number: f64| number.fract() == 0.0 && number.abs() <= MAX_WHOLE_FLOAT;
    value.is_i64() || value.as_f64().is_some_and(whole)
}

fn enumeration(checks: &Checks, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !checks.values.is_empty() && !checks.values.contains(value) {
        errors.push(FieldError::not_supported(path, value, &checks.values));
    }
}

fn object_checks(
    checks: &Checks,
    map: &serde_json::Map<String, Value>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    for name in &checks.required {
        if !map.contains_key(name) {
            errors.push(FieldError::required(join(path, name), ""));
        }
    }
    let found = map.len();
    if let Some(limit) = checks.max_properties.filter(|limit| found > *limit) {
        errors.push(FieldError::too_many(path, found, limit));
    }
    if let Some(limit) = checks.min_properties.filter(|limit| found < *limit) {
        let detail = format!("{path} in body should have at least {limit} properties");
        errors.push(FieldError::invalid(path, &found.into(), &detail));
    }
}

fn array_checks(checks: &Checks, items: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let found = items.len();
    if let Some(limit) = checks.max_items.filter(|limit| found > *limit) {
        errors.push(FieldError::too_many(path, found, limit));
    }
    if let Some(limit) = checks.min_items.filter(|limit| found < *limit) {
        let detail = format!("{path} in body should have at least {limit} items");
        errors.push(FieldError::invalid(path, &found.into(), &detail));
    }
    if checks.unique_items {
        duplicates(items, path, errors, Value::to_string);
    }
}

fn list_checks(schema: &Schema, items: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    match &schema.list {
        ListType::Atomic => {}
        ListType::Set => duplicates(items, path, errors, Value::to_string),
        ListType::Map(keys) => {
            let part = |item: &Value| -> Value {
                let own = |key: &Cow<'static, str>| {
                    let default = schema.items.as_ref();
                    let default =
                        default.and_then(|items| items.properties.get(key.as_ref())?.default.clone());
                    item.get(key.as_ref())
                        .cloned()
                        .or(default)
                        .map(|value| (key.to_string(), value))
                };
                keys.iter()
                    .filter_map(own)
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            };
            let mut seen = HashSet::new();
            for (i, item) in items.iter().enumerate().filter(|(_, item)| item.is_object()) {
                let part = part(item);
                if !seen.insert(part.to_string()) {
                    errors.push(FieldError::duplicate(format!("{path}[{i}]"), &part));
                }
            }
        }
    }
}

fn duplicates(items: &[Value], path: &str, errors: &mut Vec<FieldError>, text: impl Fn(&Value) -> String) {
    let mut seen = HashSet::new();
    for (i, item) in items.iter().enumerate() {
        if !seen.insert(text(item)) {
            errors.push(FieldError::duplicate(format!("{path}[{i}]"), item));
        }
    }
}

fn string_checks(checks: &Checks, text: &str, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let length = text.chars().count();
    if let Some(limit) = checks.max_length.filter(|limit| length > *limit) {
        errors.push(FieldError::too_long(path, limit));
    }
    if let Some(limit) = checks.min_length.filter(|limit| length < *limit) {
        let detail = format!("{path} in body should be at least {limit} chars long");
        errors.push(FieldError::invalid(path, value, &detail));
    }
    if let Some(pattern) = checks.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
        let detail = format!("{path} in body should match '{pattern}'");
        errors.push(FieldError::invalid(path, value, &detail));
    }
    let well_formed = match checks.format.as_deref() {
        Some("date-time") => is_date_time(text),
        Some("byte") => is_base64(text),
        Some("date") => text.parse::<jiff::civil::Date>().is_ok(),
        Some("uuid") => uuid::Uuid::try_parse(text).is_ok(),
        Some("ipv4") => text.parse::<std::net::Ipv4Addr>().is_ok(),
        Some("ipv6") => text.parse::<std::net::Ipv6Addr>().is_ok(),
        _ => true,
    };
    if let (false, Some(format)) = (well_formed, &checks.format) {
        let detail = format!("{path} in body must be of type {format}: {value}");
        errors.push(FieldError::invalid(path, value, &detail));
    }
}

/// Padded base64 in one line, and not empty. Which bits the last digit has is not asked.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(is_digit)
}

fn number_checks(checks: &Checks, number: f64, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut fail = |detail: String| {
        errors.push(FieldError::invalid(
            path,
            value,
            &format!("{path} in body {detail}"),
        ))
    };
    match checks.minimum {
        Some(limit) if checks.exclusive_minimum && number <= limit => {
            fail(format!("should be greater than {limit}"))
        }
        Some(limit) if number < limit => fail(format!("should be greater than or equal to {limit}")),
        _ => {}
    }
    match checks.maximum {
        Some(limit) if checks.exclusive_maximum && number >= limit => {
            fail(format!("should be less than {limit}"))
        }
        Some(limit) if number > limit => fail(format!("should be less than or equal to {limit}")),
        _ => {}
    }
    if let Some(step) = checks
        .multiple_of
        .filter(|step| *step != 0.0 && (number / step).fract() != 0.0)
    {
        fail(format!("should be a multiple of {step}"));
    }
    let fits = match checks.format.as_deref() {
        Some("int32") => (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number),
        // The largest number of 64 bits is none that a float can be.
        Some("int64") => value.is_i64() || (i64::MIN as f64..i64::MAX as f64).contains(&number),
        _ => true,
    };
    if let (false, Some(format)) = (fits, &checks.format) {
        fail(format!("must be of type {format}"));
    }
}

fn junctors(schema: &Schema, value: &Value, path: &str, found: &mut Found) {
    found.branches += schema.all_of.len();
    for branch in &schema.all_of {
        node(branch, value, None, path, found);
    }
    if found.branches > MOST_BRANCHES {
        return found.errors.push(FieldError::forbidden(
            path,
            &format!(
                "the branches of the schema (allOf, anyOf, oneOf, not) are compared with more than {MOST_BRANCHES} values; \
                 accepted: fewer values, or a schema with fewer branches"
            ),
        ));
    }
    let Found { errors, branches, .. } = found;
    let mut fits = |branch: &Schema| {
        let mut inner = Found {
            branches: *branches + 1,
            ..Found::default()
        };
        node(branch, value, None, path, &mut inner);
        *branches = inner.branches;
        inner.errors.is_empty()
    };
    let mut fail = |detail: &str| {
        errors.push(FieldError::invalid(
            path,
            value,
            &format!("{path} in body must validate {detail}"),
        ));
    };
    if !schema.any_of.is_empty() && !schema.any_of.iter().any(&mut fits) {
        fail("at least one schema (anyOf)");
    }
    if !schema.one_of.is_empty() && schema.one_of.iter().filter(|branch| fits(branch)).count() != 1 {
        fail("one and only one schema (oneOf)");
    }
    if schema.not.as_deref().is_some_and(&mut fits) {
        let detail = format!("{path} in body must not validate the schema (not)");
        errors.push(FieldError::invalid(path, value, &detail));
    }
}
