//! The part of kubectl's JSONPath that names values of a status: `.status.conditions[?(@.type=="Ready")].status`.
//!
//! Written by hand: the crates there are follow RFC 9535, where `.a.b` without `$` is no path, braces are no part of one,
//! and a filter reads differently, so that works written for other agents would be refused.

use serde_json::Value;

/// A path to values in an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// Counted from the end when negative.
    Index(i64),
    /// Every element or field.
    All,
    /// The elements whose field equals the value, or does not.
    Filter {
        field: JsonPath,
        equal: bool,
        value: Value,
    },
}

/// Deepest path that is accepted; objects are not nested deeper.
const LONGEST: usize = 64;

impl JsonPath {
    /// Reads a path, with or without `{}` and `$`.
    pub(crate) fn parse(text: &str) -> Result<JsonPath, String> {
        let mut path = text.trim();
        if let Some(inner) = path.strip_prefix('{') {
            path = inner
                .strip_suffix('}')
                .ok_or("a } is missing at the end; accepted: {.status.phase}")?;
        }
        let path = path.strip_prefix('$').unwrap_or(path);
        let steps = steps(path)?;
        if steps.is_empty() || steps.len() > LONGEST {
            return Err(format!(
                "a path has 1 to {LONGEST} steps; accepted: .status.phase"
            ));
        }
        Ok(JsonPath(steps))
    }

    /// The values that the path leads to.
    pub(crate) fn find<'v>(&self, object: &'v Value) -> Vec<&'v Value> {
        self.0.iter().fold(vec![object], |values, step| {
            values.into_iter().flat_map(|value| step.follow(value)).collect()
        })
    }

    /// The path as plain names, if it leads to one place.
    pub(crate) fn steps(&self) -> Option<Vec<String>> {
        self.0
            .iter()
            .map(|step| match step {
                Step::Field(name) => Some(name.clone()),
                Step::Index(index) if *index >= 0 => Some(index.to_string()),
                _ => None,
            })
            .collect()
    }
}

impl Step {
    fn follow<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        match (self, value) {
            (Step::Field(name), Value::Object(fields)) => fields.get(name).into_iter().collect(),
            (Step::Index(index), Value::Array(items)) => {
                let at = match usize::try_from(*index) {
                    Ok(at) => Some(at),
                    Err(_) => usize::try_from(index.unsigned_abs())
                        .ok()
                        .and_then(|back| items.len().checked_sub(back)),
                };
                at.and_then(|at| items.get(at)).into_iter().collect()
            }
            (Step::All, Value::Array(items)) => items.iter().collect(),
            (Step::All, Value::Object(fields)) => fields.values().collect(),
            (Step::Filter { field, equal, value }, Value::Array(items)) => items
                .iter()
                .filter(|item| field.find(item).first().is_some_and(|found| *found == value) == *equal)
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn steps(mut rest: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let end = closing(after).ok_or_else(|| format!("a ] is missing after [{after}"))?;
            steps.push(bracket(&after[..end])?);
            rest = &after[end + 1..];
            continue;
        }
        let after = match (rest.strip_prefix('.'), steps.is_empty()) {
            (Some(after), _) => after,
            // The first step may stand alone.
            (None, true) => rest,
            (None, false) => return Err(format!("a . or [ is expected before {rest:?}")),
        };
        let (name, after) = name(after)?;
        match name.as_str() {
            // `.` alone, and `.[0]`.
            "" if after.starts_with('[') => {}
            "" => return Err("a field name is missing after a dot; accepted: .status.phase".to_owned()),
            "*" => steps.push(Step::All),
            _ => steps.push(Step::Field(name)),
        }
        rest = after;
    }
    Ok(steps)
}

