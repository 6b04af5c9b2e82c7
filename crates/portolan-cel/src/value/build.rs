//! Values made from outside, for environments whose variables have declared types.

use std::sync::Arc;

use super::{Identity, Key, List, Map, Val, Value};
use crate::library::time::{Duration, Timestamp};

impl Value {
    /// `null`.
    pub fn null() -> Value {
        Value(Val::Null)
    }

    /// A `bool`.
    pub fn bool(value: bool) -> Value {
        Value(Val::Bool(value))
    }

    /// An `int`.
    pub fn int(value: i64) -> Value {
        Value(Val::Int(value))
    }

    /// A `double`.
    pub fn double(value: f64) -> Value {
        Value(Val::Double(value))
    }

    /// A `string`.
    pub fn string(text: impl Into<Arc<str>>) -> Value {
        Value(Val::string(text))
    }

    /// A `bytes`.
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Value {
        Value(Val::Bytes(bytes.into()))
    }

    /// A `timestamp` from RFC 3339 text; `None` if it is none.
    pub fn timestamp(text: &str) -> Option<Value> {
        Timestamp::parse(text).map(|time| Value(Val::Timestamp(time)))
    }

    /// A `duration` from text such as `1h30m`; `None` if it is none.
    pub fn duration(text: &str) -> Option<Value> {
        Duration::parse(text).map(|span| Value(Val::Duration(span)))
    }

    /// A list.
    pub fn list(elements: impl IntoIterator<Item = Value>) -> Value {
        Value::listed(elements, Identity::Place)
    }

    /// A list that is a set: equal to one with the same elements in any order; `+` is union.
    pub fn set(elements: impl IntoIterator<Item = Value>) -> Value {
        Value::listed(elements, Identity::Value)
    }

    /// A list of maps that are told apart by these fields: equal in any order; `+` merges.
    pub fn keyed_list(elements: impl IntoIterator<Item = Value>, keys: impl Into<Arc<[Arc<str>]>>) -> Value {
        Value::listed(elements, Identity::Keys(keys.into()))
    }

    /// A map, or an object; of equal keys the last one stays.
    pub fn map(entries: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
        let entries = entries
            .into_iter()
            .map(|(name, value)| (Key::String(name), value.0));
        Value(Val::Map(Arc::new(Map::last_wins(entries.collect()))))
    }

    /// `optional.of(value)`, or `optional.none()`.
    pub fn optional(value: Option<Value>) -> Value {
        Value(value.map_or(Val::NONE, |value| Val::some(value.0)))
    }

    /// The answer of a `bool`.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.0 {
            Val::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The text of a `string`.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Val::String(text) => Some(text),
            _ => None,
        }
    }

    fn listed(elements: impl IntoIterator<Item = Value>, identity: Identity) -> Value {
        let elements = elements.into_iter().map(|value| value.0).collect();
        Value(Val::List(Arc::new(List::new(elements, identity))))
    }
}
