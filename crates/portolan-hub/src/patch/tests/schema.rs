//! A structural schema read as merge rules, the way custom resources do it, and the widget all cases share.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::super::typed::Key;
use super::super::{Deduced, Kind, Typed, object_meta};

/// A schema node.
pub(super) struct Node {
    scalar: bool,
    list: Option<String>,
    atomic_map: bool,
    keys: Vec<Key>,
    fields: BTreeMap<String, Node>,
    element: Option<Box<Node>>,
    open: bool,
    default: Option<Value>,
    root: bool,
}

impl Node {
    /// Compiles a schema in the notation of CustomResourceDefinitions.
    pub(super) fn new(schema: &Value) -> Self {
        let text = |key: &str| {
            schema
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let fields = schema.get("properties").and_then(Value::as_object);
        let element = schema.get("items").or_else(|| schema.get("additionalProperties"));
        let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
        Self {
            scalar: !matches!(text("type").as_str(), "object" | "array"),
            list: (text("type") == "array").then(|| text("x-kubernetes-list-type")),
            atomic_map: text("x-kubernetes-map-type") == "atomic",
            keys: keys
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(|key| key.to_owned().into())
                .collect(),
            fields: fields
                .into_iter()
                .flatten()
                .map(|(name, field)| (name.clone(), Self::new(field)))
                .collect(),
            element: element.map(|element| Box::new(Self::new(element))),
            open: schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)),
            default: schema.get("default").cloned(),
            root: false,
        }
    }

    /// Makes a node the root of a custom resource.
    pub(super) fn into_root(mut self) -> Self {
        for name in ["apiVersion", "kind"] {
            self.fields
                .insert(name.to_owned(), Self::new(&json!({"type": "string"})));
        }
        self.root = true;
        self
    }
}

impl Typed for Node {
    fn kind(&self) -> Kind<'_> {
        match self.list.as_deref() {
            Some("set") => Kind::Set,
            Some("map") => Kind::KeyedList(&self.keys),
            Some(_) => Kind::AtomicList,
            None if self.scalar => Kind::Scalar,
            None if self.atomic_map => Kind::AtomicMap,
            None if self.open && self.fields.is_empty() => Kind::Deduced,
            None => Kind::Granular,
        }
    }

    fn field(&self, name: &str) -> Option<&dyn Typed> {
        if self.root && name == "metadata" {
            return Some(object_meta());
        }
        self.fields.get(name).map(|field| field as &dyn Typed)
    }

    fn element(&self) -> Option<&dyn Typed> {
        match &self.element {
            Some(element) => Some(element.as_ref()),
            None => self.open.then_some(&Deduced as &dyn Typed),
        }
    }

    fn default(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    fn serves(&self, api_version: &str) -> bool {
        api_version != "example.com/v0"
    }
}

/// The widget: every kind of field once.
pub(super) static WIDGET: LazyLock<Node> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let conditions = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": {"type": "object", "properties": {"type": text, "status": text, "reason": text}},
    });
    Node::new(&json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {
                "replicas": number,
                "image": text,
                "args": {"type": "array", "items": text},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
                "settings": {"type": "object", "additionalProperties": text},
                "sealed": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": text, "b": text, "c": text}},
                "nested": {"type": "object", "properties": {
                    "a": text, "b": text, "inner": {"type": "object", "properties": {"c": text}},
                }},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "ports": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {"type": "object", "properties": {
                        "port": number, "protocol": {"type": "string", "default": "TCP"}, "name": text,
                    }},
                },
                "nodes": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {
                        "name": text, "value": text,
                        "weights": {"type": "object", "additionalProperties": number},
                    }},
                },
            }},
            "status": {"type": "object", "properties": {"phase": text, "conditions": conditions}},
        },
    }))
    .into_root()
});
