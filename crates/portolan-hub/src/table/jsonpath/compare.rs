//! Comparisons of filters. Only values of one type can be compared, and an integer is not of the type of a fraction.

use std::cmp::Ordering;

use serde_json::Value;

use super::{EvaluationError, Operator};

pub(super) fn holds(left: &Value, operator: Operator, right: &Value) -> Result<bool, EvaluationError> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => {
            // Booleans have no order in Go.
            return match operator {
                Operator::Equal => Ok(left == right),
                Operator::NotEqual => Ok(left != right),
                _ => Err(EvaluationError::Incomparable),
            };
        }
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            (None, None) => match (left.as_f64(), right.as_f64()) {
                (Some(left), Some(right)) => left.total_cmp(&right),
                _ => return Err(EvaluationError::Incomparable),
            },
            _ => return Err(EvaluationError::Incomparable),
        },
        _ => return Err(EvaluationError::Incomparable),
    };
    Ok(match operator {
        Operator::Equal => order == Ordering::Equal,
        Operator::NotEqual => order != Ordering::Equal,
        Operator::Less => order == Ordering::Less,
        Operator::LessOrEqual => order != Ordering::Greater,
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterOrEqual => order != Ordering::Less,
    })
}
