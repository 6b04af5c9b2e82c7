//! Walking an object along its schema.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

use super::compile::{Format, Node, Type};
use super::defaults::is_envelope;
use super::{Errors, metadata, syntax};
use crate::count::{counted, plural};
use crate::field::{Path, quoted};
use crate::schema;

pub(super) fn root(node: &Node, object: &Value, errors: &mut Errors) {
    let Some(fields) = object.as_object() else {
        return errors.push(&Path::ROOT, object, "not an object", "an object");
    };
    required(node, fields, &Path::ROOT, errors);
    for (name, value) in fields.iter().filter(|(name, _)| !is_envelope(name)) {
        if let Some(property) = node.properties.get(name) {
            walk_field(property, value, &Path::ROOT.field(name), errors);
        }
    }
    junctions(node, object, &Path::ROOT, errors);
}

/// A null in a field that cannot be null counts as left out.
fn walk_field(node: &Node, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !value.is_null() {
        walk(node, value, path, errors);
    }
}

fn walk(node: &Node, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    if errors.full() || (value.is_null() && node.nullable) {
        return;
    }
    if let Some(problem) = type_problem(node, value) {
        return errors.push(path, value, problem, expectation(node));
    }
    if !node.allowed.is_empty() && !node.allowed.contains(value) {
        errors.push(path, value, "not an allowed value", expectation(node));
    }
    match value {
        Value::String(text) => string(node, text, value, path, errors),
        Value::Number(number) => bounds(node, number.as_f64(), value, path, errors),
        Value::Array(items) => array(node, items, value, path, errors),
        Value::Object(fields) => object(node, fields, value, path, errors),
        _ => {}
    }
    junctions(node, value, path, errors);
}

fn type_problem(node: &Node, value: &Value) -> Option<&'static str> {
    let takes_integers = node.int_or_string || node.r#type == Some(Type::Integer);
    if takes_integers && !is_integer(value) && value.as_f64().is_some_and(|number| number.fract() == 0.0) {
        return Some("an integer that does not fit into 64 bits");
    }
    if node.int_or_string {
        return (!value.is_string() && !is_integer(value)).then_some("neither an integer nor a string");
    }
    let (fits, problem) = match node.r#type? {
        Type::Object => (value.is_object(), "not an object"),
        Type::Array => (value.is_array(), "not a list"),
        Type::String => (value.is_string(), "not a string"),
        Type::Integer => (is_integer(value), "not an integer"),
        Type::Number => (value.is_number(), "not a number"),
        Type::Boolean => (value.is_boolean(), "neither true nor false"),
    };
    (!fits).then_some(problem)
}

/// The largest whole number that a 64-bit float holds together with all smaller ones.
const MAX_WHOLE_FLOAT: f64 = 9_007_199_254_740_991.0;

/// `1.0` counts as an integer: JSON does not tell the two apart. What does not fit into 64 bits with a sign is a float to
/// an API server, and a float of that size is no integer.
fn is_integer(value: &Value) -> bool {
    let whole = |number: f64| number.fract() == 0.0 && number.abs() <= MAX_WHOLE_FLOAT;
    value.is_i64() || value.as_f64().is_some_and(whole)
}

fn string(node: &Node, text: &str, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    let length = || text.chars().count() as u64;
    if node.max_length.is_some_and(|max| length() > max) {
        // No use in running a pattern over a text that is refused anyway and may be huge.
        return errors.push(path, value, counted(length(), "character"), expectation(node));
    }
    if node.min_length.is_some_and(|min| length() < min) {
        errors.push(path, value, counted(length(), "character"), expectation(node));
    } else if node
        .pattern
        .as_ref()
        .is_some_and(|pattern| !pattern.is_match(text))
    {
        errors.push(path, value, "another form is needed", expectation(node));
    } else if node.format == Some(Format::DateTime) && !syntax::is_time(text) {
        errors.push(path, value, "not a time", expectation(node));
    } else if node.format == Some(Format::Byte) && !syntax::is_base64(text) {
        errors.push(path, value, "not base64", expectation(node));
    }
}

fn bounds(node: &Node, number: Option<f64>, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(number) = number else { return };
    let too_small = node
        .minimum
        .is_some_and(|min| number < min || (node.exclusive_minimum && number == min));
    let too_large = node
        .maximum
        .is_some_and(|max| number > max || (node.exclusive_maximum && number == max));
    let overflow = match node.format {
        Some(Format::Int32) => number < f64::from(i32::MIN) || number > f64::from(i32::MAX),
        Some(Format::Int64) => value.as_i64().is_none() && number.abs() >= 9_223_372_036_854_775_808.0,
        _ => false,
    };
    if too_small || too_large || overflow {
        errors.push(path, value, "out of range", expectation(node));
    }
}

