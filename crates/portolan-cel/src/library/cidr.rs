//! Functions of address ranges.

use std::sync::Arc;

use super::{BOOL, Function, INT, Outcome, STRING, global, member, mismatch};
use crate::context::Context;
use crate::error::EvalError;
use crate::kubernetes::cidr::Cidr;
use crate::kubernetes::ip;
use crate::types::{Kind, Shape};
use crate::value::Val;

const CIDR: Shape = Shape::Is(Kind::Cidr);
const IP: Shape = Shape::Is(Kind::Ip);

pub(super) const FUNCTIONS: &[Function] = &[
    global("cidr", &[STRING], CIDR, cidr),
    global("isCIDR", &[STRING], BOOL, is_cidr),
    member("containsIP", &[CIDR, IP], BOOL, contains_ip),
    member("containsIP", &[CIDR, STRING], BOOL, contains_ip),
    member("containsCIDR", &[CIDR, CIDR], BOOL, contains_cidr),
    member("containsCIDR", &[CIDR, STRING], BOOL, contains_cidr),
    member("masked", &[CIDR], CIDR, masked),
    member("prefixLength", &[CIDR], INT, prefix_length),
];

fn cidr(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("cidr", arguments));
    };
    context.meter.charge_text(text.len())?;
    let parsed = Cidr::parse(text).map_err(|reason| EvalError::invalid("cidr", text, reason))?;
    Ok(Val::Cidr(Arc::new(parsed)))
}

fn is_cidr(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(text)] = arguments else {
        return Err(mismatch("isCIDR", arguments));
    };
    context.meter.charge_text(text.len())?;
    Ok(Val::Bool(Cidr::parse(text).is_ok()))
}

fn contains_ip(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (range, address) = match arguments {
        [Val::Cidr(range), Val::Ip(address)] => (range, **address),
        [Val::Cidr(range), Val::String(text)] => (
            range,
            ip::parse(text).map_err(|reason| EvalError::invalid("containsIP", text, reason))?,
        ),
        _ => return Err(mismatch("containsIP", arguments)),
    };
    Ok(Val::Bool(range.contains(address)))
}

fn contains_cidr(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let (range, inner) = match arguments {
        [Val::Cidr(range), Val::Cidr(inner)] => (range, **inner),
        [Val::Cidr(range), Val::String(text)] => {
            context.meter.charge_text(text.len())?;
            (
                range,
                Cidr::parse(text).map_err(|reason| EvalError::invalid("containsCIDR", text, reason))?,
            )
        }
        _ => return Err(mismatch("containsCIDR", arguments)),
    };
    Ok(Val::Bool(
        inner.prefix() >= range.prefix() && range.contains(inner.address()),
    ))
}

fn masked(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Cidr(range)] = arguments else {
        return Err(mismatch("masked", arguments));
    };
    Ok(Val::Cidr(Arc::new(range.masked())))
}

fn prefix_length(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::Cidr(range)] = arguments else {
        return Err(mismatch("prefixLength", arguments));
    };
    Ok(Val::Int(i64::from(range.prefix())))
}
