//! kubectl's JSONPath: `.status.conditions[?(@.type=="Ready")].status`.
//!
//! Written by hand: the crates there are follow RFC 9535, where `.a.b` without `$` is no path, braces are no part of one,
//! and a filter reads differently, so that works written for other agents would be refused. Templates (`range`, text between
//! braces) are no part of it.

use std::cmp::Ordering;

use serde_json::Value;

/// A path to values in an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

/// One step to a place in an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Field(String),
    Index(usize),
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// Fields of these names.
    Fields(Vec<String>),
    /// The elements in these ranges.
    Elements(Vec<Range>),
    /// Every element or field.
    All,
    /// The value itself and everything in it.
    Descend,
    /// The elements for which this holds.
    Filter(Filter),
}

/// Counted from the end when negative.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Range {
    One(i64),
    Slice {
        from: Option<i64>,
        to: Option<i64>,
        every: usize,
    },
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Operand,
    /// Without it, that the left one is there is enough.
    right: Option<(Comparison, Operand)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    /// A path from the element.
    Path(JsonPath),
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// Most steps of a path; objects are not nested deeper.
const LONGEST: usize = 64;
/// Most values that are visited for one path. Larger, and a path with several `..` could keep an agent busy.
const MOST_VISITS: usize = 200_000;
/// Most values that a path may lead to.
const MOST_RESULTS: usize = 10_000;

type Places<'v> = Vec<(Vec<Key>, &'v Value)>;

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
    pub(crate) fn find<'v>(&self, object: &'v Value) -> Result<Vec<&'v Value>, String> {
        let places = self.places(object)?;
        Ok(places.into_iter().map(|(_, value)| value).collect())
    }

    /// The places that the path leads to, with what is there.
    pub(crate) fn places<'v>(&self, object: &'v Value) -> Result<Places<'v>, String> {
        self.follow(object, &mut MOST_VISITS.clone())
    }

    /// The path up to its last step, and the name that this is.
    pub(crate) fn split_last_name(&self) -> Option<(JsonPath, &str)> {
        match self.0.split_last()? {
            (Step::Fields(names), rest) if rest.last() != Some(&Step::Descend) => match names.as_slice() {
                [name] => Some((JsonPath(rest.to_vec()), name)),
                _ => None,
            },
            _ => None,
        }
    }

    fn follow<'v>(&self, object: &'v Value, visits: &mut usize) -> Result<Places<'v>, String> {
        let mut places: Places<'v> = vec![(Vec::new(), object)];
        for step in &self.0 {
            let mut next = Vec::new();
            for (place, value) in places {
                step.follow(&place, value, &mut next, visits)?;
            }
            if next.len() > MOST_RESULTS && !matches!(step, Step::Descend) {
                return Err(format!(
                    "the path leads to more than {MOST_RESULTS} values; accepted: a path to fewer"
                ));
            }
            places = next;
        }
        Ok(places)
    }
}

