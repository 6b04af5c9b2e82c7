//! One value as the type of its column shows it.

use jiff::Timestamp;
use serde_json::Value;

use super::age;

/// Longest text of a cell, in bytes. Kubernetes shows texts whole. Larger, and a column could repeat most of each object; smaller,
/// and a message that a person reads in a table would be cut.
pub(super) const LONGEST: usize = 4096;

/// The cell for `value` in a column of type `kind`; null where the value is not of that type. Longer than it may be only by what
/// shows that it is to be cut.
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

/// The cell, with `…` in place of text that is too much.
pub(super) fn cut(mut cell: Value) -> Value {
    if let Value::String(text) = &mut cell
        && text.len() > LONGEST
    {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    cell
}

/// A value as text: scalars as they are, lists and objects as JSON. Of a longer text no more than is needed to know that it is.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text[..text.floor_char_boundary(LONGEST + 4)].to_owned(),
        Value::Null => "<no value>".to_owned(),
        Value::Bool(_) => value.to_string(),
        Value::Number(number) => match number.as_f64() {
            Some(fraction) if number.is_f64() => fraction_text(fraction),
            _ => number.to_string(),
        },
        // Go's encoder keeps these characters out of JSON, so that it can stand inside HTML.
        Value::Array(_) | Value::Object(_) => beginning(value)
            .replace('&', "\\u0026")
            .replace('<', "\\u003c")
            .replace('>', "\\u003e"),
    }
}

/// The beginning of a value as JSON.
fn beginning(value: &Value) -> String {
    struct Beginning(Vec<u8>);
    impl std::io::Write for Beginning {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0.len() > LONGEST {
                return Err(std::io::ErrorKind::WriteZero.into());
            }
            let taken = bytes.len().min(LONGEST + 4);
            self.0.extend_from_slice(&bytes[..taken]);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut text = Beginning(Vec::new());
    // It fails when there is enough of it.
    let _ = serde_json::to_writer(&mut text, value);
    String::from_utf8_lossy(&text.0).into_owned()
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

    #[test]
    fn long_texts_are_cut() {
        let now = Timestamp::UNIX_EPOCH;
        let whole = json!("é".repeat(LONGEST / 2));
        assert_eq!(cut(of("string", &whole, now)), whole);
        for long in [
            json!("é".repeat(LONGEST)),
            json!(format!("a{}", "é".repeat(LONGEST))),
            json!(["x".repeat(1_000_000)]),
            json!(vec!["é<"; 100_000]),
            json!({ "a": vec![0; 100_000] }),
        ] {
            let cell = cut(of("string", &long, now));
            let text = cell.as_str().unwrap();
            assert!(
                text.ends_with('…') && text.len() <= LONGEST + '…'.len_utf8(),
                "{}",
                text.len()
            );
            assert!(text.len() > LONGEST - 4, "{}", text.len());
        }
    }
}
