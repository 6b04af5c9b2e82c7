//! Arithmetic, comparison and membership.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::budget::Meter;
use crate::error::{EvalError, Failure};
use crate::function::Outcome;
use crate::syntax::ast::Operator;
use crate::value::{Order, Val, compare, equal};

pub(super) fn binary(operator: Operator, left: &Val, right: &Val, meter: &mut Meter<'_>) -> Outcome {
    match operator {
        Operator::Equal => equal(left, right, meter).map(Val::Bool),
        Operator::NotEqual => equal(left, right, meter).map(|same| Val::Bool(!same)),
        Operator::Less => ordered(operator, left, right, meter, Ordering::is_lt),
        Operator::LessOrEqual => ordered(operator, left, right, meter, Ordering::is_le),
        Operator::Greater => ordered(operator, left, right, meter, Ordering::is_gt),
        Operator::GreaterOrEqual => ordered(operator, left, right, meter, Ordering::is_ge),
        Operator::In => contains(left, right, meter).map(Val::Bool),
        Operator::Add => add(left, right, meter),
        Operator::Subtract => subtract(left, right),
        Operator::Multiply => match (left, right) {
            (Val::Int(a), Val::Int(b)) => int(a.checked_mul(*b), "int multiplication", left, right),
            (Val::Uint(a), Val::Uint(b)) => uint(a.checked_mul(*b), "uint multiplication", left, right),
            (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
            _ => Err(mismatch(operator, left, right)),
        },
        Operator::Divide => match (left, right) {
            (Val::Int(_), Val::Int(0)) | (Val::Uint(_), Val::Uint(0)) => {
                Err(Box::new(EvalError::DivisionByZero {
                    operation: "division",
                }))
            }
            (Val::Int(a), Val::Int(b)) => int(a.checked_div(*b), "int division", left, right),
            (Val::Uint(a), Val::Uint(b)) => uint(a.checked_div(*b), "uint division", left, right),
            (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
            _ => Err(mismatch(operator, left, right)),
        },
        Operator::Modulo => match (left, right) {
            (Val::Int(_), Val::Int(0)) | (Val::Uint(_), Val::Uint(0)) => {
                Err(Box::new(EvalError::DivisionByZero { operation: "modulus" }))
            }
            (Val::Int(a), Val::Int(b)) => int(a.checked_rem(*b), "int modulus", left, right),
            (Val::Uint(a), Val::Uint(b)) => uint(a.checked_rem(*b), "uint modulus", left, right),
            _ => Err(mismatch(operator, left, right)),
        },
    }
}

pub(super) fn negate(operand: &Val) -> Outcome {
    match operand {
        Val::Int(value) => int(value.checked_neg(), "int negation", operand, &Val::Null),
        Val::Double(value) => Ok(Val::Double(-value)),
        other => Err(EvalError::no_such_overload("-_", &[other])),
    }
}

/// Copies are paid for before they are made.
fn add(left: &Val, right: &Val, meter: &mut Meter<'_>) -> Outcome {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => int(a.checked_add(*b), "int addition", left, right),
        (Val::Uint(a), Val::Uint(b)) => uint(a.checked_add(*b), "uint addition", left, right),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        (Val::String(a), Val::String(b)) => {
            meter.charge_text(a.len() + b.len())?;
            Ok(Val::string([a.as_ref(), b.as_ref()].concat()))
        }
        (Val::Bytes(a), Val::Bytes(b)) => {
            meter.charge_text(a.len() + b.len())?;
            Ok(Val::Bytes([a.as_ref(), b.as_ref()].concat().into()))
        }
        (Val::List(a), Val::List(b)) => Ok(Val::List(Arc::new(a.plus(b, meter)?))),
        (Val::Timestamp(time), Val::Duration(span)) | (Val::Duration(span), Val::Timestamp(time)) => {
            let sum = time.plus(*span).map(Val::Timestamp);
            sum.ok_or_else(|| EvalError::overflow("timestamp addition", left, right))
        }
        (Val::Duration(a), Val::Duration(b)) => {
            let sum = a.plus(*b).map(Val::Duration);
            sum.ok_or_else(|| EvalError::overflow("duration addition", left, right))
        }
        _ => Err(mismatch(Operator::Add, left, right)),
    }
}

fn subtract(left: &Val, right: &Val) -> Outcome {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => int(a.checked_sub(*b), "int subtraction", left, right),
        (Val::Uint(a), Val::Uint(b)) => uint(a.checked_sub(*b), "uint subtraction", left, right),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        (Val::Timestamp(a), Val::Timestamp(b)) => {
            let span = a.since(*b).map(Val::Duration);
            span.ok_or_else(|| EvalError::overflow("timestamp subtraction", left, right))
        }
        (Val::Timestamp(time), Val::Duration(span)) => {
            let difference = span
                .negated()
                .and_then(|span| time.plus(span))
                .map(Val::Timestamp);
            difference.ok_or_else(|| EvalError::overflow("timestamp subtraction", left, right))
        }
        (Val::Duration(a), Val::Duration(b)) => {
            let difference = a.minus(*b).map(Val::Duration);
            difference.ok_or_else(|| EvalError::overflow("duration subtraction", left, right))
        }
        _ => Err(mismatch(Operator::Subtract, left, right)),
    }
}

fn ordered(
    operator: Operator,
    left: &Val,
    right: &Val,
    meter: &mut Meter<'_>,
    holds: fn(Ordering) -> bool,
) -> Outcome {
    match compare(left, right, meter)? {
        Some(Order::Ordered(order)) => Ok(Val::Bool(holds(order))),
        Some(Order::Unordered) => Ok(Val::Bool(false)),
        None => Err(mismatch(operator, left, right)),
    }
}

fn contains(element: &Val, container: &Val, meter: &mut Meter<'_>) -> Result<bool, Failure> {
    match container {
        Val::List(list) => {
            for candidate in list.iter() {
                meter.charge(1)?;
                if equal(element, candidate, meter)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Val::Map(map) => {
            if let Val::String(name) = element {
                meter.charge_text(name.len())?;
            }
            Ok(map.get(element).is_some())
        }
        _ => Err(mismatch(Operator::In, element, container)),
    }
}

fn int(result: Option<i64>, operation: &'static str, left: &Val, right: &Val) -> Outcome {
    result
        .map(Val::Int)
        .ok_or_else(|| EvalError::overflow(operation, left, right))
}

fn uint(result: Option<u64>, operation: &'static str, left: &Val, right: &Val) -> Outcome {
    result
        .map(Val::Uint)
        .ok_or_else(|| EvalError::overflow(operation, left, right))
}

fn mismatch(operator: Operator, left: &Val, right: &Val) -> Failure {
    EvalError::no_such_overload(operator.name(), &[left, right])
}
