use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{Comparison, Expression, Function, Part, Relation};
use crate::cost::Cost;
use crate::report::{Key, Trail};

/// Most steps for one object. A step is a value that is visited, or 64 bytes that are compared.
const MOST_STEPS: usize = 1_000_000;
/// Most values that are at hand at once, and most places.
const MOST_VALUES: usize = 10_000;

/// How much may still be done for one object, whatever the number of its expressions.
#[derive(Debug)]
pub(in crate::plan) struct Steps<'c> {
    left: usize,
    cost: &'c mut Cost,
}

impl<'c> Steps<'c> {
    pub(in crate::plan) fn new(cost: &'c mut Cost) -> Steps<'c> {
        Steps {
            left: MOST_STEPS,
            cost,
        }
    }

    /// For what is not of jq.
    pub(in crate::plan) fn cost(&mut self) -> &mut Cost {
        self.cost
    }
}

/// Why a walk ended.
enum End {
    /// The expression has no answer for the value, as `.a` of a number.
    Error(String),
    /// There is too much to do.
    Bound(String),
}

type Found<T> = Result<T, End>;

impl Steps<'_> {
    fn take(&mut self, number: usize) -> Found<()> {
        match self.left.checked_sub(number) {
            Some(left) => self.left = left,
            None => {
                let why = format!("more than {MOST_STEPS} steps; accepted: an expression that does less");
                return Err(End::Bound(why));
            }
        }
        self.cost
            .step(number)
            .map_err(|spent| End::Bound(spent.to_string()))
    }
}

/// A value on the way, and where it is; a value that is nowhere cannot be named.
#[derive(Clone, Debug)]
struct Node<'v> {
    place: Option<Trail>,
    value: Cow<'v, Value>,
    /// Whether there is something at the place.
    is_there: bool,
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
    match walk(expression, &root, steps) {
        Ok(found) => {
            let there = found.into_iter().filter(|node| node.is_there);
            let places = there.filter_map(|node| node.place);
            Ok(places.map(|place| place.keys()).collect())
        }
        Err(End::Error(why)) => Err(why),
        Err(End::Bound(why)) => Err(why),
    }
}

fn walk<'v>(expression: &Expression, node: &Node<'v>, steps: &mut Steps<'_>) -> Found<Vec<Node<'v>>> {
    steps.take(1)?;
    let found = match expression {
        Expression::Identity => vec![node.clone()],
        Expression::Recurse => recurse(node, steps)?,
        Expression::Literal(value) => {
            steps.take(weight(value))?;
            vec![computed(value.clone())]
        }
        Expression::Part(base, part, optional) => {
            let mut found = Vec::new();
            for node in walk(base, node, steps)? {
                match step(&node, part, steps) {
                    Ok(next) => found.extend(next),
                    Err(End::Error(_)) if *optional => {}
                    Err(end) => return Err(end),
                }
                bounded(&found)?;
            }
            found
        }
        Expression::Pipe(left, right) => {
            let mut found = Vec::new();
            for node in walk(left, node, steps)? {
                found.extend(walk(right, &node, steps)?);
                bounded(&found)?;
            }
            found
        }
        Expression::Comma(left, right) => {
            let mut found = walk(left, node, steps)?;
            found.extend(walk(right, node, steps)?);
            found
        }
        Expression::Try(inner) => match walk(inner, node, steps) {
            Err(End::Error(_)) => Vec::new(),
            found => found?,
        },
        Expression::First(inner) => walk(inner, node, steps)?.into_iter().take(1).collect(),
        Expression::Select(condition) => {
            let conditions = walk(condition, node, steps)?;
            let truths = conditions.iter().filter(|answer| is_true(&answer.value));
            truths.map(|_| node.clone()).collect()
        }
        condition => conditions(condition, node, steps)?
            .into_iter()
            .map(computed)
            .collect(),
    };
    bounded(&found)?;
    Ok(found)
}

