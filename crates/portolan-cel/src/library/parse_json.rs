//! `<string>.parseJSON()`. Numbers become doubles, as they do in OCM; `==` and `<` compare them with ints all the same.

use super::{Function, Outcome, STRING, member, mismatch};
use crate::context::Context;
use crate::error::EvalError;
use crate::types::Shape;
use crate::value::{Numbers, Val, from_json};

pub(super) const FUNCTIONS: &[Function] = &[member("parseJSON", &[STRING], Shape::Any, parse_json)];

fn parse_json(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("parseJSON", arguments));
    };
    // A short text can hold very many small values, so it costs more than reading a string.
    context.meter.charge((text.len() as u64).div_ceil(2))?;
    match serde_json::from_str(text) {
        Ok(json) => Ok(from_json(&json, Numbers::Doubles)),
        Err(error) => Err(EvalError::invalid("parseJSON", text, error)),
    }
}
