//! kubectl's JSONPath: `.status.conditions[?(@.type=="Ready")].status`.
//!
//! Written by hand: the crates there are follow RFC 9535, where `.a.b` without `$` is no path, braces are no part of one,
//! and a filter reads differently, so that works written for other agents would be refused. Templates (`range`, text between
//! braces) are no part of it.

mod parse;
mod trail;

use std::cmp::Ordering;

use serde_json::Value;

use crate::cost::Cost;
use trail::{Child, Place};
pub(crate) use trail::{Key, Trail};

/// A path to values in an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

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
/// Longest path, in bytes: each name of a union is looked for at each place.
const LONGEST_TEXT: usize = 4096;
/// Most values that are visited for one path. Larger, and a path with several `..` could keep an agent busy.
const MOST_VISITS: usize = 200_000;
/// Most values that a path may lead to.
const MOST_RESULTS: usize = 10_000;

/// Bytes of text that cost as much as a value that is visited. Larger, and long texts would be compared for nothing; smaller,
/// and usual names would cost more than the visit.
const TEXT_PER_VISIT: usize = 64;

/// What may still be visited. Whatever is kept in memory is paid for.
struct Visits<'c> {
    left: usize,
    cost: &'c mut Cost,
}

impl Visits<'_> {
    fn spend(&mut self, visits: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(visits).ok_or_else(|| {
            format!("the path visits more than {MOST_VISITS} values; accepted: a path that visits fewer")
        })?;
        self.cost.step(visits).map_err(|spent| spent.to_string())
    }

    /// For a text of so many bytes that is compared or copied.
    fn spend_text(&mut self, bytes: usize) -> Result<(), String> {
        self.spend(1 + bytes / TEXT_PER_VISIT)
    }
}

impl JsonPath {
    /// Reads a path, with or without `{}` and `$`.
    pub(crate) fn parse(text: &str) -> Result<JsonPath, String> {
        if text.len() > LONGEST_TEXT {
            return Err(format!(
                "it has {} bytes; accepted: {LONGEST_TEXT} or fewer",
                text.len()
            ));
        }
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
    pub(crate) fn find<'v>(&self, object: &'v Value, cost: &mut Cost) -> Result<Vec<&'v Value>, String> {
        let left = MOST_VISITS;
        let found = self.follow::<()>(object, &mut Visits { left, cost })?;
        Ok(found.into_iter().map(|((), value)| value).collect())
    }

    /// The places that the path leads to, with what is there.
    pub(crate) fn places<'v>(
        &self,
        object: &'v Value,
        cost: &mut Cost,
    ) -> Result<Vec<(Trail, &'v Value)>, String> {
        let left = MOST_VISITS;
        self.follow::<Trail>(object, &mut Visits { left, cost })
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

    fn follow<'v, P: Place>(
        &self,
        object: &'v Value,
        visits: &mut Visits<'_>,
    ) -> Result<Vec<(P, &'v Value)>, String> {
        let mut places = vec![(P::default(), object)];
        for step in &self.0 {
            let mut next = Vec::new();
            for (place, value) in places {
                step.follow(&place, value, &mut next, visits)?;
                if next.len() > MOST_RESULTS && !matches!(step, Step::Descend) {
                    return Err(format!(
                        "the path leads to more than {MOST_RESULTS} values; accepted: a path to fewer"
                    ));
                }
            }
            places = next;
        }
        Ok(places)
    }
}