fn bounded(found: &[Node<'_>]) -> Found<()> {
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

fn step<'v>(node: &Node<'v>, part: &Part, steps: &mut Steps<'_>) -> Found<Vec<Node<'v>>> {
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

fn conditions(condition: &Expression, node: &Node<'_>, steps: &mut Steps<'_>) -> Found<Vec<Value>> {
    let truths = |condition: &Expression, node: &Node<'_>, steps: &mut Steps<'_>| -> Found<Vec<bool>> {
        let answers = walk(condition, node, steps)?;
        Ok(answers.iter().map(|answer| is_true(&answer.value)).collect())
    };
    let mut found = Vec::new();
    match condition {
        Expression::Compare(left, comparison, right) => {
            for right in walk(right, node, steps)? {
                for left in walk(left, node, steps)? {
                    let order = order(&left.value, &right.value, steps)?;
                    found.push(holds(*comparison, order).into());
                }
            }
        }
        Expression::And(left, right) | Expression::Or(left, right) => {
            let decides = matches!(condition, Expression::Or(..));
            for left in truths(left, node, steps)? {
                match left == decides {
                    true => found.push(decides.into()),
                    false => found.extend(truths(right, node, steps)?.into_iter().map(Value::from)),
                }
            }
        }
        Expression::Any(inner) | Expression::All(inner) => {
            let wanted = matches!(condition, Expression::Any(_));
            let mut is_decided = false;
            for child in step(node, &Part::Every, steps)? {
                is_decided |= truths(inner, &child, steps)?.contains(&wanted);
            }
            found.push((is_decided == wanted).into());
        }
        Expression::Function(function) => found.push(apply(*function, &node.value)?),
        Expression::Test(pattern) => match node.value.as_str() {
            Some(text) => {
                steps.take(text.len().div_ceil(64))?;
                found.push(pattern.is_match(text).into());
            }
            None => {
                return Err(End::Error(format!(
                    "test of a value of the type {}",
                    type_of(&node.value)
                )));
            }
        },
        Expression::Of(relation, other) => {
            for other in walk(other, node, steps)? {
                found.push(relates(*relation, &node.value, &other.value, steps)?.into());
            }
        }
        _ => {}
    }
    Ok(found)
}

fn apply(function: Function, value: &Value) -> Found<Value> {
    Ok(match (function, value) {
        (Function::Not, value) => (!is_true(value)).into(),
        (Function::Type, value) => type_of(value).into(),
        (Function::Length, Value::Null) => 0.into(),
        (Function::Length, Value::String(text)) => text.chars().count().into(),
        (Function::Length, Value::Array(items)) => items.len().into(),
        (Function::Length, Value::Object(fields)) => fields.len().into(),
        (Function::Length, Value::Number(number)) => match number.as_i64() {
            Some(number) => number.unsigned_abs().into(),
            None => number.as_f64().unwrap_or_default().abs().into(),
        },
        (Function::Length, Value::Bool(_)) => return Err(End::Error("length of a boolean".to_owned())),
    })
}

fn relates(relation: Relation, value: &Value, other: &Value, steps: &mut Steps<'_>) -> Found<bool> {
    let error = |name: &str| {
        let types = format!("{} and {}", type_of(value), type_of(other));
        Err(End::Error(format!("{name} of values of the types {types}")))
    };
    steps.take(weight(other))?;
    match (relation, value, other) {
        (Relation::Has, Value::Object(fields), Value::String(name)) => Ok(fields.contains_key(name)),
        (Relation::Has, Value::Array(items), Value::Number(index)) => {
            let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
            Ok(index.is_some_and(|index| index < items.len()))
        }
        (Relation::Has, ..) => error("has"),
        (Relation::StartsWith, Value::String(text), Value::String(part)) => Ok(text.starts_with(part)),
        (Relation::StartsWith, ..) => error("startswith"),
        (Relation::EndsWith, Value::String(text), Value::String(part)) => Ok(text.ends_with(part)),
        (Relation::EndsWith, ..) => error("endswith"),
        (Relation::Contains, value, other) if type_of(value) != type_of(other) => error("contains"),
        (Relation::Contains, value, other) => contains(value, other, steps),
    }
}

fn contains(value: &Value, part: &Value, steps: &mut Steps<'_>) -> Found<bool> {
    steps.take(1)?;
    match (value, part) {
        (Value::String(text), Value::String(part)) => {
            steps.take(text.len().div_ceil(64))?;
            Ok(text.contains(part))
        }
        (Value::Array(items), Value::Array(parts)) => {
            for part in parts {
                let mut is_in = false;
                for item in items {
                    is_in |= contains(item, part, steps)?;
                }
                if !is_in {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(fields), Value::Object(parts)) => {
            for (name, part) in parts {
                match fields.get(name) {
                    Some(value) if contains(value, part, steps)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        _ => Ok(order(value, part, steps)? == Ordering::Equal),
    }
}

fn holds(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Less => order.is_lt(),
        Comparison::AtMost => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::AtLeast => order.is_ge(),
        Comparison::Equal => order.is_eq(),
        Comparison::Unequal => order.is_ne(),
    }
}

/// The order of jq: by type first.
fn order(a: &Value, b: &Value, steps: &mut Steps<'_>) -> Found<Ordering> {
    steps.take(1)?;
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(false) => 1,
        Value::Bool(true) => 2,
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::Array(_) => 5,
        Value::Object(_) => 6,
    };
    Ok(match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => {
                let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
                a.total_cmp(&b)
            }
        },
        (Value::String(a), Value::String(b)) => {
            steps.take(a.len().min(b.len()).div_ceil(64))?;
            a.cmp(b)
        }
        (Value::Array(a), Value::Array(b)) => {
            for (a, b) in a.iter().zip(b) {
                let order = order(a, b, steps)?;
                if order.is_ne() {
                    return Ok(order);
                }
            }
            a.len().cmp(&b.len())
        }
        (Value::Object(a), Value::Object(b)) => {
            steps.take(a.len() + b.len())?;
            let keys = |fields: &serde_json::Map<String, Value>| {
                let mut keys: Vec<String> = fields.keys().cloned().collect();
                keys.sort();
                keys
            };
            let (a_keys, b_keys) = (keys(a), keys(b));
            if a_keys != b_keys {
                return Ok(a_keys.cmp(&b_keys));
            }
            for key in &a_keys {
                let order = order(&a[key], &b[key], steps)?;
                if order.is_ne() {
                    return Ok(order);
                }
            }
            Ordering::Equal
        }
        _ => rank(a).cmp(&rank(b)),
    })
}

fn is_true(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What a copy of the value costs.
pub(in crate::plan) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(weight).sum::<usize>(),
        _ => 1,
    }
}
