//! Values that are written as another type than the field has: what to write instead.

use portolan_api::FieldError;

/// An error of a definition, with the value as it has to be written where only quotes are wrong. How many fields an object
/// has says nothing about a field that takes no object.
pub(super) fn corrected(mut error: FieldError) -> FieldError {
    if error.value.starts_with("an object with ") {
        error.value = "an object".to_owned();
    }
    let value = error.value.as_str();
    let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let right = match (error.problem.as_str(), unquoted) {
        ("not a string", None) if is_number(value) => format!("{value:?} in quotes"),
        ("not an integer", Some(number)) if is_integer(number) => format!("{number} without quotes"),
        _ => return error,
    };
    error.accepted = match error.accepted.as_str() {
        "" => right,
        accepted => format!("{right}; {accepted}"),
    };
    error
}

fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() || first == '-') && text.parse::<f64>().is_ok()
}

fn is_integer(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn accepted(value: &Value, problem: &str) -> String {
        corrected(FieldError::new("a", value, problem, "x")).accepted
    }

    #[test]
    fn a_number_for_a_text_and_a_text_for_a_number_are_answered_with_the_right_quotes() {
        assert_eq!(accepted(&json!(1), "not a string"), "\"1\" in quotes; x");
        assert_eq!(accepted(&json!("2"), "not an integer"), "2 without quotes; x");
        assert_eq!(accepted(&json!("three"), "not an integer"), "x");
        assert_eq!(accepted(&json!({"a": 1}), "not a string"), "x");
    }

    #[test]
    fn the_fields_of_an_object_that_is_refused_are_not_counted() {
        let error = FieldError::new("a", &json!({"b": 1, "c": 2}), "not a string", "x");
        assert_eq!(corrected(error).value, "an object");
    }
}
