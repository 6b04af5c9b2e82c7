//! Run-time values. Everything that is not a plain number sits behind an `Arc`, so passing a value around never
//! copies a document.

mod build;
mod compare;
mod json;
mod list;
mod map;

use std::net::IpAddr;
use std::sync::Arc;

pub(crate) use compare::{Order, compare, equal};
pub(crate) use json::{Numbers, from_json};
pub(crate) use list::{Identity, List};
pub(crate) use map::{Key, Map};

use crate::error::cut;
use crate::kubernetes::cidr::Cidr;
use crate::kubernetes::format::NamedFormat;
use crate::kubernetes::quantity::Quantity;
use crate::kubernetes::url::Url;
use crate::library::time::{Duration, Timestamp};
use crate::types::Kind;

/// A document that expressions are evaluated against, such as a whole `ManagedCluster`, or what one evaluates to.
///
/// Build it once per cluster and version and evaluate as many programs against it as needed: reading it copies
/// nothing, cloning it is one reference count.
#[derive(Clone, Debug)]
pub struct Value(pub(crate) Val);

impl Value {
    /// Converts a JSON document; integers that fit become `int`, all other numbers `double`.
    pub fn from_json(json: &serde_json::Value) -> Value {
        Value(from_json(json, Numbers::Typed))
    }
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Value {
        Value::from_json(json)
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Value {
        Value::from_json(&json)
    }
}

/// The value of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    List(Arc<List>),
    Map(Arc<Map>),
    Timestamp(Timestamp),
    Duration(Duration),
    Type(Kind),
    Optional(Option<Arc<Val>>),
    Quantity(Arc<Quantity>),
    Semver(Arc<semver::Version>),
    Url(Arc<Url>),
    Ip(Arc<IpAddr>),
    Cidr(Arc<Cidr>),
    Format(NamedFormat),
}

impl Val {
    pub(crate) fn string(text: impl Into<Arc<str>>) -> Val {
        Val::String(text.into())
    }

    pub(crate) fn list(elements: Vec<Val>) -> Val {
        Val::List(Arc::new(List::new(elements, Identity::Place)))
    }

    pub(crate) fn some(value: Val) -> Val {
        Val::Optional(Some(Arc::new(value)))
    }

    pub(crate) const NONE: Val = Val::Optional(None);

    /// A short rendering for error messages; containers show only their size.
    pub(crate) fn brief(&self) -> String {
        match self {
            Val::Null => "null".to_owned(),
            Val::Bool(value) => value.to_string(),
            Val::Int(value) => value.to_string(),
            Val::Uint(value) => format!("{value}u"),
            Val::Double(value) => format!("{value:?}"),
            Val::String(value) => format!("\"{}\"", cut(value)),
            Val::Bytes(value) => format!("{} bytes", value.len()),
            Val::List(value) => format!("list of {}", value.len()),
            Val::Map(value) => format!("map of {}", value.len()),
            Val::Timestamp(value) => value.to_string(),
            Val::Duration(value) => value.to_string(),
            Val::Type(value) => value.name().to_owned(),
            Val::Optional(None) => "optional.none()".to_owned(),
            Val::Optional(Some(_)) => "optional value".to_owned(),
            Val::Quantity(value) => value.to_string(),
            Val::Semver(value) => cut(&value.to_string()),
            Val::Url(value) => cut(value.text()),
            Val::Ip(value) => value.to_string(),
            Val::Cidr(value) => value.to_string(),
            Val::Format(value) => value.name().to_owned(),
        }
    }

    /// Whether this is the value a field has when nobody set it.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Val::Null | Val::Optional(None) => true,
            Val::Bool(value) => !value,
            Val::Int(value) => *value == 0,
            Val::Uint(value) => *value == 0,
            Val::Double(value) => *value == 0.0,
            Val::String(value) => value.is_empty(),
            Val::Bytes(value) => value.is_empty(),
            Val::List(value) => value.is_empty(),
            Val::Map(value) => value.len() == 0,
            Val::Timestamp(value) => *value == Timestamp::EPOCH,
            Val::Duration(value) => *value == Duration::ZERO,
            _ => false,
        }
    }
}
