//! Field sets on the wire: the `fieldsV1` format of managed fields.

use serde_json::{Map, Value};

use super::path::{PathElement, Scalar};
use super::set::{FieldSet, Node};

impl FieldSet {
    /// The set as `fieldsV1`.
    pub(crate) fn to_fields_v1(&self) -> Value {
        Value::Object(self.to_map())
    }

    fn to_map(&self) -> Map<String, Value> {
        let fields = self.nodes.iter().map(|(element, node)| {
            let mut below = node.below.to_map();
            // A member without children needs no mark, `{}` says it.
            if node.owned && !below.is_empty() {
                below.insert(".".into(), Value::Object(Map::new()));
            }
            (encode(element), Value::Object(below))
        });
        fields.collect()
    }

    /// Reads `fieldsV1`. Elements of an unknown type are dropped, as a newer server may have written them.
    pub(crate) fn from_fields_v1(fields: &Value) -> Result<Self, String> {
        match fields {
            Value::Null => Ok(Self::default()),
            Value::Object(fields) => parse(fields),
            other => Err(format!("fieldsV1 is not an object: {other}")),
        }
    }
}

fn parse(fields: &Map<String, Value>) -> Result<FieldSet, String> {
    let mut set = FieldSet::default();
    for (key, value) in fields.iter().filter(|(key, _)| *key != ".") {
        let Some(element) = decode(key)? else {
            continue;
        };
        let Value::Object(children) = value else {
            return Err(format!("{key} is not an object"));
        };
        let below = parse(children)?;
        let owned = below.is_empty() || children.contains_key(".");
        set.nodes.insert(element, Node { owned, below });
    }
    Ok(set)
}

fn encode(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => ["f:", name].concat(),
        PathElement::Key(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| {
                    format!("{}:{}", go_json(&Value::from(name.as_str())), go_json(&value.0))
                })
                .collect();
            format!("k:{{{}}}", fields.join(","))
        }
        PathElement::Value(value) => format!("v:{}", go_json(&value.0)),
        PathElement::Index(index) => format!("i:{index}"),
    }
}

/// Go's encoder escapes what HTML would misread. Keys are compared as strings by other tools, so we must agree.
fn go_json(value: &Value) -> String {
    let mut text = String::new();
    for character in value.to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", character as u32))
            }
            other => text.push(other),
        }
    }
    text
}

fn decode(text: &str) -> Result<Option<PathElement>, String> {
    let Some((kind, content)) = text.split_at_checked(2) else {
        return Err(format!("key must be 2 characters long: {text}"));
    };
    let json = || serde_json::from_str::<Value>(content).map_err(|error| format!("{text}: {error}"));
    Ok(Some(match kind {
        "f:" => PathElement::Field(content.to_owned()),
        "v:" => PathElement::Value(Scalar(json()?)),
        "k:" => {
            let Value::Object(fields) = json()? else {
                return Err(format!("{text}: not an object"));
            };
            let mut fields: Vec<_> = fields
                .into_iter()
                .map(|(name, value)| (name, Scalar(value)))
                .collect();
            fields.sort();
            PathElement::Key(fields)
        }
        "i:" => PathElement::Index(content.parse().map_err(|error| format!("{text}: {error}"))?),
        other if other.ends_with(':') => return Ok(None),
        _ => return Err(format!("missing colon: {text}")),
    }))
}
