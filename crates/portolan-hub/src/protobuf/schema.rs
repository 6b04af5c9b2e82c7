//! How a message is described: a table of fields, each with number, JSON name and type.

/// One protobuf message of the Kubernetes API.
#[derive(Debug)]
pub(super) struct Message {
    /// For error messages.
    pub(super) name: &'static str,
    fields: &'static [Field],
}

impl Message {
    pub(super) const fn new(name: &'static str, fields: &'static [Field]) -> Self {
        Self { name, fields }
    }

    pub(super) fn field(&self, number: u32) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.number == number)
    }

    pub(super) fn fields(&self) -> &'static [Field] {
        self.fields
    }
}

/// One field of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) shape: Shape,
    pub(super) empty: Empty,
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    String,
    /// Base64 text in JSON.
    Bytes,
    Boolean,
    Integer,
    /// A whole number in JSON if it is one.
    Double,
    /// `{seconds, nanos}`; RFC 3339 with whole seconds in JSON.
    Time,
    /// The same with microseconds.
    MicroTime,
    /// `{string}`; a plain string in JSON.
    Quantity,
    /// `{type, intVal, strVal}`; a number or a string in JSON.
    IntOrString,
    /// `{Raw}`: JSON inside protobuf, taken over as it is.
    RawJson,
    /// `{items}`; an array of strings in JSON.
    Strings,
    Message(&'static Message),
    /// `{schema, jSONSchemas}`; a schema or an array of schemas in JSON.
    SchemaOrList(&'static Message),
    /// `{allows, schema}`; a schema or a boolean in JSON.
    SchemaOrBoolean(&'static Message),
    /// `{schema, property}`; a schema or an array of strings in JSON.
    SchemaOrStrings(&'static Message),
    /// A message whose fields appear in the JSON object around it (an embedded Go struct).
    Inline(&'static Message),
}

/// How often a field appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    Many,
    Map,
}

/// What JSON shows of a zero value that was on the wire. Go writes every field that is no pointer, set or not, so only
/// its types (`omitempty`) tell whether a zero is a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Empty {
    Omit,
    Keep,
}

impl Field {
    const fn of(number: u32, name: &'static str, kind: Kind) -> Self {
        Self {
            number,
            name,
            kind,
            shape: Shape::One,
            empty: Empty::Omit,
        }
    }

    /// A pointer, or a required field: a zero is a value.
    pub(super) const fn keep(mut self) -> Self {
        self.empty = Empty::Keep;
        self
    }

    pub(super) const fn many(mut self) -> Self {
        self.shape = Shape::Many;
        self
    }

    /// A map with string keys.
    pub(super) const fn map(mut self) -> Self {
        self.shape = Shape::Map;
        self
    }
}

pub(super) const fn string(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::String)
}

pub(super) const fn bytes(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::Bytes)
}

pub(super) const fn boolean(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::Boolean)
}

pub(super) const fn integer(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::Integer)
}

pub(super) const fn double(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::Double)
}

pub(super) const fn time(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::Time)
}

pub(super) const fn micro_time(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::MicroTime)
}

pub(super) const fn quantity(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::Quantity)
}

pub(super) const fn int_or_string(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::IntOrString)
}

pub(super) const fn raw_json(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::RawJson)
}

pub(super) const fn strings(number: u32, name: &'static str) -> Field {
    Field::of(number, name, Kind::Strings)
}

pub(super) const fn message(number: u32, name: &'static str, message: &'static Message) -> Field {
    Field::of(number, name, Kind::Message(message))
}

pub(super) const fn schema_or_list(number: u32, name: &'static str, schema: &'static Message) -> Field {
    Field::of(number, name, Kind::SchemaOrList(schema))
}

pub(super) const fn schema_or_boolean(number: u32, name: &'static str, schema: &'static Message) -> Field {
    Field::of(number, name, Kind::SchemaOrBoolean(schema))
}

pub(super) const fn schema_or_strings(number: u32, name: &'static str, schema: &'static Message) -> Field {
    Field::of(number, name, Kind::SchemaOrStrings(schema))
}

pub(super) const fn inline(number: u32, message: &'static Message) -> Field {
    Field::of(number, "", Kind::Inline(message))
}
