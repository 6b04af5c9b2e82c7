//! Functions of the language itself: size, substring tests, type and dyn.

use super::{BOOL, BYTES, Function, INT, Outcome, STRING, global, member, mismatch};
use crate::context::Context;
use crate::types::{Kind, Shape};
use crate::value::Val;

const LIST: Shape = Shape::List(&Shape::A);
const MAP: Shape = Shape::Map(&Shape::A, &Shape::B);

pub(super) const FUNCTIONS: &[Function] = &[
    global("size", &[STRING], INT, size),
    global("size", &[BYTES], INT, size),
    global("size", &[LIST], INT, size),
    global("size", &[MAP], INT, size),
    member("size", &[STRING], INT, size),
    member("size", &[BYTES], INT, size),
    member("size", &[LIST], INT, size),
    member("size", &[MAP], INT, size),
    member("contains", &[STRING, STRING], BOOL, contains),
    member("startsWith", &[STRING, STRING], BOOL, starts_with),
    member("endsWith", &[STRING, STRING], BOOL, ends_with),
    global("type", &[Shape::Any], Shape::Is(Kind::Type), type_of),
    global("dyn", &[Shape::Any], Shape::Any, to_dyn),
];

fn size(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let size = match arguments {
        [Val::String(text)] => {
            context.meter.charge_text(text.len())?;
            super::text::length(text)
        }
        [Val::Bytes(bytes)] => bytes.len(),
        [Val::List(list)] => list.len(),
        [Val::Map(map)] => map.len(),
        _ => return Err(mismatch("size", arguments)),
    };
    Ok(Val::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn contains(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text), Val::String(part)] = arguments else {
        return Err(mismatch("contains", arguments));
    };
    context.meter.charge_text(text.len() + part.len())?;
    Ok(Val::Bool(text.contains(part.as_ref())))
}

fn starts_with(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text), Val::String(part)] = arguments else {
        return Err(mismatch("startsWith", arguments));
    };
    context.meter.charge_text(part.len())?;
    Ok(Val::Bool(text.starts_with(part.as_ref())))
}

fn ends_with(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text), Val::String(part)] = arguments else {
        return Err(mismatch("endsWith", arguments));
    };
    context.meter.charge_text(part.len())?;
    Ok(Val::Bool(text.ends_with(part.as_ref())))
}

fn type_of(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    arguments
        .first()
        .map(|value| Val::Type(Kind::of(value)))
        .ok_or_else(|| mismatch("type", arguments))
}

fn to_dyn(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    arguments
        .first()
        .cloned()
        .ok_or_else(|| mismatch("dyn", arguments))
}
