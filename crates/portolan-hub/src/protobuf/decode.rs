//! From the bytes of one message and its table to JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Error;
use super::messages::envelope::{RAW, UNKNOWN};
use super::schema::{Empty, Field, Kind, Message, Shape};
use super::wire::{Fields, Wire};

/// A list element can be two bytes on the wire and a hundred times that as JSON; this bounds what one body can grow to.
const MAX_VALUES: usize = 200_000;

/// Schemas hold schemas. Deeper, and reading could use up the stack; the hub takes no object with as many levels anyway.
const MAX_DEPTH: usize = crate::depth::MAX_DEPTH;

/// Decodes one message; counts the values it makes so that a small body cannot become a large object.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    values: usize,
    /// How many messages around the one that is read now were not read to their end.
    depth: usize,
}

impl Decoder {
    /// Adds the fields of `bytes` to `object`.
    pub(super) fn fill(
        &mut self,
        message: &'static Message,
        bytes: &[u8],
        object: &mut Map<String, Value>,
    ) -> Result<(), Error> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::TooDeep(MAX_DEPTH));
        }
        self.depth += 1;
        let filled = self.fill_fields(message, bytes, object);
        self.depth -= 1;
        filled
    }

    fn fill_fields(
        &mut self,
        message: &'static Message,
        bytes: &[u8],
        object: &mut Map<String, Value>,
    ) -> Result<(), Error> {
        for entry in Fields::new(bytes) {
            let (number, wire) = entry.map_err(|_| Error::Malformed {
                message: message.name,
            })?;
            let Some(field) = message.field(number) else {
                if wire.is_zero() {
                    continue;
                }
                return Err(Error::UnknownField {
                    message: message.name,
                    number,
                });
            };
            self.values += 1;
            if self.values > MAX_VALUES {
                return Err(Error::TooManyValues);
            }
            self.add(message, field, wire, object)?;
        }
        Ok(())
    }

    /// Reads the envelope: its object comes back as bytes, the rest goes to `header`.
    pub(super) fn envelope<'a>(
        &mut self,
        bytes: &'a [u8],
        header: &mut Map<String, Value>,
    ) -> Result<&'a [u8], Error> {
        let mut raw: &[u8] = &[];
        for entry in Fields::new(bytes) {
            match entry.map_err(|_| Error::Malformed {
                message: UNKNOWN.name,
            })? {
                (RAW, wire) => raw = bytes_of(&UNKNOWN, wire)?,
                (number, wire) => {
                    if let Some(field) = UNKNOWN.field(number) {
                        self.add(&UNKNOWN, field, wire, header)?;
                    }
                }
            }
        }
        Ok(raw)
    }

    fn add(
        &mut self,
        message: &'static Message,
        field: &Field,
        wire: Wire<'_>,
        object: &mut Map<String, Value>,
    ) -> Result<(), Error> {
        if let Kind::Inline(inner) = field.kind {
            return self.fill(inner, bytes_of(message, wire)?, object);
        }
        match field.shape {
            Shape::One => {
                if field.empty == Empty::Omit && field.kind.is_scalar() && wire.is_zero() {
                    // The last one on the wire wins, also when it is empty.
                    object.remove(field.name);
                } else if let Some(value) = self.value(message, field, wire)? {
                    object.insert(field.name.to_owned(), value);
                }
            }
            Shape::Many => {
                let value = self.value(message, field, wire)?.unwrap_or(Value::Null);
                if let Value::Array(list) = object
                    .entry(field.name)
                    .or_insert_with(|| Value::Array(Vec::new()))
                {
                    list.push(value);
                }
            }
            Shape::Map => {
                let (key, value) = self.entry(message, field, bytes_of(message, wire)?)?;
                if let Value::Object(map) = object
                    .entry(field.name)
                    .or_insert_with(|| Value::Object(Map::new()))
                {
                    map.insert(key, value);
                }
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        message: &'static Message,
        field: &Field,
        bytes: &[u8],
    ) -> Result<(String, Value), Error> {
        let (mut key, mut value) = (String::new(), Wire::Bytes(&[]));
        for entry in Fields::new(bytes) {
            match entry.map_err(|_| Error::Malformed {
                message: message.name,
            })? {
                (1, wire) => key = text(message, wire)?,
                (2, wire) => value = wire,
                _ => {}
            }
        }
        Ok((key, self.value(message, field, value)?.unwrap_or(Value::Null)))
    }

    /// The JSON value of one occurrence; `None` for a time or raw JSON that is not set, which JSON clients send as null.
    fn value(
        &mut self,
        message: &'static Message,
        field: &Field,
        wire: Wire<'_>,
    ) -> Result<Option<Value>, Error> {
        let malformed = || Error::Malformed {
            message: message.name,
        };
        Ok(Some(match field.kind {
            Kind::String => Value::String(text(message, wire)?),
            Kind::Bytes => Value::String(STANDARD.encode(bytes_of(message, wire)?)),
            Kind::Boolean => Value::Bool(number_of(message, wire)? != 0),
            // Negative numbers are sign-extended to 64 bits, also those of 32-bit fields.
            Kind::Integer => Value::from(number_of(message, wire)? as i64),
            Kind::Time => return time(message, wire, Precision::Seconds),
            Kind::MicroTime => return time(message, wire, Precision::Microseconds),
            Kind::Quantity => Value::String(quantity(message, wire)?),
            Kind::IntOrString => int_or_string(message, wire)?,
            Kind::RawJson => {
                let Some((_, raw)) = first(message, wire, 1)? else {
                    return Ok(None);
                };
                serde_json::from_slice(bytes_of(message, raw)?).map_err(|_| malformed())?
            }
            Kind::Strings => {
                let mut list = Vec::new();
                for entry in Fields::new(bytes_of(message, wire)?) {
                    let (_, item) = entry.map_err(|_| malformed())?;
                    list.push(Value::String(text(message, item)?));
                }
                Value::Array(list)
            }
            Kind::Double => double(message, wire)?,
            Kind::Message(inner) | Kind::Inline(inner) => self.object(inner, bytes_of(message, wire)?)?,
            Kind::SchemaOrList(schema) => {
                let parts = self.alternatives(message, schema, wire, 1, 2)?;
                match parts.others.is_empty() {
                    true => parts.schema.unwrap_or(Value::Null),
                    false => {
                        let schemas = parts.others.into_iter();
                        let schemas = schemas.map(|wire| self.object(schema, bytes_of(message, wire)?));
                        Value::Array(schemas.collect::<Result<_, _>>()?)
                    }
                }
            }
            Kind::SchemaOrBoolean(schema) => {
                let parts = self.alternatives(message, schema, wire, 2, 1)?;
                match (parts.schema, parts.others.last()) {
                    (Some(schema), _) => schema,
                    (None, Some(allows)) => Value::Bool(number_of(message, *allows)? != 0),
                    (None, None) => Value::Bool(false),
                }
            }
            Kind::SchemaOrStrings(schema) => {
                let parts = self.alternatives(message, schema, wire, 1, 2)?;
                match parts.others.is_empty() {
                    true => parts.schema.unwrap_or(Value::Null),
                    false => {
                        let texts = parts.others.into_iter();
                        let texts = texts.map(|wire| Ok(Value::String(text(message, wire)?)));
                        Value::Array(texts.collect::<Result<_, Error>>()?)
                    }
                }
            }
        }))
    }

    fn object(&mut self, message: &'static Message, bytes: &[u8]) -> Result<Value, Error> {
        let mut object = Map::new();
        self.fill(message, bytes, &mut object)?;
        Ok(Value::Object(object))
    }

    /// The parts of a message that holds a schema or something else.
    fn alternatives<'a>(
        &mut self,
        message: &'static Message,
        schema: &'static Message,
        wire: Wire<'a>,
        schema_number: u32,
        other_number: u32,
    ) -> Result<Alternatives<'a>, Error> {
        let mut parts = Alternatives::default();
        for entry in Fields::new(bytes_of(message, wire)?) {
            let (number, wire) = entry.map_err(|_| Error::Malformed {
                message: message.name,
            })?;
            self.values += 1;
            if self.values > MAX_VALUES {
                return Err(Error::TooManyValues);
            }
            match number {
                _ if number == schema_number => {
                    parts.schema = Some(self.object(schema, bytes_of(message, wire)?)?);
                }
                _ if number == other_number => parts.others.push(wire),
                _ => {}
            }
        }
        Ok(parts)
    }
}

