//! The errors of serde in the words of the API: serde names types of Rust.

/// What a decoder says, for people: `invalid type: string "many", expected i32` becomes `the value is the text "many";
/// accepted: a whole number`. Other texts stay as they are.
pub fn in_words(problem: &str) -> String {
    let refused = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|prefix| problem.strip_prefix(prefix))
        .and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, expected)) = refused {
        return format!("the value is {}; accepted: {}", value(found), accepted(expected));
    }
    if let Some(name) = problem.strip_prefix("missing field ") {
        return format!("the field {} is missing", name.trim_matches('`'));
    }
    let variant = problem
        .strip_prefix("unknown variant ")
        .and_then(|rest| rest.split_once(", expected "));
    match variant {
        Some((found, expected)) => {
            let expected = expected.strip_prefix("one of ").unwrap_or(expected);
            let found = found.trim_matches('`');
            format!(
                "there is no such value as {found}; accepted: {}",
                expected.replace('`', "")
            )
        }
        None => problem.to_owned(),
    }
}

/// What serde calls a value.
fn value(found: &str) -> String {
    let plain = |rest: &str| rest.trim_matches('`').to_owned();
    for (prefix, word) in [
        ("string ", "the text "),
        ("character ", "the text "),
        ("integer ", "the number "),
        ("floating point ", "the number "),
        ("boolean ", ""),
    ] {
        if let Some(rest) = found.strip_prefix(prefix) {
            return format!("{word}{}", plain(rest));
        }
    }
    match found {
        "null" | "unit value" | "Option value" => "null".to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        other => other.to_owned(),
    }
}

/// What serde expects, as far as it names a type of Rust.
fn accepted(expected: &str) -> String {
    let expected = expected.trim_matches('`');
    match expected {
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "a borrowed string" | "string or map" => "a text".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        other if other.starts_with("struct ") || other.starts_with("enum ") => "an object".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_rust_are_not_shown() {
        for (problem, words) in [
            (
                r#"invalid type: string "many", expected i32"#,
                r#"the value is the text "many"; accepted: a whole number"#,
            ),
            (
                "invalid type: floating point `1.5`, expected i64",
                "the value is the number 1.5; accepted: a whole number",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "the value is the number -1; accepted: a whole number from 0",
            ),
            (
                "invalid type: map, expected a sequence",
                "the value is an object; accepted: a list",
            ),
            (
                "invalid type: sequence, expected struct PlacementSpec",
                "the value is a list; accepted: an object",
            ),
            (
                "invalid type: null, expected a boolean",
                "the value is null; accepted: true or false",
            ),
            ("missing field `spec`", "the field spec is missing"),
            (
                "unknown variant `Exakt`, expected one of `Additive`, `Exact`",
                "there is no such value as Exakt; accepted: Additive, Exact",
            ),
            ("recursion limit exceeded", "recursion limit exceeded"),
        ] {
            assert_eq!(in_words(problem), words);
        }
    }
}
