//! The Kubernetes list functions.

use std::cmp::Ordering;

use super::time::Duration;
use super::{
    BOOL, BYTES, DOUBLE, DURATION, Function, INT, Outcome, STRING, TIMESTAMP, UINT, member, mismatch,
};
use crate::context::Context;
use crate::error::{EvalError, Failure};
use crate::types::Shape;
use crate::value::{Order, Val, compare, equal};

const ANYTHING: Shape = Shape::List(&Shape::A);

pub(super) const FUNCTIONS: &[Function] = &[
    member("sum", &[Shape::List(&INT)], INT, sum),
    member("sum", &[Shape::List(&UINT)], UINT, sum_uints),
    member("sum", &[Shape::List(&DOUBLE)], DOUBLE, sum_doubles),
    member("sum", &[Shape::List(&DURATION)], DURATION, sum_durations),
    member("isSorted", &[Shape::List(&INT)], BOOL, is_sorted),
    member("isSorted", &[Shape::List(&UINT)], BOOL, is_sorted),
    member("isSorted", &[Shape::List(&DOUBLE)], BOOL, is_sorted),
    member("isSorted", &[Shape::List(&BOOL)], BOOL, is_sorted),
    member("isSorted", &[Shape::List(&STRING)], BOOL, is_sorted),
    member("isSorted", &[Shape::List(&BYTES)], BOOL, is_sorted),
    member("isSorted", &[Shape::List(&DURATION)], BOOL, is_sorted),
    member("isSorted", &[Shape::List(&TIMESTAMP)], BOOL, is_sorted),
    member("min", &[Shape::List(&INT)], INT, min),
    member("min", &[Shape::List(&UINT)], UINT, min),
    member("min", &[Shape::List(&DOUBLE)], DOUBLE, min),
    member("min", &[Shape::List(&BOOL)], BOOL, min),
    member("min", &[Shape::List(&STRING)], STRING, min),
    member("min", &[Shape::List(&BYTES)], BYTES, min),
    member("min", &[Shape::List(&DURATION)], DURATION, min),
    member("min", &[Shape::List(&TIMESTAMP)], TIMESTAMP, min),
    member("max", &[Shape::List(&INT)], INT, max),
    member("max", &[Shape::List(&UINT)], UINT, max),
    member("max", &[Shape::List(&DOUBLE)], DOUBLE, max),
    member("max", &[Shape::List(&BOOL)], BOOL, max),
    member("max", &[Shape::List(&STRING)], STRING, max),
    member("max", &[Shape::List(&BYTES)], BYTES, max),
    member("max", &[Shape::List(&DURATION)], DURATION, max),
    member("max", &[Shape::List(&TIMESTAMP)], TIMESTAMP, max),
    member("indexOf", &[ANYTHING, Shape::A], INT, index_of),
    member("lastIndexOf", &[ANYTHING, Shape::A], INT, last_index_of),
];

/// The sum of nothing is the zero of the type the list is known to hold, and the int 0 when that is not known.
fn sum(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    total(context, arguments, Val::Int(0))
}

fn sum_uints(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    total(context, arguments, Val::Uint(0))
}

fn sum_doubles(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    total(context, arguments, Val::Double(0.0))
}

fn sum_durations(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    total(context, arguments, Val::Duration(Duration::ZERO))
}

fn total(context: &mut Context<'_, '_>, arguments: &[Val], zero: Val) -> Outcome {
    let [Val::List(list)] = arguments else {
        return Err(mismatch("sum", arguments));
    };
    context.meter.charge_elements(list.len())?;
    let Some((first, rest)) = list.split_first() else {
        return Ok(zero);
    };
    if !matches!(
        first,
        Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Duration(_)
    ) {
        return Err(EvalError::no_such_overload("sum", &[first]));
    }
    let mut total = first.clone();
    for value in rest {
        let next = match (&total, value) {
            (Val::Int(total), Val::Int(value)) => total.checked_add(*value).map(Val::Int),
            (Val::Uint(total), Val::Uint(value)) => total.checked_add(*value).map(Val::Uint),
            (Val::Double(total), Val::Double(value)) => Some(Val::Double(total + value)),
            (Val::Duration(total), Val::Duration(value)) => Duration::plus(*total, *value).map(Val::Duration),
            (total, value) => return Err(EvalError::no_such_overload("sum", &[total, value])),
        };
        total = next.ok_or_else(|| EvalError::overflow("sum", &total, value))?;
    }
    Ok(total)
}

fn is_sorted(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::List(list)] = arguments else {
        return Err(mismatch("isSorted", arguments));
    };
    for pair in list.windows(2) {
        if order(context, "isSorted", &pair[0], &pair[1])? == Some(Ordering::Greater) {
            return Ok(Val::Bool(false));
        }
    }
    Ok(Val::Bool(true))
}

fn min(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    extreme(context, "min", arguments, Ordering::Less)
}

fn max(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    extreme(context, "max", arguments, Ordering::Greater)
}

fn extreme(
    context: &mut Context<'_, '_>,
    function: &'static str,
    arguments: &[Val],
    wanted: Ordering,
) -> Outcome {
    let [Val::List(list)] = arguments else {
        return Err(mismatch(function, arguments));
    };
    let Some((first, rest)) = list.split_first() else {
        return Err(EvalError::invalid(function, "[]", "the list is empty"));
    };
    // A lone element is compared with itself, so that a list of something without order is refused.
    order(context, function, first, first)?;
    let mut best = first;
    for value in rest {
        if order(context, function, value, best)? == Some(wanted) {
            best = value;
        }
    }
    Ok(best.clone())
}

fn order(
    context: &mut Context<'_, '_>,
    function: &'static str,
    left: &Val,
    right: &Val,
) -> Result<Option<Ordering>, Failure> {
    context.meter.charge(1)?;
    match compare(left, right, &mut context.meter)? {
        Some(Order::Ordered(order)) => Ok(Some(order)),
        Some(Order::Unordered) => Ok(None),
        None => Err(EvalError::no_such_overload(function, &[left, right])),
    }
}

fn index_of(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::List(list), wanted] = arguments else {
        return Err(mismatch("indexOf", arguments));
    };
    find(context, list.iter().enumerate(), wanted)
}

fn last_index_of(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::List(list), wanted] = arguments else {
        return Err(mismatch("lastIndexOf", arguments));
    };
    find(context, list.iter().enumerate().rev(), wanted)
}

fn find<'a>(
    context: &mut Context<'_, '_>,
    elements: impl Iterator<Item = (usize, &'a Val)>,
    wanted: &Val,
) -> Outcome {
    for (place, element) in elements {
        context.meter.charge(1)?;
        if equal(element, wanted, &mut context.meter)? {
            return Ok(Val::Int(i64::try_from(place).unwrap_or(i64::MAX)));
        }
    }
    Ok(Val::Int(-1))
}
