//! Small readers the columns of built-in kinds share. None of them panics on an object of another shape.

use jiff::Timestamp;
use serde_json::Value;

use super::age;

pub(super) const NONE: &str = "<none>";

/// The value at a path of field names.
pub(super) fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter()
        .fold(object, |value, key| value.get(key).unwrap_or(&Value::Null))
}

pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

pub(super) fn number(object: &Value, path: &[&str]) -> i64 {
    at(object, path).as_i64().unwrap_or_default()
}

pub(super) fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).as_array().map_or(&[], Vec::as_slice)
}

/// How many entries a map or list has.
pub(super) fn count(object: &Value, path: &[&str]) -> i64 {
    match at(object, path) {
        Value::Object(map) => map.len() as i64,
        Value::Array(list) => list.len() as i64,
        _ => 0,
    }
}

pub(super) fn time(object: &Value, path: &[&str]) -> Option<Timestamp> {
    at(object, path).as_str()?.parse().ok()
}

pub(super) fn age_of(object: &Value, path: &[&str], now: Timestamp) -> String {
    age::age(Some(at(object, path)), now)
}

/// One field of each element, joined.
pub(super) fn joined(elements: &[Value], key: &str, separator: &str) -> String {
    let texts: Vec<&str> = elements
        .iter()
        .filter_map(|element| element.get(key)?.as_str())
        .collect();
    texts.join(separator)
}

/// `a=1,b=2`, or `<none>`.
pub(super) fn labels(labels: &Value) -> String {
    or_none(pairs(labels).join(","))
}

/// A label selector as text: `a=1,env in (prod,test)`, sorted, or `<none>`.
pub(super) fn selector(selector: &Value) -> String {
    let mut parts = pairs(at(selector, &["matchLabels"]));
    for expression in list(selector, &["matchExpressions"]) {
        let key = text(expression, &["key"]);
        let mut values: Vec<&str> = list(expression, &["values"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        parts.push(match text(expression, &["operator"]) {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    parts.sort_unstable();
    or_none(parts.join(","))
}

pub(super) fn or_none(text: String) -> String {
    match text.is_empty() {
        true => NONE.to_owned(),
        false => text,
    }
}

fn pairs(labels: &Value) -> Vec<String> {
    let mut pairs: Vec<String> = labels
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.sort_unstable();
    pairs
}
