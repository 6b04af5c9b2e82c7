//! The hash of a manifest, as other agents note it on objects some of whose fields are ignored. An object that is handed from one
//! agent to another then counts as unchanged.
//!
//! It is the MD5 of how Go prints the manifest (`%v` of an unstructured object): keys in order, text without quotes.

use std::fmt::Write as _;

use md5::{Digest, Md5};
use serde_json::{Number, Value};

/// The hash of a manifest.
pub(super) fn spec_hash(manifest: &Value) -> String {
    let mut text = String::from("&{");
    print(manifest, &mut text);
    text.push('}');
    let digest = Md5::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn print(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Value::String(string) => text.push_str(string),
        Value::Number(number) => print_number(number, text),
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { " " });
                print(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            text.push_str("map[");
            for (at, (name, value)) in fields.into_iter().enumerate() {
                text.push_str(if at == 0 { "" } else { " " });
                text.push_str(name);
                text.push(':');
                print(value, text);
            }
            text.push(']');
        }
    }
}

/// Whole numbers of 64 bits as they are, all others as the floats that Go makes of them: with an exponent below -4 and
/// from 6 on.
fn print_number(number: &Number, text: &mut String) {
    if let Some(whole) = number.as_i64() {
        // Writing to a string does not fail.
        let _ = write!(text, "{whole}");
        return;
    }
    let float = number.as_f64().unwrap_or_default();
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let _ = match (-4..6).contains(&exponent) {
        true => write!(text, "{float}"),
        false => {
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(text, "{digits}e{sign}{:02}", exponent.abs())
        }
    };
}

#[cfg(test)]
#[path = "spec_hash_tests.rs"]
mod tests;
