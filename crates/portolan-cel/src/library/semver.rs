//! Semantic versions. Build metadata takes no part in comparisons.

use std::cmp::Ordering;
use std::sync::Arc;

use ::semver::Version;

use super::{BOOL, Function, INT, Outcome, STRING, global, member, mismatch};
use crate::context::Context;
use crate::error::{EvalError, Failure};
use crate::types::{Kind, Shape};
use crate::value::Val;

const SEMVER: Shape = Shape::Is(Kind::Semver);

pub(super) const FUNCTIONS: &[Function] = &[
    global("semver", &[STRING], SEMVER, semver),
    global("semver", &[STRING, BOOL], SEMVER, semver),
    global("isSemver", &[STRING], BOOL, is_semver),
    global("isSemver", &[STRING, BOOL], BOOL, is_semver),
    member("major", &[SEMVER], INT, |_, arguments| {
        part("major", arguments, |version| version.major)
    }),
    member("minor", &[SEMVER], INT, |_, arguments| {
        part("minor", arguments, |version| version.minor)
    }),
    member("patch", &[SEMVER], INT, |_, arguments| {
        part("patch", arguments, |version| version.patch)
    }),
    member("isGreaterThan", &[SEMVER, SEMVER], BOOL, is_greater_than),
    member("isLessThan", &[SEMVER, SEMVER], BOOL, is_less_than),
    member("compareTo", &[SEMVER, SEMVER], INT, compare_to),
];

fn read(
    context: &mut Context<'_, '_>,
    function: &'static str,
    arguments: &[Val],
) -> Outcome<Result<Version, Failure>> {
    let (text, normalise) = match arguments {
        [Val::String(text)] => (text, false),
        [Val::String(text), Val::Bool(normalise)] => (text, *normalise),
        _ => return Err(mismatch(function, arguments)),
    };
    context.meter.charge_text(text.len())?;
    let parsed = if normalise {
        Version::parse(&normalised(text))
    } else {
        Version::parse(text)
    };
    Ok(parsed.map_err(|error| EvalError::invalid(function, text, error)))
}

/// Drops a leading `v` and leading zeros, adds a missing minor and patch version.
fn normalised(text: &str) -> String {
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(end);
    let mut parts: Vec<&str> = core.split('.').map(without_leading_zeros).collect();
    while parts.len() < 3 {
        parts.push("0");
    }
    format!("{}{rest}", parts.join("."))
}

fn without_leading_zeros(part: &str) -> &str {
    let trimmed = part.trim_start_matches('0');
    if trimmed.is_empty() && !part.is_empty() {
        "0"
    } else {
        trimmed
    }
}

fn semver(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    Ok(Val::Semver(Arc::new(read(context, "semver", arguments)??)))
}

fn is_semver(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    Ok(Val::Bool(read(context, "isSemver", arguments)?.is_ok()))
}

fn part(function: &'static str, arguments: &[Val], part: fn(&Version) -> u64) -> Outcome {
    let [Val::Semver(version)] = arguments else {
        return Err(mismatch(function, arguments));
    };
    let number = i64::try_from(part(version)).map(Val::Int);
    number.map_err(|_| EvalError::invalid(function, "version", "a part is out of range"))
}

fn is_greater_than(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    order(context, "isGreaterThan", arguments).map(|order| Val::Bool(order.is_gt()))
}

fn is_less_than(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    order(context, "isLessThan", arguments).map(|order| Val::Bool(order.is_lt()))
}

fn compare_to(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    order(context, "compareTo", arguments).map(|order| Val::Int(order as i64))
}

fn order(context: &mut Context<'_, '_>, function: &'static str, arguments: &[Val]) -> Outcome<Ordering> {
    let [Val::Semver(left), Val::Semver(right)] = arguments else {
        return Err(mismatch(function, arguments));
    };
    context.meter.charge_text(left.pre.len().min(right.pre.len()))?;
    Ok(left.cmp_precedence(right))
}
