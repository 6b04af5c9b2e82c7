//! Fills in defaults, and drops nulls where null is not allowed, as Kubernetes does before validating.

use serde_json::Value;

use super::Schema;

/// The defaults of an object are larger than an object may be: so many bytes, as far as they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge(pub(crate) usize);

/// Applies the defaults of `schema` to `value`, top down, so that a default may itself be completed by defaults below.
///
/// Defaults in lists of defaults multiply, so this stops as soon as they have more than `limit` bytes as JSON. Gives how many they
/// have.
pub(crate) fn default(schema: &Schema, value: &mut Value, limit: usize) -> Result<usize, TooLarge> {
    let mut room = Room { added: 0, limit };
    complete(schema, value, &mut room)?;
    Ok(room.added)
}

/// What was added, and what may be.
struct Room {
    added: usize,
    limit: usize,
}

impl Room {
    /// Counts before anything is copied. `beside` is what the value adds beside itself.
    fn take(&mut self, value: &Value, beside: usize) -> Result<Value, TooLarge> {
        self.added += beside + json_bytes(value);
        if self.added > self.limit {
            return Err(TooLarge(self.added));
        }
        Ok(value.clone())
    }
}

fn complete(schema: &Schema, value: &mut Value, room: &mut Room) -> Result<(), TooLarge> {
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
                let default = room.take(default, name.len() + r#""":"#.len())?;
                map.insert(name.clone(), default);
            }
            for (key, value) in map {
                if let Some(field) = schema.field(key) {
                    complete(field, value, room)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for item in items {
                    if let (Value::Null, Some(default), false) = (&*item, &schema.default, schema.nullable) {
                        *item = room.take(default, 0)?;
                    }
                    complete(schema, item, room)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// The length of a value as JSON.
fn json_bytes(value: &Value) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX / 2,
    }
}

/// A field about which nothing is declared keeps its null.
fn unknown(field: &Schema) -> bool {
    field.kind.is_none() && field.preserve_unknown
}
