//! Deterministic YAML: keys in a fixed order, strings plain where that is safe and as JSON strings elsewhere.

use serde_json::Value;

/// Keys that come first, in this order; all others follow by name.
const LEADING: &[&str] = &["apiVersion", "kind", "metadata", "name", "type", "description"];

/// Words that YAML readers take for something else than text.
const RESERVED: &[&str] = &[
    "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf",
];

/// The value as one YAML document.
pub(super) fn document(value: &Value) -> String {
    let mut text = String::from("# Generated from the types of portolan-api. Do not edit.\n");
    block(value, 0, &mut text);
    text
}

fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_by_key(|key| {
                (
                    LEADING
                        .iter()
                        .position(|leading| leading == key)
                        .unwrap_or(LEADING.len()),
                    *key,
                )
            });
            for key in keys {
                pad(indent, out);
                out.push_str(&scalar(key));
                out.push(':');
                nested(&map[key], indent, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                pad(indent, out);
                out.push('-');
                list_item(item, indent, out);
            }
        }
        leaf => {
            pad(indent, out);
            out.push_str(&inline(leaf));
            out.push('\n');
        }
    }
}

/// What follows `key:`.
fn nested(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            block(value, indent + 2, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            block(value, indent, out);
        }
        leaf => {
            out.push(' ');
            out.push_str(&inline(leaf));
            out.push('\n');
        }
    }
}

/// What follows `-`: the first line of a nested block goes on the same line.
fn list_item(value: &Value, indent: usize, out: &mut String) {
    let mut inner = String::new();
    block(value, indent + 2, &mut inner);
    out.push(' ');
    out.push_str(inner.trim_start());
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

fn scalar(text: &str) -> String {
    let plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || " ,.;()/_-$+".contains(c))
        && !text.ends_with(' ')
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str());
    if plain {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}
