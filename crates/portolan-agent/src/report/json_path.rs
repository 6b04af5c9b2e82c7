//! kubectl's JSONPath: `.status.conditions[?(@.type=="Ready")].status`.
//!
//! Written by hand: the crates there are follow RFC 9535, where `.a.b` without `$` is no path, braces are no part of one,
//! and a filter reads differently, so that works written for other agents would be refused. Templates (`range`, text between
//! braces) are no part of it.

mod parse;

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;

/// A path to values in an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

/// One step to a place in an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Shared: a name may be as long as an object, and is part of every place below it.
    Field(Arc<str>),
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
        let steps = parse::steps(path)?;
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
        // A place that is deep down takes more room, and more time to write down.
        let cost = 1 + place.len() / 8;
        let spend = |visits: &mut usize| {
            *visits = visits.checked_sub(cost).ok_or_else(|| {
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
                next.extend(found.map(|(name, value)| (at(Key::Field(name.as_str().into())), value)));
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
            Box::new(fields.map(|(name, value)| (Key::Field(name.as_str().into()), value)))
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

#[cfg(test)]
#[path = "json_path_tests.rs"]
mod tests;
