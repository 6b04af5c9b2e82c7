//! Structural schemas, compiled once per kind and version: validate, default, prune.
//!
//! The rules are those of CustomResourceDefinition v1, CEL included. Nothing here knows a kind; the server calls it on
//! every write, the kinds compile it when a definition changes.

mod check_defaults;
mod compile;
mod date_time;
mod default;
mod definitions;
mod error;
mod prune;
mod rules;
#[cfg(test)]
mod tests;
mod typed;
mod validate;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

pub(crate) use check_defaults::check_defaults;
pub(crate) use compile::{compile, compile_within};
pub(crate) use default::{TooLarge, default};
pub(crate) use definitions::{Definitions, REFERENCE};
pub(crate) use error::{Cause, FieldError};
pub(crate) use prune::prune;
pub(crate) use rules::{PatternBudget, check_costs, evaluate};
pub(crate) use validate::validate;

/// A compiled schema node.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) kind: Option<Kind>,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<String, Arc<Schema>>,
    /// The schema of values under keys that are not properties.
    pub(crate) additional: Option<Arc<Schema>>,
    pub(crate) items: Option<Arc<Schema>>,
    pub(crate) preserve_unknown: bool,
    pub(crate) int_or_string: bool,
    /// A number or a text such as `500m`. Only definitions of the built-in kinds say so.
    pub(crate) quantity: bool,
    pub(crate) embedded_resource: bool,
    pub(crate) list: ListType,
    /// `x-kubernetes-map-type: atomic`.
    pub(crate) atomic: bool,
    /// Whether there is a default here or anywhere below.
    pub(crate) defaulted: bool,
    /// Whether there is a rule here or anywhere below.
    pub(crate) ruled: bool,
    rules: Vec<rules::Rule>,
    checks: Checks,
    all_of: Vec<Schema>,
    any_of: Vec<Schema>,
    one_of: Vec<Schema>,
    not: Option<Box<Schema>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum ListType {
    /// Merged and compared as a whole, as lists are that say nothing.
    #[default]
    Atomic,
    Set,
    /// Items are told apart by these keys.
    Map(Vec<Cow<'static, str>>),
}

/// The value validations of one node.
#[derive(Debug, Default)]
struct Checks {
    required: Vec<String>,
    values: Vec<Value>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    exclusive_minimum: bool,
    exclusive_maximum: bool,
    multiple_of: Option<f64>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    min_items: Option<usize>,
    max_items: Option<usize>,
    min_properties: Option<usize>,
    max_properties: Option<usize>,
    unique_items: bool,
    pattern: Option<Regex>,
    format: Option<String>,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
        }
    }
}

impl Schema {
    /// The schema for the value under `key`, if one is declared.
    fn field(&self, key: &str) -> Option<&Schema> {
        self.properties
            .get(key)
            .or(self.additional.as_ref())
            .map(|field| &**field)
    }

    /// The schema of a map's values, unless it is one of anything (`additionalProperties: true`).
    fn values(&self) -> Option<&Schema> {
        let anything = |values: &Schema| values.kind.is_none() && values.preserve_unknown && values.nullable;
        self.additional.as_deref().filter(|values| !anything(values))
    }

    fn format(&self) -> Option<&str> {
        self.checks.format.as_deref()
    }

    /// The `type` as it was written.
    fn kind_name(&self) -> &'static str {
        self.kind.map_or("", Kind::name)
    }
}

/// `parent.key`, without a leading dot at the root.
fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
