//! Path elements: how a field set names a child of an object or list.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

/// One step of a path, as `fieldsV1` writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathElement {
    /// `f:<name>`: a field of an object.
    Field(String),
    /// `k:{..}`: the element of a keyed list, its key fields sorted by name.
    Key(Vec<(String, Scalar)>),
    /// `v:<json>`: the element of a set.
    Value(Scalar),
    /// `i:<n>`: the element at an index. Nothing writes it, old objects may carry it.
    Index(i64),
}

impl PathElement {
    /// The element for a field name.
    pub(crate) fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }
}

/// The text Kubernetes uses in conflict messages: `.spec`, `[name="web"]`, `[="a"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(formatter, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={}", value.0))
                    .collect();
                write!(formatter, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(formatter, "[={}]", value.0),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// A path in that same text.
pub(super) fn display(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

/// A value inside a path element, ordered as Kubernetes orders them: numbers, strings, booleans, the rest. Numbers
/// are equal by value, so that `1` and `1.0` name the same element.
#[derive(Clone, Debug)]
pub(crate) struct Scalar(pub(crate) Value);

impl Scalar {
    fn rank(&self) -> u8 {
        match self.0 {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => left
                    .as_f64()
                    .unwrap_or_default()
                    .total_cmp(&right.as_f64().unwrap_or_default()),
            },
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            (left, right) => self
                .rank()
                .cmp(&other.rank())
                .then_with(|| left.to_string().cmp(&right.to_string())),
        }
    }
}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scalar {}
