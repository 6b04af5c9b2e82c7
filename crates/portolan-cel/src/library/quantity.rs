//! Functions of quantities.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{BOOL, DOUBLE, Function, INT, Outcome, STRING, global, member, mismatch};
use crate::context::Context;
use crate::error::{EvalError, Failure};
use crate::kubernetes::quantity::Quantity;
use crate::types::{Kind, Shape};
use crate::value::Val;

const QUANTITY: Shape = Shape::Is(Kind::Quantity);

pub(super) const FUNCTIONS: &[Function] = &[
    global("quantity", &[STRING], QUANTITY, quantity),
    global("isQuantity", &[STRING], BOOL, is_quantity),
    member("sign", &[QUANTITY], INT, sign),
    member("isInteger", &[QUANTITY], BOOL, is_integer),
    member("asInteger", &[QUANTITY], INT, as_integer),
    member("asApproximateFloat", &[QUANTITY], DOUBLE, as_approximate_float),
    member("isGreaterThan", &[QUANTITY, QUANTITY], BOOL, is_greater_than),
    member("isLessThan", &[QUANTITY, QUANTITY], BOOL, is_less_than),
    member("compareTo", &[QUANTITY, QUANTITY], INT, compare_to),
    member("add", &[QUANTITY, QUANTITY], QUANTITY, add),
    member("add", &[QUANTITY, INT], QUANTITY, add),
    member("sub", &[QUANTITY, QUANTITY], QUANTITY, sub),
    member("sub", &[QUANTITY, INT], QUANTITY, sub),
];

fn parse(function: &'static str, text: &str) -> Result<Quantity, Failure> {
    Quantity::parse(text)
        .ok_or_else(|| EvalError::invalid(function, text, "not a quantity such as 500m or 4Gi"))
}

fn quantity(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("quantity", arguments));
    };
    context.meter.charge_text(text.len())?;
    parse("quantity", text).map(wrap)
}

fn is_quantity(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("isQuantity", arguments));
    };
    context.meter.charge_text(text.len())?;
    Ok(Val::Bool(Quantity::parse(text).is_some()))
}

fn sign(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Quantity(value)] = arguments else {
        return Err(mismatch("sign", arguments));
    };
    Ok(Val::Int(value.nanos().signum() as i64))
}

fn is_integer(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Quantity(value)] = arguments else {
        return Err(mismatch("isInteger", arguments));
    };
    Ok(Val::Bool(value.as_int().is_some()))
}

fn as_integer(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Quantity(value)] = arguments else {
        return Err(mismatch("asInteger", arguments));
    };
    let int = value.as_int().map(Val::Int);
    int.ok_or_else(|| EvalError::invalid("asInteger", &value.to_string(), "not an integer in range"))
}

fn as_approximate_float(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Quantity(value)] = arguments else {
        return Err(mismatch("asApproximateFloat", arguments));
    };
    Ok(Val::Double(value.as_double()))
}

fn is_greater_than(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    order("isGreaterThan", arguments).map(|order| Val::Bool(order.is_gt()))
}

fn is_less_than(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    order("isLessThan", arguments).map(|order| Val::Bool(order.is_lt()))
}

fn compare_to(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    order("compareTo", arguments).map(|order| Val::Int(order as i64))
}

fn order(function: &'static str, arguments: &[Val]) -> Outcome<Ordering> {
    match arguments {
        [Val::Quantity(left), Val::Quantity(right)] => Ok(left.cmp(right)),
        _ => Err(mismatch(function, arguments)),
    }
}

fn add(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (left, right) = operands("add", arguments)?;
    sum(left, right.nanos(), arguments)
}

fn sub(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (left, right) = operands("sub", arguments)?;
    sum(left, right.nanos().saturating_neg(), arguments)
}

fn operands(function: &'static str, arguments: &[Val]) -> Outcome<(Quantity, Quantity)> {
    match arguments {
        [Val::Quantity(left), Val::Quantity(right)] => Ok((**left, **right)),
        [Val::Quantity(left), Val::Int(right)] => Ok((**left, Quantity::from_int(*right))),
        _ => Err(mismatch(function, arguments)),
    }
}

fn sum(left: Quantity, right: i128, arguments: &[Val]) -> Outcome {
    let total = left.plus(right).map(wrap);
    total.ok_or_else(|| EvalError::overflow("quantity", &arguments[0], &arguments[1]))
}

fn wrap(quantity: Quantity) -> Val {
    Val::Quantity(Arc::new(quantity))
}
