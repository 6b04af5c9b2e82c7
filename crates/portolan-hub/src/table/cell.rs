//! One value as the type of its column shows it.

use jiff::Timestamp;
use serde_json::Value;

use super::age;

/// The cell for `value` in a column of type `kind`; null where the value is not of that type.
pub(super) fn of(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        ("string", value) => Value::String(text(value)),
        ("integer", Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Value::from(integer),
            (None, Some(fraction)) => Value::from(fraction as i64),
            (None, None) => Value::Null,
        },
        ("number", Value::Number(_)) => value.clone(),
        ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(_)) => Value::String(age::age(Some(value), now)),
        _ => Value::Null,
    }
}

/// A value as text: scalars as they are, lists and objects as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<no value>".to_owned(),
        Value::Bool(_) => value.to_string(),
        Value::Number(number) => match number.as_f64() {
            Some(fraction) if number.is_f64() => fraction_text(fraction),
            _ => number.to_string(),
        },
        // Go's encoder keeps these characters out of JSON, so that it can stand inside HTML.
        Value::Array(_) | Value::Object(_) => value
            .to_string()
            .replace('&', "\\u0026")
            .replace('<', "\\u003c")
            .replace('>', "\\u003e"),
    }
}

/// As `%v` prints a float64 in Go: with an exponent only below 10⁻⁴ and from 10²¹.
fn fraction_text(fraction: f64) -> String {
    let size = fraction.abs();
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return fraction.to_string();
    }
    let text = format!("{fraction:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        Some(digits) => format!("{mantissa}e-{digits:0>2}"),
        None => format!("{mantissa}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cell_shows_a_value_by_the_type_of_its_column() {
        let now: Timestamp = "2026-11-15T00:00:00Z".parse().unwrap();
        for (kind, value, expected) in [
            ("string", json!("web"), json!("web")),
            ("string", json!(3), json!("3")),
            ("string", json!(1.5), json!("1.5")),
            ("string", json!(1e21), json!("1e+21")),
            ("string", json!(2.5e-7), json!("2.5e-07")),
            ("string", json!(true), json!("true")),
            ("string", json!(null), json!("<no value>")),
            ("string", json!(["a", 1]), json!(r#"["a",1]"#)),
            ("string", json!({"a": "<b>"}), json!(r#"{"a":"\u003cb\u003e"}"#)),
            ("integer", json!(3), json!(3)),
            ("integer", json!(3.9), json!(3)),
            ("integer", json!("3"), json!(null)),
            ("integer", json!(null), json!(null)),
            ("number", json!(3.5), json!(3.5)),
            ("number", json!(3), json!(3)),
            ("number", json!("3"), json!(null)),
            ("boolean", json!(false), json!(false)),
            ("boolean", json!("false"), json!(null)),
            ("date", json!("2026-11-14T23:54:48Z"), json!("5m12s")),
            ("date", json!("tomorrow"), json!("<invalid>")),
            ("date", json!(5), json!(null)),
            ("array", json!([]), json!(null)),
        ] {
            assert_eq!(of(kind, &value, now), expected, "{kind} {value}");
        }
    }
}
