//! A schema as the type of an expression's variable.

use std::sync::Arc;

use portolan_cel::ValueType;

use super::super::{Kind, Schema};
use super::escape::escape;

/// Whether the node is the root of a whole resource, whose identity rules can always read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    Yes,
    No,
}

impl Root {
    /// Of a node below the document's root.
    pub(super) fn of(schema: &Schema) -> Root {
        if schema.embedded_resource {
            Root::Yes
        } else {
            Root::No
        }
    }
}

/// The type of the node's value, or `None` if rules cannot see it: nothing is declared about it, or about its parts.
pub(super) fn declared(schema: &Schema, root: Root) -> Option<ValueType> {
    if schema.int_or_string {
        return Some(ValueType::DYN);
    }
    Some(match schema.kind? {
        Kind::Boolean => ValueType::BOOL,
        Kind::Integer => ValueType::INT,
        Kind::Number => ValueType::DOUBLE,
        Kind::String => match schema.format() {
            Some("byte") => ValueType::BYTES,
            Some("duration") => ValueType::DURATION,
            Some("date" | "date-time") => ValueType::TIMESTAMP,
            _ => ValueType::STRING,
        },
        Kind::Array => {
            let items = schema.items.as_deref()?;
            ValueType::list(declared(items, Root::of(items))?)
        }
        Kind::Object => match schema.values() {
            Some(values) => ValueType::map(declared(values, Root::of(values))?),
            None => object(schema, root),
        },
    })
}

fn object(schema: &Schema, root: Root) -> ValueType {
    let field = |(name, field): (&String, &Arc<Schema>)| {
        let known = declared(field, Root::of(field))?;
        Some((Arc::from(escape(name)?), known))
    };
    let mut fields: Vec<(Arc<str>, ValueType)> = schema.properties.iter().filter_map(field).collect();
    if root == Root::Yes && !declares_identity(schema) {
        let name = |name: &str| (Arc::from(name), ValueType::STRING);
        fields.extend(["apiVersion", "kind"].map(name));
        let metadata = ValueType::object(["name", "generateName"].map(name));
        fields.push(("metadata".into(), metadata));
    }
    // Of two fields of one name the later stays: the identity of a resource wins over what a schema says of it.
    ValueType::object(fields)
}

/// Whether the schema itself declares what rules at a root can always read.
fn declares_identity(schema: &Schema) -> bool {
    let is = |schema: Option<&Schema>, kind| schema.is_some_and(|schema| schema.kind == Some(kind));
    let of = |name: &str| schema.properties.get(name).map(|field| &**field);
    let metadata = |name: &str| {
        let field = of("metadata").and_then(|metadata| metadata.properties.get(name));
        field.map(|field| &**field)
    };
    is(of("apiVersion"), Kind::String)
        && is(of("kind"), Kind::String)
        && is(of("metadata"), Kind::Object)
        && is(metadata("name"), Kind::String)
        && is(metadata("generateName"), Kind::String)
}