/// A schema, or something else.
#[derive(Debug, Default)]
struct Alternatives<'a> {
    schema: Option<Value>,
    others: Vec<Wire<'a>>,
}

impl Kind {
    fn is_scalar(self) -> bool {
        matches!(
            self,
            Kind::String | Kind::Bytes | Kind::Boolean | Kind::Integer | Kind::Double
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Precision {
    Seconds,
    Microseconds,
}

fn bytes_of<'a>(message: &'static Message, wire: Wire<'a>) -> Result<&'a [u8], Error> {
    match wire {
        Wire::Bytes(bytes) => Ok(bytes),
        _ => Err(Error::Malformed {
            message: message.name,
        }),
    }
}

fn number_of(message: &'static Message, wire: Wire<'_>) -> Result<u64, Error> {
    match wire {
        Wire::Varint(number) => Ok(number),
        _ => Err(Error::Malformed {
            message: message.name,
        }),
    }
}

/// Go writes a whole number without a fraction, and refuses to write what is no number.
fn double(message: &'static Message, wire: Wire<'_>) -> Result<Value, Error> {
    let malformed = || Error::Malformed {
        message: message.name,
    };
    let Wire::Fixed(bits) = wire else {
        return Err(malformed());
    };
    let number = f64::from_bits(bits);
    // Up to there each whole number is itself as a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return Ok(Value::from(number as i64));
    }
    serde_json::Number::from_f64(number)
        .map(Value::Number)
        .ok_or_else(malformed)
}

fn text(message: &'static Message, wire: Wire<'_>) -> Result<String, Error> {
    let bytes = bytes_of(message, wire)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Error::Malformed {
            message: message.name,
        }),
    }
}

