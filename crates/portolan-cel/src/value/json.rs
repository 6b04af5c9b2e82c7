//! JSON documents as values.

use std::sync::Arc;

use super::{Key, Map, Val};

/// How JSON numbers are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Integers are `int`, as Kubernetes reads its own objects.
    Typed,
    /// Everything is `double`, as a JSON text without a schema is read.
    Doubles,
}

pub(crate) fn from_json(json: &serde_json::Value, numbers: Numbers) -> Val {
    match json {
        serde_json::Value::Null => Val::Null,
        serde_json::Value::Bool(value) => Val::Bool(*value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(value) if numbers == Numbers::Typed => Val::Int(value),
            _ => Val::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(value) => Val::string(value.as_str()),
        serde_json::Value::Array(elements) => Val::list(
            elements
                .iter()
                .map(|element| from_json(element, numbers))
                .collect(),
        ),
        serde_json::Value::Object(fields) => {
            let entries = fields
                .iter()
                .map(|(name, value)| (Key::String(name.as_str().into()), from_json(value, numbers)));
            Val::Map(Arc::new(Map::last_wins(entries.collect())))
        }
    }
}
