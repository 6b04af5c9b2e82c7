//! `yes` and `on` where a field is a boolean.
//!
//! To kubectl these words are booleans wherever they stand without quotes, even where a name is meant: a namespace may be
//! called `n`. Here they are booleans where nothing else can be meant. With quotes they are text, as for kubectl, and an
//! API server refuses them.

use serde_json::Value;

/// Fields of our kinds that hold a boolean.
const FIELDS: [&str; 4] = ["blockOwnerDeletion", "controller", "force", "hubAcceptsClient"];
const WORDS: [&str; 8] = ["yes", "on", "y", "no", "off", "n", "true", "false"];

/// Whether a field that holds a boolean has such a word.
pub(super) fn is_in_doubt(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, field)| match field {
            Value::String(text) => is_field(name) && is_word(text),
            field => is_in_doubt(field),
        }),
        Value::Array(items) => items.iter().any(is_in_doubt),
        _ => false,
    }
}

/// Takes such fields from the document as it reads when every word without quotes is a boolean.
pub(super) fn settle(value: &mut Value, as_booleans: &Value) {
    match (value, as_booleans) {
        (Value::Object(fields), Value::Object(others)) => {
            for (name, field) in fields {
                match others.get(name) {
                    Some(Value::Bool(known)) if is_field(name) => *field = (*known).into(),
                    Some(other) => settle(field, other),
                    None => {}
                }
            }
        }
        (Value::Array(items), Value::Array(others)) => {
            let pairs = items.iter_mut().zip(others);
            pairs.for_each(|(item, other)| settle(item, other));
        }
        _ => {}
    }
}

fn is_field(name: &str) -> bool {
    FIELDS.contains(&name)
}

fn is_word(text: &str) -> bool {
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}