/// The first field `number` of a small wrapper message.
fn first<'a>(
    message: &'static Message,
    wire: Wire<'a>,
    number: u32,
) -> Result<Option<(u32, Wire<'a>)>, Error> {
    for entry in Fields::new(bytes_of(message, wire)?) {
        let entry = entry.map_err(|_| Error::Malformed {
            message: message.name,
        })?;
        if entry.0 == number {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

fn quantity(message: &'static Message, wire: Wire<'_>) -> Result<String, Error> {
    match first(message, wire, 1)? {
        Some((_, wire)) => text(message, wire),
        // An unset quantity is zero in Go, and zero is written so.
        None => Ok("0".to_owned()),
    }
}

fn int_or_string(message: &'static Message, wire: Wire<'_>) -> Result<Value, Error> {
    let is_string = match first(message, wire, 1)? {
        Some((_, kind)) => number_of(message, kind)? == 1,
        None => false,
    };
    if is_string {
        return Ok(Value::String(match first(message, wire, 3)? {
            Some((_, value)) => text(message, value)?,
            None => String::new(),
        }));
    }
    Ok(Value::from(match first(message, wire, 2)? {
        Some((_, value)) => number_of(message, value)? as i64,
        None => 0,
    }))
}

fn time(message: &'static Message, wire: Wire<'_>, precision: Precision) -> Result<Option<Value>, Error> {
    if wire.is_zero() {
        return Ok(None);
    }
    let part = |number| -> Result<i64, Error> {
        Ok(match first(message, wire, number)? {
            Some((_, value)) => number_of(message, value)? as i64,
            None => 0,
        })
    };
    let (seconds, nanos) = (part(1)?, part(2)?);
    let malformed = Error::Malformed {
        message: message.name,
    };
    let Ok(nanos) = i32::try_from(nanos) else {
        return Err(malformed);
    };
    let Ok(time) = Timestamp::new(seconds, nanos) else {
        return Err(malformed);
    };
    Ok(Some(Value::String(match precision {
        Precision::Seconds => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Precision::Microseconds => time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
    })))
}
