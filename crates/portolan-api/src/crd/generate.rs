//! From what `schemars` derives to a structural schema.
//!
//! A derive cannot tell a default the API server fills in from a default that only makes reading tolerant, nor a
//! field the API requires from one the Rust type requires. The types therefore mark the API's own with `x-default`,
//! `x-required` and `x-nullable`; everything of that kind that the derive found by itself is dropped, except
//! `required`, which holds for plain fields.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// Keywords that mean nothing in a definition, or that are said by a marker.
const DROPPED: &[&str] = &[
    "$schema",
    "title",
    "nullable",
    "default",
    "examples",
    "readOnly",
    "writeOnly",
];

/// The schema of a whole object of kind `K`.
pub(super) fn root_schema<K: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::openapi3();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<K>().to_value();
    clean(&mut schema);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let text = |description: &str| json!({ "description": description, "type": "string" });
        properties.insert("apiVersion".into(), text("Group and version of the object."));
        properties.insert("kind".into(), text("Kind of the object."));
        properties.insert("metadata".into(), json!({ "type": "object" }));
    }
    schema
}

fn clean(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    for keyword in DROPPED {
        keywords.remove(*keyword);
    }
    unwrap_option(keywords);
    merge_variants(keywords);
    apply_markers(keywords);
    one_line_description(keywords);
    if let Some(properties) = keywords.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(clean);
    }
    for nested in ["items", "additionalProperties"] {
        if let Some(schema) = keywords.get_mut(nested) {
            clean(schema);
        }
    }
}

/// `Option<T>` is derived as a choice between `T` and null. A field may be left out, but null is no value.
fn unwrap_option(keywords: &mut Map<String, Value>) {
    if keywords.contains_key("x-kubernetes-int-or-string") {
        return;
    }
    if let Some(Value::Array(choices)) = keywords.remove("anyOf") {
        let mut choices = choices.into_iter().filter(|choice| !is_null(choice));
        if let (Some(Value::Object(only)), None) = (choices.next(), choices.next()) {
            for (keyword, value) in only {
                keywords.entry(keyword).or_insert(value);
            }
        }
        for keyword in DROPPED {
            keywords.remove(*keyword);
        }
    }
    if let Some(values) = keywords.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
        || schema.get("const").is_some_and(Value::is_null)
        || schema
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|values| values.iter().all(Value::is_null))
}

/// An enum whose variants have docs is derived as one schema per variant.
fn merge_variants(keywords: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = keywords.get("oneOf") else {
        return;
    };
    let names: Option<Vec<Value>> = variants
        .iter()
        .map(|variant| {
            match (
                variant.get("const"),
                variant.get("enum").and_then(Value::as_array),
            ) {
                (Some(name), _) => Some(vec![name.clone()]),
                (None, Some(names)) => Some(names.clone()),
                (None, None) => None,
            }
        })
        .collect::<Option<Vec<_>>>()
        .map(|names| names.into_iter().flatten().collect());
    if let Some(names) = names {
        keywords.remove("oneOf");
        keywords.insert("type".into(), "string".into());
        keywords.insert("enum".into(), names.into());
    }
}

fn apply_markers(keywords: &mut Map<String, Value>) {
    if let Some(default) = keywords.remove("x-default") {
        keywords.insert("default".into(), default);
    }
    if keywords.remove("x-nullable").is_some() {
        keywords.insert("nullable".into(), true.into());
    }
    let mut required: Vec<Value> = Vec::new();
    for list in ["required", "x-required"] {
        if let Some(Value::Array(names)) = keywords.remove(list) {
            required.extend(names);
        }
    }
    required.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    required.dedup();
    if !required.is_empty() {
        keywords.insert("required".into(), required.into());
    }
}

fn one_line_description(keywords: &mut Map<String, Value>) {
    if let Some(Value::String(description)) = keywords.get_mut("description") {
        *description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}
