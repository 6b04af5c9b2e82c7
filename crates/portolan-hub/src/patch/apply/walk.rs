//! Walking a typed value: what its parts are called, and which of them a configuration owns.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::typed::{Key, Kind, Typed, child, item};
use super::path::{PathElement, Scalar};
use super::set::{FieldSet, Node};

/// What to do with a pair of values: the schema's answer, refined by the values where the schema has none.
#[derive(Clone, Copy)]
pub(super) enum Shape<'a> {
    /// Scalars and everything atomic.
    Leaf,
    /// Field by field.
    Object,
    /// Element by element; the keys, or none for a set.
    List(&'a [Key]),
}

/// The shape of a value. Null fits every type. A value that contradicts its type is a leaf: validation refuses it in
/// configurations, and in stored objects there is nothing better to do.
pub(super) fn shape<'a>(typed: &'a dyn Typed, value: &Value) -> Shape<'a> {
    let (object, list) = (value.is_object(), value.is_array());
    match typed.kind() {
        Kind::Granular if object || value.is_null() => Shape::Object,
        Kind::Deduced if object || value.is_null() => Shape::Object,
        Kind::Set if list || value.is_null() => Shape::List(&[]),
        Kind::KeyedList(keys) if list || value.is_null() => Shape::List(keys),
        _ => Shape::Leaf,
    }
}

/// Most bytes of a key of an element: it is repeated in the path of each value below the element. No name of Kubernetes is
/// longer than a quarter of it.
const LONGEST_KEY: usize = 1 << 10;

/// What the element of a set or keyed list is called, or why it has no name.
pub(super) fn element_of(typed: &dyn Typed, keys: &[Key], value: &Value) -> Result<PathElement, String> {
    if keys.is_empty() {
        return match value {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
            Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
            scalar => Ok(PathElement::Value(Scalar(scalar.clone()))),
        };
    }
    let Value::Object(fields) = value else {
        let what = if value.is_null() {
            "a null element"
        } else {
            "non-map elements"
        };
        return Err(format!("associative list with keys may not have {what}"));
    };
    let mut named = Vec::with_capacity(keys.len());
    for key in keys {
        let default = || item(typed).field(key).and_then(|field| field.default());
        let Some(value) = fields.get(key.as_ref()).or_else(default) else {
            return Err(format!(
                "associative list with keys has an element that omits key field {key:?} \
                 (and doesn't have default value)"
            ));
        };
        let bytes = match value {
            Value::String(text) => text.len(),
            Value::Array(_) | Value::Object(_) => value.to_string().len(),
            _ => 0,
        };
        if bytes > LONGEST_KEY {
            return Err(format!(
                "associative list with keys has an element whose key field {key:?} has {bytes} bytes; at most {LONGEST_KEY} \
                 are accepted"
            ));
        }
        named.push((key.clone().into_owned(), Scalar(value.clone())));
    }
    named.sort();
    Ok(PathElement::Key(named))
}

/// A list's elements by name. Names may repeat in stored objects; nameless elements are left out.
pub(super) fn index<'v>(
    typed: &dyn Typed,
    keys: &[Key],
    items: &'v [Value],
) -> BTreeMap<PathElement, Vec<&'v Value>> {
    let mut found: BTreeMap<PathElement, Vec<&'v Value>> = BTreeMap::new();
    for value in items {
        if let Ok(element) = element_of(typed, keys, value) {
            found.entry(element).or_default().push(value);
        }
    }
    found
}

/// The fields a value consists of: what its author owns by applying it.
pub(in crate::patch) fn field_set(value: &Value, typed: &dyn Typed) -> FieldSet {
    node(value, typed).below
}

fn node(value: &Value, typed: &dyn Typed) -> Node {
    match (shape(typed, value), value) {
        (Shape::Leaf, _) => Node {
            owned: true,
            below: FieldSet::default(),
        },
        (Shape::Object, Value::Object(fields)) => Node {
            owned: false,
            below: of_fields(fields, typed),
        },
        (Shape::List(keys), Value::Array(items)) => Node {
            owned: false,
            below: of_items(items, typed, keys),
        },
        _ => Node::default(),
    }
}

fn of_fields(fields: &Map<String, Value>, typed: &dyn Typed) -> FieldSet {
    let mut set = FieldSet::default();
    for (name, value) in fields {
        let mut node = node(value, child(typed, name));
        // A struct's field exists by declaration; a map's key, and whatever is empty, only because somebody put it.
        let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        node.owned |= empty || typed.field(name).is_none();
        if node.owned || !node.below.is_empty() {
            set.nodes.insert(PathElement::field(name), node);
        }
    }
    set
}

fn of_items(items: &[Value], typed: &dyn Typed, keys: &[Key]) -> FieldSet {
    let mut set = FieldSet::default();
    for (element, values) in index(typed, keys, items) {
        let below = match values.as_slice() {
            [value] => node(value, item(typed)).below,
            // Which of several is meant cannot be said, so they are owned together.
            _ => FieldSet::default(),
        };
        set.nodes.insert(element, Node { owned: true, below });
    }
    set
}
