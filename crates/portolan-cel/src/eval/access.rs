//! Fields and elements.

use std::borrow::Cow;

use super::Evaluated;
use crate::error::{EvalError, Failure, cut};
use crate::node::Access;
use crate::value::Val;

/// `a.b`, `a.?b` and `has(a.b)`. Once an operand is optional, everything read from it is.
pub(super) fn field<'v>(operand: Cow<'v, Val>, name: &str, access: Access) -> Evaluated<'v> {
    match operand {
        Cow::Borrowed(Val::Map(map)) => found(map.field(name).map(Cow::Borrowed), name, access),
        Cow::Owned(Val::Map(map)) => found(map.field(name).cloned().map(Cow::Owned), name, access),
        other => match other.as_ref() {
            Val::Optional(inner) => field_of_optional(inner.as_deref(), name, access).map(Cow::Owned),
            other => Err(EvalError::no_such_overload(
                format!("select .{}", cut(name)),
                &[other],
            )),
        },
    }
}

fn found<'v>(value: Option<Cow<'v, Val>>, name: &str, access: Access) -> Evaluated<'v> {
    match (access, value) {
        (Access::Plain, Some(value)) => Ok(value),
        (Access::Plain, None) => Err(Box::new(EvalError::NoSuchKey { key: cut(name) })),
        (Access::Test, value) => Ok(Cow::Owned(Val::Bool(value.is_some()))),
        (Access::Optional, Some(value)) => Ok(Cow::Owned(Val::some(value.into_owned()))),
        (Access::Optional, None) => Ok(Cow::Owned(Val::NONE)),
    }
}

fn field_of_optional(inner: Option<&Val>, name: &str, access: Access) -> Result<Val, Failure> {
    let value = match inner {
        None => None,
        Some(Val::Map(map)) => map.field(name).cloned(),
        Some(other) => {
            return Err(EvalError::no_such_overload(
                format!("select .{}", cut(name)),
                &[other],
            ));
        }
    };
    Ok(match (access, value) {
        (Access::Test, value) => Val::Bool(value.is_some()),
        // An optional inside an optional adds nothing: the chain stays one level deep.
        (_, Some(value @ Val::Optional(_))) => value,
        (_, Some(value)) => Val::some(value),
        (_, None) => Val::NONE,
    })
}

/// `a[b]` and `a[?b]`.
pub(super) fn index<'v>(operand: Cow<'v, Val>, index: &Val, optional: bool) -> Evaluated<'v> {
    if let Val::Optional(inner) = operand.as_ref() {
        let value = inner
            .as_deref()
            .and_then(|inner| element(inner, index).transpose())
            .transpose()?;
        return Ok(Cow::Owned(value.cloned().map_or(Val::NONE, Val::some)));
    }
    let value: Option<Cow<'v, Val>> = match &operand {
        Cow::Borrowed(operand) => element(operand, index)?.map(Cow::Borrowed),
        Cow::Owned(operand) => element(operand, index)?.cloned().map(Cow::Owned),
    };
    match (optional, value) {
        (false, Some(value)) => Ok(value),
        (true, Some(value)) => Ok(Cow::Owned(Val::some(value.into_owned()))),
        (true, None) => Ok(Cow::Owned(Val::NONE)),
        (false, None) => Err(missing(&operand, index)),
    }
}

fn missing(operand: &Val, index: &Val) -> Failure {
    Box::new(match (operand, index) {
        (Val::List(list), index) => EvalError::IndexOutOfBounds {
            index: index.brief(),
            size: list.len(),
        },
        (_, Val::String(name)) => EvalError::NoSuchKey { key: cut(name) },
        (_, index) => EvalError::NoSuchKey { key: index.brief() },
    })
}

fn element<'a>(operand: &'a Val, index: &Val) -> Result<Option<&'a Val>, Failure> {
    let mismatch = || EvalError::no_such_overload("_[_]", &[operand, index]);
    match operand {
        Val::Map(map) => match index {
            Val::String(_) | Val::Int(_) | Val::Uint(_) | Val::Bool(_) | Val::Double(_) => Ok(map.get(index)),
            _ => Err(mismatch()),
        },
        Val::List(list) => {
            let place = match index {
                Val::Int(value) => usize::try_from(*value).ok(),
                Val::Uint(value) => usize::try_from(*value).ok(),
                Val::Double(value) if value.fract() == 0.0 => (*value >= 0.0).then_some(*value as usize),
                _ => return Err(mismatch()),
            };
            Ok(place.and_then(|place| list.get(place)))
        }
        _ => Err(mismatch()),
    }
}
