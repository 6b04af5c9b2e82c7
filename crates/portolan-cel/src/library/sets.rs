//! Lists as sets. Elements are compared pair by pair, and each comparison is paid for.

use super::{BOOL, Function, Outcome, global, mismatch};
use crate::context::Context;
use crate::error::Failure;
use crate::types::Shape;
use crate::value::{Val, equal};

const LIST: Shape = Shape::List(&Shape::A);

pub(super) const FUNCTIONS: &[Function] = &[
    global("sets.contains", &[LIST, LIST], BOOL, contains),
    global("sets.equivalent", &[LIST, LIST], BOOL, equivalent),
    global("sets.intersects", &[LIST, LIST], BOOL, intersects),
];

fn contains(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::List(all), Val::List(some)] = arguments else {
        return Err(mismatch("sets.contains", arguments));
    };
    covers(context, all, some).map(Val::Bool)
}

fn equivalent(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::List(left), Val::List(right)] = arguments else {
        return Err(mismatch("sets.equivalent", arguments));
    };
    Ok(Val::Bool(
        covers(context, left, right)? && covers(context, right, left)?,
    ))
}

fn intersects(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::List(left), Val::List(right)] = arguments else {
        return Err(mismatch("sets.intersects", arguments));
    };
    for element in right.iter() {
        if holds(context, left, element)? {
            return Ok(Val::Bool(true));
        }
    }
    Ok(Val::Bool(false))
}

fn covers(context: &mut Context<'_, '_>, all: &[Val], some: &[Val]) -> Result<bool, Failure> {
    for element in some {
        if !holds(context, all, element)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn holds(context: &mut Context<'_, '_>, all: &[Val], element: &Val) -> Result<bool, Failure> {
    for candidate in all {
        context.meter.charge(1)?;
        if equal(candidate, element, &mut context.meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}
