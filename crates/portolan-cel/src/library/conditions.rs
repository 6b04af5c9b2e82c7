//! `hasConditions(<map>)`: whether a status has conditions.

use super::{BOOL, Function, Outcome, global, mismatch};
use crate::context::Context;
use crate::types::Shape;
use crate::value::Val;

pub(super) const FUNCTIONS: &[Function] = &[global("hasConditions", &[Shape::Any], BOOL, has_conditions)];

fn has_conditions(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Map(status)] = arguments else {
        return Err(mismatch("hasConditions", arguments));
    };
    context.meter.charge(1)?;
    let conditions = status.field("conditions");
    Ok(Val::Bool(
        matches!(conditions, Some(Val::List(conditions)) if !conditions.is_empty()),
    ))
}
