//! A schema read once, with its patterns compiled.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::{Errors, MAX_ERRORS, UnknownField, defaults, unknown, validate};
use crate::field::{FieldError, Path};

/// A structural schema that is ready for use. It may come from any CustomResourceDefinition, not only from ours.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) root: Node,
}

/// A schema that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// A part that has to be a schema is something else.
    #[error("the schema at {path} is not an object")]
    NotAnObject {
        /// Where in the schema.
        path: String,
    },
    /// A pattern that is no regular expression.
    #[error("the pattern at {path} cannot be compiled")]
    Pattern {
        /// Where in the schema.
        path: String,
        /// Why.
        #[source]
        source: Box<regex::Error>,
    },
}

impl Schema {
    /// Reads the `openAPIV3Schema` of a version of a CustomResourceDefinition.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Ok(Self {
            root: Node::compile(schema, &Path::ROOT)?,
        })
    }

    /// Everything wrong with the object's fields. Metadata is not looked at.
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::new(MAX_ERRORS);
        validate::root(&self.root, object, &mut errors);
        errors.found
    }

    /// Fills in missing fields that have a default and drops nulls that stand for nothing, as the API server does.
    /// Do this before reading a hand-written manifest into a type.
    pub fn apply_defaults(&self, object: &mut Value) {
        defaults::root(&self.root, object);
    }

    /// Where under `spec` the schema has a field of this name, the place with the fewest levels first:
    /// `spec.predicates[].requiredClusterSelector`.
    pub fn place_of(&self, name: &str) -> Option<String> {
        let mut level = vec![("spec".to_owned(), self.root.properties.get("spec")?)];
        while !level.is_empty() {
            if let Some((path, _)) = level.iter().find(|(_, node)| node.properties.contains_key(name)) {
                return Some(format!("{path}.{name}"));
            }
            let below = level.iter().flat_map(|(path, node)| {
                let fields = node.properties.iter();
                let fields = fields.map(move |(field, node)| (format!("{path}.{field}"), node));
                let items = node
                    .items
                    .iter()
                    .map(move |node| (format!("{path}[]"), node.as_ref()));
                fields.chain(items)
            });
            level = below.collect();
        }
        None
    }

    /// The fields that the schema does not have, which an API server drops or refuses.
    pub fn unknown_fields(&self, object: &Value) -> Vec<UnknownField> {
        unknown::root(&self.root, object)
    }
}

/// One level of a schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) r#type: Option<Type>,
    pub(crate) int_or_string: bool,
    pub(crate) nullable: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded: bool,
    pub(crate) format: Option<Format>,
    pub(crate) default: Option<Value>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) pattern: Option<Regex>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) exclusive_maximum: bool,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) required: Vec<String>,
    pub(crate) properties: BTreeMap<String, Node>,
    pub(crate) additional: Option<Box<Node>>,
    pub(crate) items: Option<Box<Node>>,
    pub(crate) list_keys: Vec<String>,
    pub(crate) list_set: bool,
    pub(crate) all_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) not: Option<Box<Node>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// Formats that are checked. Others are remarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    DateTime,
    Byte,
}

impl Node {
    fn compile(schema: &Value, path: &Path<'_>) -> Result<Self, SchemaError> {
        let Some(keywords) = schema.as_object() else {
            return Err(SchemaError::NotAnObject {
                path: path.to_string(),
            });
        };
        let flag = |name: &str| keywords.get(name).and_then(Value::as_bool).unwrap_or_default();
        let text = |name: &str| keywords.get(name).and_then(Value::as_str);
        let size = |name: &str| keywords.get(name).and_then(Value::as_u64);
        let bound = |name: &str| keywords.get(name).and_then(Value::as_f64);
        let int_or_string = flag("x-kubernetes-int-or-string");
        Ok(Self {
            r#type: text("type").and_then(Type::parse),
            int_or_string,
            nullable: flag("nullable"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            format: text("format").and_then(Format::parse),
            default: keywords.get("default").cloned(),
            allowed: keywords
                .get("enum")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            pattern: text("pattern")
                .map(|pattern| compile_pattern(pattern, path))
                .transpose()?,
            minimum: bound("minimum"),
            maximum: bound("maximum"),
            exclusive_minimum: flag("exclusiveMinimum"),
            exclusive_maximum: flag("exclusiveMaximum"),
            min_length: size("minLength"),
            max_length: size("maxLength"),
            min_items: size("minItems"),
            max_items: size("maxItems"),
            min_properties: size("minProperties"),
            max_properties: size("maxProperties"),
            required: strings(keywords, "required"),
            properties: properties(keywords, path)?,
            additional: additional(keywords, path)?,
            items: nested(keywords, "items", path)?,
            list_keys: strings(keywords, "x-kubernetes-list-map-keys"),
            list_set: text("x-kubernetes-list-type") == Some("set"),
            all_of: choices(keywords, "allOf", path)?,
            // The choice between integer and string is what int-or-string already says.
            any_of: if int_or_string {
                Vec::new()
            } else {
                choices(keywords, "anyOf", path)?
            },
            one_of: choices(keywords, "oneOf", path)?,
            not: nested(keywords, "not", path)?,
        })
    }
}

impl Type {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }
}

impl Format {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "date-time" => Self::DateTime,
            "byte" => Self::Byte,
            _ => return None,
        })
    }
}

fn compile_pattern(pattern: &str, path: &Path<'_>) -> Result<Regex, SchemaError> {
    Regex::new(pattern).map_err(|error| SchemaError::Pattern {
        path: path.to_string(),
        source: Box::new(error),
    })
}

fn strings(keywords: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = keywords.get(name).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn properties(keywords: &Map<String, Value>, path: &Path<'_>) -> Result<BTreeMap<String, Node>, SchemaError> {
    let map = keywords.get("properties").and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(name, schema)| Ok((name.clone(), Node::compile(schema, &path.field(name))?)))
        .collect()
}

fn additional(keywords: &Map<String, Value>, path: &Path<'_>) -> Result<Option<Box<Node>>, SchemaError> {
    match keywords.get("additionalProperties") {
        Some(Value::Bool(true)) => Ok(Some(Box::new(Node {
            preserve_unknown: true,
            ..Node::default()
        }))),
        Some(Value::Object(_)) => nested(keywords, "additionalProperties", path),
        _ => Ok(None),
    }
}

fn nested(
    keywords: &Map<String, Value>,
    name: &str,
    path: &Path<'_>,
) -> Result<Option<Box<Node>>, SchemaError> {
    keywords
        .get(name)
        .map(|schema| Ok(Box::new(Node::compile(schema, &path.field(name))?)))
        .transpose()
}

fn choices(keywords: &Map<String, Value>, name: &str, path: &Path<'_>) -> Result<Vec<Node>, SchemaError> {
    let list = keywords.get(name).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|schema| Node::compile(schema, &path.field(name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("format").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|value| formats(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| formats(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_format_of_our_definitions_is_checked() {
        let mut found = Vec::new();
        crate::crd_values()
            .iter()
            .for_each(|value| formats(value, &mut found));
        assert!(!found.is_empty());
        for format in found {
            assert!(Format::parse(&format).is_some(), "{format}");
        }
    }
}
