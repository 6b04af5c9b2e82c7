//! Evaluates a jq expression of `ignoreFields` within a budget of steps.

use std::borrow::Cow;

use serde_json::Value;

use super::steps::{End, Found, Steps};
use super::values::{apply, holds, is_true, order, relates, type_of, weight};
use super::{Expression, Function, Part};
use crate::report::{Key, Trail};

/// Most values that are at hand at once, and most places.
const MOST_VALUES: usize = 10_000;
/// Bytes that every pattern counts for. Repetitions make a short one large: up to the limit of a compiled pattern.
const PATTERN_AT_LEAST: usize = 64;

/// A value on the way, and where it is; a value that is nowhere cannot be named.
#[derive(Clone, Debug)]
pub(super) struct Node<'v> {
    place: Option<Trail>,
    pub(super) value: Cow<'v, Value>,
    /// Whether there is something at the place.
    is_there: bool,
}

/// What an expression gives for a value. jq gives one answer after the other, so the answers before an error count.
pub(super) struct Answers<'v> {
    pub(super) found: Vec<Node<'v>>,
    pub(super) end: Found<()>,
}

/// The places that an expression names.
pub(super) fn places(
    expression: &Expression,
    object: &Value,
    steps: &mut Steps<'_>,
) -> Result<Vec<Vec<Key>>, String> {
    let root = Node {
        place: Some(Trail::default()),
        value: Cow::Borrowed(object),
        is_there: true,
    };
    let Answers { found, end } = walk(expression, &root, steps);
    match end {
        Ok(())
            if found
                .iter()
                .any(|node| node.place.is_none() && !node.value.is_null()) =>
        {
            Err(
                "it names a part of a text; accepted: an expression that names fields and elements"
                    .to_owned(),
            )
        }
        Ok(()) => {
            let there = found.into_iter().filter(|node| node.is_there);
            let places = there.filter_map(|node| node.place);
            Ok(places.map(|place| place.keys()).collect())
        }
        Err(End::Error(why) | End::Bound(why)) => Err(why),
    }
}

pub(super) fn walk<'v>(expression: &Expression, node: &Node<'v>, steps: &mut Steps<'_>) -> Answers<'v> {
    let mut found = Vec::new();
    let end = add(expression, node, steps, &mut found);
    Answers { found, end }
}

/// Adds the answers of an expression to those that are there.
fn add<'v>(
    expression: &Expression,
    node: &Node<'v>,
    steps: &mut Steps<'_>,
    found: &mut Vec<Node<'v>>,
) -> Found<()> {
    steps.take(1)?;
    match expression {
        Expression::Identity => found.push(node.clone()),
        Expression::Recurse => found.extend(recurse(node, steps)?),
        Expression::Literal(value) => {
            steps.take(weight(value))?;
            found.push(computed(value.clone()));
        }
        Expression::Part(base, part, optional) => {
            let base = walk(base, node, steps);
            for node in base.found {
                match step(&node, part, steps) {
                    Ok(next) => found.extend(next),
                    Err(End::Error(_)) if *optional => {}
                    Err(end) => return Err(end),
                }
                bounded(found)?;
            }
            base.end?;
        }
        Expression::Pipe(left, right) => {
            let left = walk(left, node, steps);
            for node in left.found {
                add(right, &node, steps, found)?;
            }
            left.end?;
        }
        Expression::Comma(left, right) => {
            add(left, node, steps, found)?;
            add(right, node, steps, found)?;
        }
        Expression::Try(inner) => match add(inner, node, steps, found) {
            Err(End::Error(_)) => {}
            end => end?,
        },
        Expression::First(inner) => {
            found.extend(first(walk(inner, node, steps))?);
        }
        Expression::Select(condition) => {
            let answers = walk(condition, node, steps);
            let truths = answers.found.iter().filter(|answer| is_true(&answer.value));
            found.extend(truths.map(|_| node.clone()));
            answers.end?;
        }
        condition => {
            let mut values = Vec::new();
            let end = conditions(condition, node, steps, &mut values);
            found.extend(values.into_iter().map(computed));
            end?;
        }
    }
    bounded(found)
}

