//! Optional values. `or` and `orValue` are not here: they evaluate their argument only when needed.

use super::{BOOL, Function, Outcome, global, member, mismatch};
use crate::context::Context;
use crate::error::EvalError;
use crate::types::Shape;
use crate::value::Val;

const OPTIONAL: Shape = Shape::Optional(&Shape::A);
const LIST: Shape = Shape::List(&Shape::A);
const OPTIONALS: Shape = Shape::List(&OPTIONAL);

pub(super) const FUNCTIONS: &[Function] = &[
    global("optional.of", &[Shape::A], OPTIONAL, of),
    global("optional.none", &[], OPTIONAL, none),
    global(
        "optional.ofNonZeroValue",
        &[Shape::A],
        OPTIONAL,
        of_non_zero_value,
    ),
    global("optional.unwrap", &[OPTIONALS], LIST, unwrap),
    member("unwrapOpt", &[OPTIONALS], LIST, unwrap),
    member("hasValue", &[OPTIONAL], BOOL, has_value),
    member("value", &[OPTIONAL], Shape::A, value),
    member("first", &[LIST], OPTIONAL, first),
    member("last", &[LIST], OPTIONAL, last),
];

fn of(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    arguments
        .first()
        .cloned()
        .map(Val::some)
        .ok_or_else(|| mismatch("optional.of", arguments))
}

fn none(_: &mut Context<'_, '_>, _: &[Val]) -> Outcome {
    Ok(Val::NONE)
}

fn of_non_zero_value(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [value] if value.is_zero() => Ok(Val::NONE),
        [value] => Ok(Val::some(value.clone())),
        _ => Err(mismatch("optional.ofNonZeroValue", arguments)),
    }
}

fn unwrap(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::List(list)] = arguments else {
        return Err(mismatch("optional.unwrap", arguments));
    };
    context.meter.charge_elements(list.len())?;
    let mut values = Vec::new();
    for element in list.iter() {
        match element {
            Val::Optional(Some(value)) => values.push(value.as_ref().clone()),
            Val::Optional(None) => {}
            other => return Err(EvalError::no_such_overload("optional.unwrap", &[other])),
        }
    }
    Ok(Val::list(values))
}

fn has_value(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [Val::Optional(value)] => Ok(Val::Bool(value.is_some())),
        _ => Err(mismatch("hasValue", arguments)),
    }
}

fn value(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [Val::Optional(Some(value))] => Ok(value.as_ref().clone()),
        [Val::Optional(None)] => Err(Box::new(EvalError::OptionalNone)),
        _ => Err(mismatch("value", arguments)),
    }
}

fn first(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [Val::List(list)] => Ok(list.first().cloned().map_or(Val::NONE, Val::some)),
        _ => Err(mismatch("first", arguments)),
    }
}

fn last(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [Val::List(list)] => Ok(list.last().cloned().map_or(Val::NONE, Val::some)),
        _ => Err(mismatch("last", arguments)),
    }
}
