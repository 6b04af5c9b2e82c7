//! Definitions that the schemas of the built-in kinds share: each is compiled once, however many kinds refer to it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::compile::compile_with;
use super::{FieldError, Schema};

/// What the name of a definition follows in a reference, as in the OpenAPI documents of Kubernetes.
pub(crate) const REFERENCE: &str = "#/components/schemas/";

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/// The definitions by name, as they were written and as far as they were compiled.
pub(crate) struct Definitions<'s> {
    sources: &'s Map<String, Value>,
    compiled: RefCell<BTreeMap<String, Arc<Schema>>>,
}

type Compiled = Result<Arc<Schema>, Vec<FieldError>>;

impl<'s> Definitions<'s> {
    pub(crate) fn new(sources: &'s Map<String, Value>) -> Self {
        Self {
            sources,
            compiled: RefCell::default(),
        }
    }

    /// Compiles the schema of a kind.
    pub(crate) fn compile(&self, source: &Value) -> Result<Schema, Vec<FieldError>> {
        compile_with(source, self)
    }

    /// What a schema refers to; `None` if the schema is no reference.
    pub(super) fn referred(&self, source: &Value) -> Option<Compiled> {
        let name = source.get("$ref")?.as_str()?.strip_prefix(REFERENCE)?;
        Some(match self.merged(name, source) {
            None => self.named(name),
            Some(merged) => compile_with(&merged, self).map(Arc::new),
        })
    }

    fn named(&self, name: &str) -> Compiled {
        if let Some(schema) = self.compiled.borrow().get(name) {
            return Ok(Arc::clone(schema));
        }
        let schema = Arc::new(match self.sources.get(name) {
            _ if name == QUANTITY => Schema {
                quantity: true,
                ..Schema::default()
            },
            Some(source) => compile_with(source, self)?,
            None => return Err(vec![FieldError::required(name, "there is no such definition")]),
        });
        let mut compiled = self.compiled.borrow_mut();
        Ok(Arc::clone(compiled.entry(name.to_owned()).or_insert(schema)))
    }

    /// A definition with what the reference says beside the name: a default, other schemas of properties. `None` if the
    /// reference says nothing else that a schema is compiled from.
    fn merged(&self, name: &str, reference: &Value) -> Option<Value> {
        let beside = |(key, _): &(&String, &Value)| !matches!(key.as_str(), "$ref" | "description");
        let reference = reference.as_object()?;
        let mut schema = self.sources.get(name)?.clone();
        let mut changed = false;
        for (key, value) in reference.iter().filter(beside) {
            changed = true;
            match (key.as_str(), value, schema.get_mut(key)) {
                ("properties", Value::Object(own), Some(Value::Object(properties))) => {
                    properties.extend(own.clone());
                }
                _ => schema[key] = value.clone(),
            }
        }
        changed.then_some(schema)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::{default, validate};

    fn compiled(source: &Value) -> Schema {
        let amount = format!("{REFERENCE}{QUANTITY}");
        let part = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "size": {"$ref": amount},
        }});
        let sources = json!({"part": part, (QUANTITY): {}});
        Definitions::new(sources.as_object().unwrap())
            .compile(source)
            .unwrap()
    }

    #[test]
    fn references_to_one_definition_share_its_schema() {
        let part = json!({"$ref": format!("{REFERENCE}part")});
        let schema = compiled(&json!({"properties": {"a": part, "b": {"type": "array", "items": part}}}));
        let items = schema.properties["b"].items.as_ref().unwrap();
        assert!(Arc::ptr_eq(&schema.properties["a"], items));
        let wrong = json!({"a": {"size": "many"}, "b": [{"name": "c", "size": true}]});
        let errors: Vec<_> = validate(&schema, &wrong, None)
            .iter()
            .map(|error| error.field.clone())
            .collect();
        assert_eq!(errors, ["a.name", "a.size", "b[0].size"]);
    }

    #[test]
    fn a_reference_can_add_to_its_definition() {
        let part = json!({
            "$ref": format!("{REFERENCE}part"), "default": {},
            "properties": {"name": {"type": "string", "default": "a"}},
        });
        let schema = compiled(&json!({"properties": {"part": part}}));
        let mut object = json!({});
        default(&schema, &mut object, 1_000).unwrap();
        assert_eq!(object, json!({"part": {"name": "a"}}));
        object["part"]["size"] = json!("500m");
        assert_eq!(validate(&schema, &object, None), []);
    }

    #[test]
    fn a_reference_to_nothing_is_an_error() {
        let sources = Map::new();
        let source = json!({"properties": {"a": {"$ref": format!("{REFERENCE}part")}}});
        assert!(Definitions::new(&sources).compile(&source).is_err());
    }
}