/// jq asks for no more than the first answer, so it does not come to an error after it.
fn first(answers: Answers<'_>) -> Found<Option<Node<'_>>> {
    match (answers.found.into_iter().next(), answers.end) {
        (_, Err(End::Bound(why))) => Err(End::Bound(why)),
        (None, Err(end)) => Err(end),
        (first, _) => Ok(first),
    }
}

/// Adds the answers of a condition to those that are there.
fn conditions(
    condition: &Expression,
    node: &Node<'_>,
    steps: &mut Steps<'_>,
    found: &mut Vec<Value>,
) -> Found<()> {
    match condition {
        Expression::Compare(left, comparison, right) => {
            let right = walk(right, node, steps);
            for right in &right.found {
                let left = walk(left, node, steps);
                for left in &left.found {
                    let order = order(&left.value, &right.value, steps)?;
                    found.push(holds(*comparison, order).into());
                    bounded(found)?;
                }
                left.end?;
            }
            right.end?;
        }
        Expression::And(left, right) | Expression::Or(left, right) => {
            let decides = matches!(condition, Expression::Or(..));
            let left = walk(left, node, steps);
            for left in &left.found {
                if is_true(&left.value) == decides {
                    found.push(decides.into());
                    continue;
                }
                let right = walk(right, node, steps);
                found.extend(right.found.iter().map(|right| Value::from(is_true(&right.value))));
                bounded(found)?;
                right.end?;
            }
            left.end?;
        }
        Expression::Any(inner) | Expression::All(inner) => {
            found.push(of_children(condition, inner, node, steps)?.into());
        }
        Expression::Function(function) => {
            if let (Function::Length, Value::String(text)) = (function, node.value.as_ref()) {
                steps.take(text.len().div_ceil(64))?;
            }
            found.push(apply(*function, &node.value)?);
        }
        Expression::Test(pattern) => found.push(matches(pattern, &node.value, steps)?.into()),
        Expression::Of(relation, other) => {
            let other = walk(other, node, steps);
            for other in &other.found {
                found.push(relates(*relation, &node.value, &other.value, steps)?.into());
            }
            other.end?;
        }
        _ => {}
    }
    Ok(())
}

fn matches(pattern: &regex::Regex, value: &Value, steps: &mut Steps<'_>) -> Found<bool> {
    let Some(text) = value.as_str() else {
        let why = format!("test of a value of the type {}", type_of(value));
        return Err(End::Error(why));
    };
    // A large pattern takes a step of its own for each of its parts at each byte.
    steps.take((text.len() * pattern.as_str().len().max(PATTERN_AT_LEAST)).div_ceil(64))?;
    Ok(pattern.is_match(text))
}

/// The answer of `any` or `all`: whether the inner condition holds for a child of the node, or for all of them.
fn of_children(
    condition: &Expression,
    inner: &Expression,
    node: &Node<'_>,
    steps: &mut Steps<'_>,
) -> Found<bool> {
    // The first answer like this decides.
    let wanted = matches!(condition, Expression::Any(_));
    for child in step(node, &Part::Every, steps)? {
        let answers = walk(inner, &child, steps);
        let mut found = answers.found.iter();
        let is_decided = found.any(|answer| is_true(&answer.value) == wanted);
        match answers.end {
            // jq asks no further, so it does not come to the error.
            Err(End::Error(_)) if is_decided => return Ok(wanted),
            end => end?,
        }
        if is_decided {
            return Ok(wanted);
        }
    }
    Ok(!wanted)
}

fn bounded<T>(found: &[T]) -> Found<()> {
    match found.len() > MOST_VALUES {
        true => {
            let why = format!("more than {MOST_VALUES} values; accepted: an expression that does less");
            Err(End::Bound(why))
        }
        false => Ok(()),
    }
}

fn computed<'v>(value: Value) -> Node<'v> {
    Node {
        place: None,
        value: Cow::Owned(value),
        is_there: false,
    }
}

/// The node at a key. What is computed is copied, and paid for.
fn at<'v>(node: &Node<'v>, key: Key, steps: &mut Steps<'_>) -> Found<Node<'v>> {
    let name = match &key {
        Key::Field(name) => name.len(),
        Key::Index(_) => 0,
    };
    // The last name of a place is as long as the manifest allows.
    steps.take(1 + name / 64)?;
    let of = |value: &Value| match &key {
        Key::Field(name) => value.get(&**name).is_some(),
        Key::Index(index) => value.get(index).is_some(),
    };
    let is_there = node.is_there && of(&node.value);
    let value = match &node.value {
        Cow::Borrowed(value) => {
            let child: Option<&'v Value> = match &key {
                Key::Field(name) => value.get(&**name),
                Key::Index(index) => value.get(index),
            };
            child.map_or(Cow::Owned(Value::Null), Cow::Borrowed)
        }
        Cow::Owned(value) => {
            let child = match &key {
                Key::Field(name) => value.get(&**name),
                Key::Index(index) => value.get(index),
            };
            let child = child.cloned().unwrap_or_default();
            steps.take(weight(&child))?;
            Cow::Owned(child)
        }
    };
    let place = node.place.as_ref().map(|place| place.then(key));
    Ok(Node {
        place,
        value,
        is_there,
    })
}