fn array(node: &Node, items: &[Value], value: &Value, path: &Path<'_>, errors: &mut Errors) {
    let count = items.len() as u64;
    if node.max_items.is_some_and(|max| count > max) || node.min_items.is_some_and(|min| count < min) {
        errors.push(path, value, counted(count, "entry"), expectation(node));
    }
    if let Some(item) = &node.items {
        for (position, value) in items.iter().enumerate() {
            walk(item, value, &path.index(position), errors);
        }
    }
    if !node.list_keys.is_empty() || node.list_set {
        duplicates(node, items, path, errors);
    }
}

/// A list map has one entry per key, a list set has every value once.
fn duplicates(node: &Node, items: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let mut seen: HashSet<Vec<Cow<'_, str>>> = HashSet::new();
    for (position, item) in items.iter().enumerate() {
        let key: Vec<Cow<'_, str>> = if node.list_set {
            vec![key_text(item)]
        } else {
            node.list_keys
                .iter()
                .map(|name| key_text(keyed(node, item, name)))
                .collect()
        };
        if !seen.insert(key) {
            let accepted = if node.list_set {
                "every value once".to_owned()
            } else {
                format!("one entry for each {}", node.list_keys.join(" and "))
            };
            errors.push(&path.index(position), item, "the entry is there twice", accepted);
        }
    }
}

/// The value of a list key, or its default when the entry leaves it out.
fn keyed<'a>(node: &'a Node, item: &'a Value, name: &str) -> &'a Value {
    let default = || {
        node.items
            .as_ref()
            .and_then(|items| items.properties.get(name)?.default.as_ref())
    };
    item.get(name).or_else(default).unwrap_or(&Value::Null)
}

fn key_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn object(node: &Node, fields: &Map<String, Value>, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    let count = fields.len() as u64;
    if node.max_properties.is_some_and(|max| count > max)
        || node.min_properties.is_some_and(|min| count < min)
    {
        errors.push(path, value, counted(count, "field"), expectation(node));
    }
    required(node, fields, path, errors);
    if node.embedded {
        embedded(fields, path, errors);
    }
    for (name, value) in fields {
        if let Some(property) = node.properties.get(name) {
            walk_field(property, value, &path.field(name), errors);
        } else if let Some(additional) = &node.additional {
            walk(additional, value, &path.field(name), errors);
        }
    }
}

fn required(node: &Node, fields: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    for name in &node.required {
        let property = node.properties.get(name);
        let defaulted = property.is_some_and(|property| property.default.is_some());
        let absent = match fields.get(name) {
            None => true,
            Some(value) => value.is_null() && !property.is_some_and(|property| property.nullable),
        };
        if absent && !defaulted {
            errors.missing(
                &path.field(name),
                property.map_or_else(|| "a value".to_owned(), expectation),
            );
        }
    }
}

/// An object inside another one says what it is. Its metadata follows the usual rules, but may lack a name.
fn embedded(fields: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    for name in ["apiVersion", "kind"] {
        match fields.get(name) {
            Some(Value::String(text)) if !text.is_empty() => {}
            Some(other) => errors.push(
                &path.field(name),
                other,
                "not a text",
                "a string that is not empty",
            ),
            None => errors.missing(&path.field(name), "a string that is not empty"),
        }
    }
    if let Some(value) = fields.get("metadata") {
        metadata::embedded(value, &path.field("metadata"), errors);
    }
}

fn junctions(node: &Node, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    for part in &node.all_of {
        walk(part, value, path, errors);
    }
    if !node.any_of.is_empty() && !node.any_of.iter().any(|choice| fits(choice, value)) {
        errors.push(
            path,
            value,
            "fits none of the choices",
            alternatives(&node.any_of, "at least one of"),
        );
    }
    if !node.one_of.is_empty() {
        let fitting = node.one_of.iter().filter(|choice| fits(choice, value)).count();
        if fitting != 1 {
            let problem = if fitting == 0 {
                "fits none of the choices"
            } else {
                "fits more than one of the choices"
            };
            errors.push(path, value, problem, alternatives(&node.one_of, "exactly one of"));
        }
    }
    if node.not.as_ref().is_some_and(|not| fits(not, value)) {
        errors.push(path, value, "excluded by the schema", "anything else");
    }
}

fn fits(node: &Node, value: &Value) -> bool {
    let mut errors = Errors::new(1);
    walk(node, value, &Path::ROOT, &mut errors);
    errors.found.is_empty()
}

fn alternatives(choices: &[Node], intro: &str) -> String {
    let names: Vec<String> = choices
        .iter()
        .map(|choice| {
            if choice.required.is_empty() {
                expectation(choice)
            } else {
                choice.required.join(" with ")
            }
        })
        .collect();
    format!("{intro}: {}", names.join(", "))
}

