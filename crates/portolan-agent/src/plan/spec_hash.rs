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
mod tests {
    use serde_json::json;

    use super::*;

    fn printed(value: &Value) -> String {
        let mut text = String::new();
        print(value, &mut text);
        text
    }

    #[test]
    fn the_hash_of_a_manifest_is_that_of_other_agents() {
        let manifest = json!({
            "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "namespace": "default", "name": "test" },
            "data": { "foo1": "bar1" },
        });
        assert_eq!(spec_hash(&manifest), "4c07ba481d04e9c38e5ed3bf24139537");
    }

    #[test]
    fn values_are_printed_as_go_prints_them() {
        for (value, text) in [
            (json!(null), "<nil>"),
            (json!([1, "a b", true, []]), "[1 a b true []]"),
            (json!({ "b": null, "a": {}, "B": 1 }), "map[B:1 a:map[] b:<nil>]"),
            (json!(-7), "-7"),
            (json!(i64::MAX), "9223372036854775807"),
            (json!(18_446_744_073_709_551_615_u64), "1.8446744073709552e+19"),
            (json!(1.0), "1"),
            (json!(0.5), "0.5"),
            (json!(0.0001), "0.0001"),
            (json!(0.00001), "1e-05"),
            (json!(123_456.0), "123456"),
            (json!(1e6), "1e+06"),
            (json!(16_777_216.5), "1.67772165e+07"),
            (json!(-2.5e-7), "-2.5e-07"),
            (json!(1.5e300), "1.5e+300"),
        ] {
            assert_eq!(printed(&value), text, "{value}");
        }
    }
}