pub(super) fn step<'v>(node: &Node<'v>, part: &Part, steps: &mut Steps<'_>) -> Found<Vec<Node<'v>>> {
    let error = |what: &str| {
        Err(End::Error(format!(
            "{what} of a value of the type {}",
            type_of(&node.value)
        )))
    };
    match (part, node.value.as_ref()) {
        (Part::Name(name), Value::Object(_) | Value::Null) => {
            Ok(vec![at(node, Key::Field(name.as_str().into()), steps)?])
        }
        (Part::Index(index), Value::Array(items)) => match position(*index, items.len()) {
            Some(index) => Ok(vec![at(node, Key::Index(index), steps)?]),
            None => Ok(vec![computed(Value::Null)]),
        },
        (Part::Index(index), Value::String(text)) => {
            steps.take(text.len().div_ceil(64))?;
            let sign = position(*index, text.chars().count()).and_then(|index| text.chars().nth(index));
            Ok(vec![computed(
                sign.map_or(Value::Null, |sign| sign.to_string().into()),
            )])
        }
        (Part::Index(_), Value::Null) => Ok(vec![computed(Value::Null)]),
        (Part::Every, Value::Object(_) | Value::Array(_)) => children(node, steps),
        (Part::Slice(from, to), Value::Array(items)) => {
            let length = items.len();
            let from = from.map_or(0, |from| position(from, length).unwrap_or(0));
            let to = to.map_or(length, |to| position(to, length).unwrap_or(0).min(length));
            (from..to)
                .map(|index| at(node, Key::Index(index), steps))
                .collect()
        }
        (Part::Slice(..), Value::Null) => Ok(Vec::new()),
        (Part::Name(name), _) => error(&format!(".{name}")),
        (Part::Index(index), _) => error(&format!(".[{index}]")),
        (Part::Every, _) => error(".[]"),
        (Part::Slice(..), _) => error("a slice"),
    }
}

fn position(index: i64, length: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => {
            let back = usize::try_from(index.unsigned_abs()).ok()?;
            length.checked_sub(back)
        }
    }
}

fn children<'v>(node: &Node<'v>, steps: &mut Steps<'_>) -> Found<Vec<Node<'v>>> {
    let keys: Vec<Key> = match node.value.as_ref() {
        Value::Object(fields) => fields
            .keys()
            .map(|name| Key::Field(name.as_str().into()))
            .collect(),
        Value::Array(items) => (0..items.len()).map(Key::Index).collect(),
        _ => Vec::new(),
    };
    keys.into_iter().map(|key| at(node, key, steps)).collect()
}

fn recurse<'v>(node: &Node<'v>, steps: &mut Steps<'_>) -> Found<Vec<Node<'v>>> {
    let (mut found, mut open) = (Vec::new(), vec![node.clone()]);
    while let Some(node) = open.pop() {
        let mut inner = children(&node, steps)?;
        inner.reverse();
        open.extend(inner);
        found.push(node);
        bounded(&found)?;
        bounded(&open)?;
    }
    Ok(found)
}
