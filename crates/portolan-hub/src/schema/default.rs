//! Fills in defaults, and drops nulls where null is not allowed, as Kubernetes does before validating.

use serde_json::Value;

use super::Schema;

/// Applies the defaults of `schema` to `value`, top down, so that a default may itself be completed by defaults below.
pub(crate) fn default(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, value| {
                !value.is_null()
                    || schema
                        .field(key)
                        .is_none_or(|field| field.nullable || field.default.is_some() || unknown(field))
            });
            for (name, field) in &schema.properties {
                let Some(default) = &field.default else { continue };
                match map.get(name) {
                    Some(Value::Null) if !field.nullable => {}
                    Some(_) => continue,
                    None => {}
                }
                map.insert(name.clone(), default.clone());
            }
            for (key, value) in map {
                if let Some(field) = schema.field(key) {
                    self::default(field, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for item in items {
                    if let (Value::Null, Some(default), false) = (&*item, &schema.default, schema.nullable) {
                        *item = default.clone();
                    }
                    self::default(schema, item);
                }
            }
        }
        _ => {}
    }
}

/// A field about which nothing is declared keeps its null.
fn unknown(field: &Schema) -> bool {
    field.kind.is_none() && field.preserve_unknown
}