impl Step {
    fn follow<'v>(
        &self,
        place: &[Key],
        value: &'v Value,
        next: &mut Places<'v>,
        visits: &mut usize,
    ) -> Result<(), String> {
        let spend = |visits: &mut usize| {
            *visits = visits.checked_sub(1).ok_or_else(|| {
                format!("the path visits more than {MOST_VISITS} values; accepted: a path that visits fewer")
            })?;
            Ok::<(), String>(())
        };
        let at = |key: Key| {
            let mut place = place.to_vec();
            place.push(key);
            place
        };
        spend(visits)?;
        match (self, value) {
            (Step::Fields(names), Value::Object(fields)) => {
                let found = names.iter().filter_map(|name| Some((name, fields.get(name)?)));
                next.extend(found.map(|(name, value)| (at(Key::Field(name.clone())), value)));
            }
            (Step::Elements(ranges), Value::Array(items)) => {
                for index in ranges.iter().flat_map(|range| range.of(items.len())) {
                    spend(visits)?;
                    next.extend(items.get(index).map(|item| (at(Key::Index(index)), item)));
                }
            }
            (Step::All, _) => {
                for (key, child) in children(value) {
                    spend(visits)?;
                    next.push((at(key), child));
                }
            }
            (Step::Descend, _) => {
                let mut open = vec![(place.to_vec(), value)];
                while let Some((place, value)) = open.pop() {
                    spend(visits)?;
                    let mut inner: Places<'v> = children(value)
                        .map(|(key, child)| {
                            let mut place = place.clone();
                            place.push(key);
                            (place, child)
                        })
                        .collect();
                    inner.reverse();
                    next.push((place, value));
                    open.extend(inner);
                }
            }
            (Step::Filter(filter), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    if filter.holds(item, visits)? {
                        next.push((at(Key::Index(index)), item));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn children(value: &Value) -> Box<dyn Iterator<Item = (Key, &Value)> + '_> {
    match value {
        Value::Array(items) => {
            let items = items.iter().enumerate();
            Box::new(items.map(|(index, item)| (Key::Index(index), item)))
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            Box::new(fields.map(|(name, value)| (Key::Field(name.clone()), value)))
        }
        _ => Box::new(std::iter::empty()),
    }
}

impl Range {
    /// Which elements of a list of this length are meant.
    fn of(self, length: usize) -> Vec<usize> {
        let position = |index: i64| match usize::try_from(index) {
            Ok(index) => Some(index),
            Err(_) => usize::try_from(index.unsigned_abs())
                .ok()
                .and_then(|back| length.checked_sub(back)),
        };
        match self {
            Range::One(index) => position(index).into_iter().collect(),
            Range::Slice { from, to, every } => {
                let from = from.map_or(0, |from| position(from).unwrap_or(0));
                let to = to.map_or(length, |to| position(to).unwrap_or(0).min(length));
                (from..to).step_by(every).collect()
            }
        }
    }
}

impl Filter {
    fn holds(&self, item: &Value, visits: &mut usize) -> Result<bool, String> {
        let Some(left) = self.left.value(item, visits)? else {
            return Ok(false);
        };
        let Some((comparison, right)) = &self.right else {
            return Ok(true);
        };
        // What is not there is neither equal nor unequal to anything.
        let Some(right) = right.value(item, visits)? else {
            return Ok(false);
        };
        let order = match (left, right) {
            (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left
                    .as_f64()
                    .zip(right.as_f64())
                    .and_then(|(left, right)| left.partial_cmp(&right)),
            },
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            _ => None,
        };
        let is = |expected: &[Ordering]| order.is_some_and(|order| expected.contains(&order));
        Ok(match comparison {
            Comparison::Equal => order.map_or(left == right, Ordering::is_eq),
            Comparison::Unequal => order.map_or(left != right, Ordering::is_ne),
            Comparison::Less => is(&[Ordering::Less]),
            Comparison::AtMost => is(&[Ordering::Less, Ordering::Equal]),
            Comparison::Greater => is(&[Ordering::Greater]),
            Comparison::AtLeast => is(&[Ordering::Greater, Ordering::Equal]),
        })
    }
}

impl Operand {
    fn value<'v>(&'v self, item: &'v Value, visits: &mut usize) -> Result<Option<&'v Value>, String> {
        match self {
            Operand::Literal(value) => Ok(Some(value)),
            Operand::Path(path) => {
                let found = path.follow(item, visits)?;
                Ok(found.first().map(|(_, value)| *value))
            }
        }
    }
}

fn steps(mut rest: &str) -> Result<Vec<Step>, String> {
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
                "sizes": [{ "name": "a", "size": 1 }, { "name": "b", "size": 2 }, { "name": "c!=d" }],
                "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Other", "status": "False" }],
            },
        });
        let path = JsonPath::parse(path).unwrap();
        path.find(&object).unwrap().into_iter().cloned().collect()
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
            (".status['phase','absent']", json!(["Running"])),
            (".status.list[0,2]", json!([1, 3])),
            (".status.list[1:]", json!([2, 3])),
            (".status.list[:-1]", json!([1, 2])),
            (".status.list[0:3:2]", json!([1, 3])),
            (".status.conditions[0,1].type", json!(["Ready", "Other"])),
            ("..type", json!(["Ready", "Other"])),
            (".status..[0].type", json!(["Ready"])),
            (".status.sizes[?(@.size>1)].name", json!(["b"])),
            (".status.sizes[?(@.size<=1)].name", json!(["a"])),
            (".status.sizes[?(1<=@.size)].name", json!(["a", "b"])),
            (".status.sizes[?(@.size)].name", json!(["a", "b"])),
            (".status.sizes[?(@.size!=1)].name", json!(["b"])),
            (".status.sizes[?(@.name==\"c!=d\")].name", json!(["c!=d"])),
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
            ".a...b",
            ".a..",
            ".a[1:2:3:4]",
            ".a[0:3:0]",
            ".a['b',0]",
            ".a[?('b')]",
            ".a[?(@.b==1&&@.c==2)]",
            ".a[?(@.b[?(@.c)])]",
            ".a\\",
        ] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_path_that_visits_too_much_is_refused_and_not_followed_to_its_end() {
        let deep = (0..60).fold(json!(1), |inner, _| json!([inner]));
        let path = JsonPath::parse(&"..*".repeat(8)).unwrap();
        assert!(path.find(&deep).unwrap_err().contains("accepted"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[.\\[\\]{}@?()=<>!:,'\"*a0\\\\-]{0,24}") {
            if let Ok(path) = JsonPath::parse(&text) {
                let _ = path.find(&json!({ "a": [{ "a": 0 }] }));
            }
        }
    }
}