impl Step {
    fn follow<'v, P: Place>(
        &self,
        place: &P,
        value: &'v Value,
        next: &mut Vec<(P, &'v Value)>,
        visits: &mut Visits<'_>,
    ) -> Result<(), String> {
        visits.spend(1)?;
        match (self, value) {
            (Step::Fields(names), Value::Object(fields)) => {
                for name in names {
                    visits.spend_text(name.len())?;
                    if let Some(value) = fields.get(name) {
                        next.push((place.child(Child::Field(name), visits)?, value));
                    }
                }
            }
            (Step::Elements(ranges), Value::Array(items)) => {
                for range in ranges {
                    visits.spend(1)?;
                    for index in range.of(items.len()) {
                        if let Some(item) = items.get(index) {
                            next.push((place.child(Child::Index(index), visits)?, item));
                        }
                    }
                }
            }
            (Step::All, _) => {
                for (key, child) in children(value) {
                    next.push((place.child(key, visits)?, child));
                }
            }
            (Step::Descend, _) => {
                let mut open = vec![(place.clone(), value)];
                while let Some((place, value)) = open.pop() {
                    let first = open.len();
                    for (key, child) in children(value) {
                        open.push((place.child(key, visits)?, child));
                    }
                    open[first..].reverse();
                    next.push((place, value));
                }
            }
            (Step::Filter(filter), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    // Also where the filter itself visits nothing: it may compare two literals.
                    visits.spend(1)?;
                    if filter.holds(item, visits)? {
                        next.push((place.child(Child::Index(index), visits)?, item));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn children(value: &Value) -> Box<dyn Iterator<Item = (Child<'_>, &Value)> + '_> {
    match value {
        Value::Array(items) => {
            let items = items.iter().enumerate();
            Box::new(items.map(|(index, item)| (Child::Index(index), item)))
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            Box::new(fields.map(|(name, value)| (Child::Field(name), value)))
        }
        _ => Box::new(std::iter::empty()),
    }
}

impl Range {
    /// Which elements of a list of this length are meant.
    fn of(self, length: usize) -> impl Iterator<Item = usize> {
        let position = |index: i64| match usize::try_from(index) {
            Ok(index) => Some(index),
            Err(_) => usize::try_from(index.unsigned_abs())
                .ok()
                .and_then(|back| length.checked_sub(back)),
        };
        let (range, every) = match self {
            Range::One(index) => {
                let index = position(index).filter(|index| *index < length);
                (index.map_or(0..0, |index| index..index + 1), 1)
            }
            Range::Slice { from, to, every } => {
                let from = from.map_or(0, |from| position(from).unwrap_or(0));
                let to = to.map_or(length, |to| position(to).unwrap_or(0).min(length));
                (from..to, every)
            }
        };
        range.step_by(every)
    }
}

impl Filter {
    fn holds(&self, item: &Value, visits: &mut Visits<'_>) -> Result<bool, String> {
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
            (Value::String(left), Value::String(right)) => {
                visits.spend_text(left.len().min(right.len()))?;
                Some(left.cmp(right))
            }
            _ => None,
        };
        let same = match order {
            Some(order) => order.is_eq(),
            None => is_same(left, right, visits)?,
        };
        let is = |expected: &[Ordering]| order.is_some_and(|order| expected.contains(&order));
        Ok(match comparison {
            Comparison::Equal => same,
            Comparison::Unequal => !same,
            Comparison::Less => is(&[Ordering::Less]),
            Comparison::AtMost => is(&[Ordering::Less, Ordering::Equal]),
            Comparison::Greater => is(&[Ordering::Greater]),
            Comparison::AtLeast => is(&[Ordering::Greater, Ordering::Equal]),
        })
    }
}

/// Whether two values are equal. Objects may be compared with themselves, as often as a path says.
fn is_same(left: &Value, right: &Value, visits: &mut Visits<'_>) -> Result<bool, String> {
    visits.spend(1)?;
    match (left, right) {
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (left, right) in left.iter().zip(right) {
                if !is_same(left, right, visits)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(left), Value::Object(right)) if left.len() == right.len() => {
            for (name, left) in left {
                visits.spend_text(name.len())?;
                match right.get(name) {
                    Some(right) if is_same(left, right, visits)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Value::String(left), Value::String(right)) => {
            visits.spend_text(left.len().min(right.len()))?;
            Ok(left == right)
        }
        (Value::Array(_) | Value::Object(_), _) => Ok(false),
        (left, right) => Ok(left == right),
    }
}

impl Operand {
    fn value<'v>(&'v self, item: &'v Value, visits: &mut Visits<'_>) -> Result<Option<&'v Value>, String> {
        match self {
            Operand::Literal(value) => Ok(Some(value)),
            Operand::Path(path) => {
                let found = path.follow::<()>(item, visits)?;
                Ok(found.first().map(|((), value)| *value))
            }
        }
    }
}

#[cfg(test)]
#[path = "json_path_tests.rs"]
mod tests;
