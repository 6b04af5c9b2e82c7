//! From JSON and the table of its message to bytes, for clients that read nothing but protobuf.
//!
//! A field that its table does not have, and a value that is none of its field, is left out: a server of Kubernetes drops those
//! when an object is written. An object with such a field must not keep a client from reading all others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::messages::envelope::RAW;
use super::schema::{Field, Kind, Message, Shape};

/// There is no table for the object, or the value is none of its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unwritable;

type Written = Result<(), Unwritable>;

/// Bytes of one message that grow field by field.
#[derive(Debug, Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number as u8 & 0x7f) | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(super) fn number(&mut self, field: u32, number: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(number);
    }

    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// The fields of `object`. Those of inlined messages are fields of the same object.
    pub(super) fn object(&mut self, message: &'static Message, object: &Map<String, Value>) {
        for field in message.fields() {
            if let Kind::Inline(inner) = field.kind {
                let mut bytes = Bytes::default();
                bytes.object(inner, object);
                self.bytes(field.number, &bytes.0);
                continue;
            }
            let value = object.get(field.name).unwrap_or(&Value::Null);
            // What is none of its field is left out.
            match (field.shape, value) {
                (_, Value::Null) => {}
                (Shape::One, value) => {
                    let _ = self.value(field, field.number, value);
                }
                (Shape::Many, Value::Array(items)) => {
                    for item in items {
                        let _ = self.value(field, field.number, item);
                    }
                }
                (Shape::Map, Value::Object(entries)) => {
                    for (key, value) in entries {
                        let mut entry = Bytes::default();
                        entry.bytes(1, key.as_bytes());
                        if entry.value(field, 2, value).is_ok() {
                            self.bytes(field.number, &entry.0);
                        }
                    }
                }
                (Shape::Many | Shape::Map, _) => {}
            }
        }
    }

    /// Writes all of the value or nothing.
    fn value(&mut self, field: &Field, number: u32, value: &Value) -> Written {
        let mut inner = Bytes::default();
        match (field.kind, value) {
            (Kind::String, Value::String(text)) => {
                self.bytes(number, text.as_bytes());
                return Ok(());
            }
            (Kind::Bytes, Value::String(text)) => {
                let bytes = STANDARD.decode(text).map_err(|_| Unwritable)?;
                self.bytes(number, &bytes);
                return Ok(());
            }
            (Kind::Boolean, Value::Bool(flag)) => {
                self.number(number, u64::from(*flag));
                return Ok(());
            }
            (Kind::Integer, Value::Number(value)) => {
                self.number(number, value.as_i64().ok_or(Unwritable)? as u64);
                return Ok(());
            }
            (Kind::Double, Value::Number(value)) => {
                let bits = value.as_f64().ok_or(Unwritable)?.to_bits();
                self.varint(u64::from(number) << 3 | 1);
                self.0.extend_from_slice(&bits.to_le_bytes());
                return Ok(());
            }
            (Kind::Time | Kind::MicroTime, Value::String(text)) => {
                let time: Timestamp = text.parse().map_err(|_| Unwritable)?;
                inner.number(1, time.as_second() as u64);
                inner.number(2, time.subsec_nanosecond() as u64);
            }
            (Kind::Quantity, Value::String(text)) => inner.bytes(1, text.as_bytes()),
            // Go reads a number as the quantity with the same text.
            (Kind::Quantity, Value::Number(number)) => inner.bytes(1, number.to_string().as_bytes()),
            (Kind::IntOrString, Value::String(text)) => {
                inner.number(1, 1);
                inner.bytes(3, text.as_bytes());
            }
            (Kind::IntOrString, Value::Number(value)) => {
                inner.number(1, 0);
                inner.number(2, value.as_i64().ok_or(Unwritable)? as u64);
            }
            (Kind::RawJson, value) => inner.bytes(1, value.to_string().as_bytes()),
            (Kind::Strings, Value::Array(items)) => {
                for item in items {
                    inner.bytes(1, item.as_str().ok_or(Unwritable)?.as_bytes());
                }
            }
            (Kind::Message(message), Value::Object(object)) => inner.object(message, object),
            _ => return Err(Unwritable),
        }
        self.bytes(number, &inner.0);
        Ok(())
    }

    /// What every answer starts with, and the object.
    pub(super) fn in_envelope(&self, api_version: &str, kind: &str) -> Vec<u8> {
        let (mut type_meta, mut envelope) = (Bytes::default(), Bytes(super::MAGIC.to_vec()));
        type_meta.bytes(1, api_version.as_bytes());
        type_meta.bytes(2, kind.as_bytes());
        envelope.bytes(1, &type_meta.0);
        envelope.bytes(RAW, &self.0);
        envelope.0
    }
}
