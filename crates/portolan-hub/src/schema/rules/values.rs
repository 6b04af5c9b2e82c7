//! A document's part as the value of an expression's variable. What does not have its declared form keeps the one it has:
//! validation has said so already.

use std::sync::Arc;

use base64::Engine as _;
use portolan_cel::Value as CelValue;
use serde_json::{Map, Value};

use super::super::{Kind, ListType, Schema};
use super::escape::escape;

/// Not read by any rule unless declared, and often the largest part of an object.
const MANAGED_FIELDS: &str = "managedFields";

pub(super) fn value(schema: &Schema, json: &Value) -> CelValue {
    let plain = || CelValue::from_json(json);
    if schema.int_or_string {
        return plain();
    }
    match (schema.kind, json) {
        (Some(Kind::Object), Value::Object(map)) => match schema.values() {
            Some(values) => CelValue::map(
                map.iter()
                    .map(|(key, item)| (key.as_str().into(), value(values, item))),
            ),
            None => object(schema, map),
        },
        (Some(Kind::Array), Value::Array(items)) => match &schema.items {
            Some(schema_of_items) => list(schema, items.iter().map(|item| value(schema_of_items, item))),
            None => plain(),
        },
        (Some(Kind::Number), Value::Number(number)) => number.as_f64().map_or_else(plain, CelValue::double),
        (Some(Kind::Integer), Value::Number(number)) => integer(number).map_or_else(plain, CelValue::int),
        (Some(Kind::String), Value::String(text)) => formatted(schema, text).unwrap_or_else(plain),
        _ => plain(),
    }
}

/// Null fields are absent; fields that rules cannot name only count when whole objects are compared.
fn object(schema: &Schema, map: &Map<String, Value>) -> CelValue {
    let known = |name: &String| schema.properties.get(name);
    let present = map.iter().filter(|(name, field)| {
        !field.is_null() && (name.as_str() != MANAGED_FIELDS || known(name).is_some())
    });
    CelValue::map(present.map(|(name, field)| {
        let known = known(name);
        let escaped = known.and_then(|_| escape(name));
        let name: Arc<str> = escaped.map_or_else(|| name.as_str().into(), Into::into);
        let field = match known {
            Some(known) => value(known, field),
            // Metadata is rarely declared, and has the managed fields.
            None => match field {
                Value::Object(map) => object(&Schema::default(), map),
                other => CelValue::from_json(other),
            },
        };
        (name, field)
    }))
}

fn list(schema: &Schema, items: impl Iterator<Item = CelValue>) -> CelValue {
    match &schema.list {
        ListType::Atomic => CelValue::list(items),
        ListType::Set => CelValue::set(items),
        ListType::Map(keys) => {
            let keys = keys.iter().map(|key| match escape(key) {
                Some(escaped) => Arc::from(escaped),
                None => Arc::from(key.as_ref()),
            });
            CelValue::keyed_list(items, keys.collect::<Vec<Arc<str>>>())
        }
    }
}

/// `1.0` is an integer to Kubernetes.
fn integer(number: &serde_json::Number) -> Option<i64> {
    let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 9.0e18).then_some(number as i64);
    number.as_i64().or_else(|| number.as_f64().and_then(whole))
}

fn formatted(schema: &Schema, text: &str) -> Option<CelValue> {
    match schema.format()? {
        "byte" => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
            Some(CelValue::bytes(bytes))
        }
        "duration" => CelValue::duration(text),
        "date" => CelValue::timestamp(&format!("{text}T00:00:00Z")),
        "date-time" => CelValue::timestamp(text),
        _ => None,
    }
}