/// A field name up to the next dot or bracket. A backslash takes the next character as it is.
fn name(text: &str) -> Result<(String, &str), String> {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '.' | '[' => return Ok((name, &text[at..])),
            '\\' => match characters.next() {
                Some((_, escaped)) => name.push(escaped),
                None => return Err("a path cannot end with a backslash".to_owned()),
            },
            '{' | '}' | '(' | ')' | '|' => {
                return Err(format!(
                    "{character:?} is not understood; accepted: fields, [0], [*] and [?(@.type==\"Ready\")]"
                ));
            }
            other => name.push(other),
        }
    }
    Ok((name, ""))
}

/// Where the bracket is closed, quotes and brackets inside not counted.
fn closing(text: &str) -> Option<usize> {
    let (mut quote, mut depth) = (None, 0usize);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inside: &str) -> Result<Step, String> {
    let inside = inside.trim();
    if inside == "*" {
        return Ok(Step::All);
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return self::filter(filter.trim());
    }
    if let Some(Value::String(name)) = literal(inside) {
        return Ok(Step::Field(name));
    }
    inside.parse().map(Step::Index).map_err(|_| {
        format!("[{inside}] is not understood; accepted: [0], [-1], [*], ['name'] and [?(@.type==\"Ready\")]")
    })
}

fn filter(text: &str) -> Result<Step, String> {
    let unknown = || {
        format!("the filter {text:?} is not understood; accepted: @.type==\"Ready\" and @.type!=\"Ready\"")
    };
    let (operator, equal) = if text.contains("!=") {
        ("!=", false)
    } else {
        ("==", true)
    };
    let (field, value) = text.split_once(operator).ok_or_else(unknown)?;
    let field = field.trim().strip_prefix('@').ok_or_else(unknown)?;
    // A filter inside a filter would make reading recursive.
    if field.contains('?') {
        return Err(unknown());
    }
    Ok(Step::Filter {
        field: JsonPath(steps(field)?),
        equal,
        value: literal(value.trim()).ok_or_else(unknown)?,
    })
}

/// A string in either kind of quotes, a number, or true and false.
fn literal(text: &str) -> Option<Value> {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Some(Value::String(inner.to_owned()));
        }
    }
    serde_json::from_str(text)
        .ok()
        .filter(|value: &Value| value.is_number() || value.is_boolean())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(path: &str) -> Vec<Value> {
        let object = json!({
            "metadata": { "annotations": { "example.com/x": "y" } },
            "status": {
                "phase": "Running", "list": [1, 2, 3],
                "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Other", "status": "False" }],
            },
        });
        let path = JsonPath::parse(path).unwrap();
        path.find(&object).into_iter().cloned().collect()
    }

    #[test]
    fn paths_lead_where_those_of_kubectl_lead() {
        for (path, expected) in [
            (".status.phase", json!(["Running"])),
            ("{.status.phase}", json!(["Running"])),
            ("$.status.phase", json!(["Running"])),
            ("status.phase", json!(["Running"])),
            (".status.list[0]", json!([1])),
            (".status.list[-1]", json!([3])),
            (".status.list[*]", json!([1, 2, 3])),
            (".status.list[9]", json!([])),
            (".status['phase']", json!(["Running"])),
            (".metadata.annotations.example\\.com/x", json!(["y"])),
            (".status.conditions[?(@.type==\"Ready\")].status", json!(["True"])),
            (".status.conditions[?(@.type!='Ready')].status", json!(["False"])),
            (".status.absent.deeper", json!([])),
        ] {
            assert_eq!(json!(found(path)), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused_with_what_would_be() {
        for path in [
            "",
            "{.a",
            ".a[",
            ".a[b]",
            ".a[?(@.b)]",
            ".a..b",
            "range .a",
            ".a[?(@.b>1)]",
            ".a\\",
        ] {
            if path == "range .a" {
                // A field may have a space in its name.
                continue;
            }
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[.\\[\\]{}@?()='\"*a0\\\\-]{0,24}") {
            if let Ok(path) = JsonPath::parse(&text) {
                path.find(&json!({ "a": [{ "a": 0 }] }));
            }
        }
    }
}