/// What a schema accepts, in words.
fn expectation(node: &Node) -> String {
    if !node.allowed.is_empty() {
        let values: Vec<String> = node.allowed.iter().map(crate::field::preview).collect();
        return format!("one of {}", values.join(", "));
    }
    let mut words = match (node.int_or_string, node.r#type) {
        (true, _) => "an integer or a string".to_owned(),
        (false, Some(Type::Object)) => "an object".to_owned(),
        (false, Some(Type::Array)) => "a list".to_owned(),
        (false, Some(Type::String)) if node.format == Some(Format::DateTime) => syntax::TIME.to_owned(),
        (false, Some(Type::String)) if node.format == Some(Format::Byte) => "a base64 string".to_owned(),
        (false, Some(Type::String)) => "a string".to_owned(),
        (false, Some(Type::Integer)) => "an integer".to_owned(),
        (false, Some(Type::Number)) => "a number".to_owned(),
        (false, Some(Type::Boolean)) => "true or false".to_owned(),
        (false, None) => "a value".to_owned(),
    };
    let number = |bound: Option<f64>| bound.map(|bound| bound.to_string());
    let range = match node.format {
        Some(Format::Int32) => (f64::from(i32::MIN), f64::from(i32::MAX)),
        _ => (f64::MIN, f64::MAX),
    };
    if node.minimum.is_some() || node.maximum.is_some() || node.format == Some(Format::Int32) {
        let minimum = number(node.minimum.or((range.0 > f64::MIN).then_some(range.0)));
        let maximum = number(node.maximum.or((range.1 < f64::MAX).then_some(range.1)));
        words.push_str(&between(minimum, maximum));
    }
    words.push_str(&amount(node.min_length, node.max_length, "character", " long"));
    words.push_str(&amount(node.min_items, node.max_items, "entry", ""));
    words.push_str(&amount(node.min_properties, node.max_properties, "field", ""));
    if let Some(pattern) = &node.pattern {
        match in_words(pattern.as_str()) {
            Some(plain) => return plain.to_owned(),
            None => words.push_str(&format!(" matching {}", quoted_pattern(pattern.as_str()))),
        }
    }
    words
}

fn between(min: Option<String>, max: Option<String>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!(" from {min} to {max}"),
        (Some(min), None) => format!(" from {min}"),
        (None, Some(max)) => format!(" up to {max}"),
        (None, None) => String::new(),
    }
}

/// How many there may be, in words. At least none is no limit.
fn amount(min: Option<u64>, max: Option<u64>, noun: &str, rest: &str) -> String {
    let min = min.filter(|min| *min > 0);
    let Some(last) = max.or(min) else {
        return String::new();
    };
    let limits = between(min.map(|min| min.to_string()), max.map(|max| max.to_string()));
    format!("{limits} {}{rest}", plural(last, noun))
}

/// What the patterns of our definitions ask for, where they are hard to read.
fn in_words(pattern: &str) -> Option<&'static str> {
    match pattern {
        schema::GROUP_SIZE => Some("a whole number from 1, or 1% to 100%"),
        schema::AMOUNT => Some("a whole number, or 0% to 100%"),
        schema::DEADLINE => Some("digits followed by h, m or s, such as 90m, or None for no limit"),
        "^[0-9]+[hms]$" => Some("digits followed by h, m or s, such as 30s"),
        "^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$" => Some(
            "2 to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, such as canary",
        ),
        "^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$" => Some(
            "at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, such as west-1",
        ),
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" => Some(syntax::DNS_LABEL),
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
        | r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$" => {
            Some(syntax::DNS_SUBDOMAIN)
        }
        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        | r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$" => {
            Some("a name such as region, or one with a DNS prefix such as example.com/region")
        }
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$" => {
            Some("a quantity, such as 8, 500m or 32Gi")
        }
        "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" => {
            Some("one word without blanks that begins with a letter, such as AsExpected")
        }
        "^work-agent" => Some("a name that begins with work-agent"),
        _ => None,
    }
}

/// Patterns are shown whole: they are the definition's, not the user's.
fn quoted_pattern(pattern: &str) -> String {
    if pattern.len() > 256 {
        quoted(pattern)
    } else {
        pattern.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_the_definitions_is_said_in_words() {
        fn patterns(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(fields) => {
                    found.extend(fields.get("pattern").and_then(Value::as_str).map(str::to_owned));
                    fields.values().for_each(|value| patterns(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| patterns(value, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        crate::crd_values()
            .iter()
            .for_each(|crd| patterns(crd, &mut found));
        assert!(!found.is_empty());
        for pattern in found {
            assert!(in_words(&pattern).is_some(), "{pattern}");
        }
    }
}
