//! Parses a JSONPath of a feedback rule.

use serde_json::Value;

use super::{Comparison, Filter, JsonPath, Operand, Range, Step};

/// Reads the steps of a path.
pub(super) fn steps(mut rest: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("..") {
            if after.is_empty() || after.starts_with('.') {
                return Err("a field name is missing after two dots; accepted: ..name".to_owned());
            }
            steps.push(Step::Descend);
            if after.starts_with('[') {
                rest = after;
                continue;
            }
            let (name, after) = name(after)?;
            steps.push(named(name));
            rest = after;
            continue;
        }
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
            _ => steps.push(named(name)),
        }
        rest = after;
    }
    Ok(steps)
}

fn named(name: String) -> Step {
    match name.as_str() {
        "*" => Step::All,
        _ => Step::Fields(vec![name]),
    }
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
                return Err(format!("{character:?} is not understood; accepted: {ACCEPTED}"));
            }
            other => name.push(other),
        }
    }
    Ok((name, ""))
}

const ACCEPTED: &str = ".name, ..name, ['a','b'], [0], [-1], [0,2], [1:3], [*], [?(@.type==\"Ready\")], [?(@.count>1)] and [?(@.name)]";

/// Where the bracket is closed, quotes and brackets inside not counted.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    outside_quotes(text).find_map(|(at, character)| match character {
        ']' if depth == 0 => Some(at),
        ']' => {
            depth -= 1;
            None
        }
        '[' => {
            depth += 1;
            None
        }
        _ => None,
    })
}

/// The characters that are not in quotes, and where.
fn outside_quotes(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut quote = None;
    text.char_indices().filter(move |(_, character)| match quote {
        Some(open) => {
            if open == *character {
                quote = None;
            }
            false
        }
        None if matches!(character, '"' | '\'') => {
            quote = Some(*character);
            false
        }
        None => true,
    })
}

fn bracket(inside: &str) -> Result<Step, String> {
    let inside = inside.trim();
    if inside == "*" {
        return Ok(Step::All);
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return self::filter(filter.trim()).map(Step::Filter);
    }
    let commas = outside_quotes(inside).filter(|(_, character)| *character == ',');
    let mut ends: Vec<usize> = commas.map(|(at, _)| at).collect();
    ends.push(inside.len());
    let mut start = 0;
    let parts = ends.into_iter().map(|end| {
        let part = inside[start..end].trim();
        start = end + 1;
        part
    });
    let parts: Vec<&str> = parts.collect();
    let unknown = || format!("[{inside}] is not understood; accepted: {ACCEPTED}");
    let names: Option<Vec<String>> = parts
        .iter()
        .map(|part| match literal(part) {
            Some(Value::String(name)) => Some(name),
            _ => None,
        })
        .collect();
    if let Some(names) = names {
        return Ok(Step::Fields(names));
    }
    let ranges: Option<Vec<Range>> = parts.iter().map(|part| range(part)).collect();
    ranges.map(Step::Elements).ok_or_else(unknown)
}

fn range(text: &str) -> Option<Range> {
    if !text.contains(':') {
        return text.parse().ok().map(Range::One);
    }
    let mut parts = text.split(':').map(str::trim);
    let mut bound = || match parts.next() {
        None | Some("") => Some(None),
        Some(part) => part.parse::<i64>().ok().map(Some),
    };
    let (from, to, every) = (bound()?, bound()?, bound()?);
    let every = usize::try_from(every.unwrap_or(1))
        .ok()
        .filter(|every| *every > 0)?;
    parts.next().is_none().then_some(Range::Slice { from, to, every })
}

fn filter(text: &str) -> Result<Filter, String> {
    let unknown = || format!("the filter {text:?} is not understood; accepted: {ACCEPTED}");
    let signs = [
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];
    let found = outside_quotes(text).find_map(|(at, _)| {
        let mut signs = signs.iter();
        let (sign, comparison) = signs.find(|(sign, _)| text[at..].starts_with(sign))?;
        Some((at, sign.len(), *comparison))
    });
    let operand = |text: &str| {
        let text = text.trim();
        match text.strip_prefix('@') {
            // A filter inside a filter would make reading recursive.
            Some(path) if !path.contains('?') => Ok(Operand::Path(JsonPath(steps(path)?))),
            Some(_) => Err(unknown()),
            None => literal(text).map(Operand::Literal).ok_or_else(unknown),
        }
    };
    let Some((at, length, comparison)) = found else {
        return match operand(text)? {
            left @ Operand::Path(_) => Ok(Filter { left, right: None }),
            Operand::Literal(_) => Err(unknown()),
        };
    };
    let right = &text[at + length..];
    if outside_quotes(right).any(|(_, character)| matches!(character, '=' | '<' | '>' | '&' | '|')) {
        return Err(unknown());
    }
    Ok(Filter {
        left: operand(&text[..at])?,
        right: Some((comparison, operand(right)?)),
    })
}

/// A string in either kind of quotes, a number, or true and false.
fn literal(text: &str) -> Option<Value> {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner.filter(|inner| !inner.contains(quote)) {
            return Some(Value::String(inner.to_owned()));
        }
    }
    serde_json::from_str(text)
        .ok()
        .filter(|value: &Value| value.is_number() || value.is_boolean())
}
