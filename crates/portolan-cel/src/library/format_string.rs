//! `"%s has %d".format([a, b])`.

use std::fmt::Write as _;

use super::{Outcome, mismatch, text};
use crate::context::Context;
use crate::error::{EvalError, Failure};
use crate::value::Val;

/// Most decimals that can be asked for; more would only print zeros.
const MAX_PRECISION: usize = 1_000;

const DEFAULT_PRECISION: usize = 6;

pub(super) fn format(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [Val::String(template), Val::List(values)] = arguments else {
        return Err(mismatch("format", arguments));
    };
    context.meter.charge_text(template.len())?;
    let mut output = String::new();
    let mut values = values.iter();
    let mut rest: &str = template;
    while let Some(at) = rest.find('%') {
        output.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            output.push('%');
            rest = after;
            continue;
        }
        let (precision, after) = take_precision(template, rest)?;
        let Some(verb) = after.chars().next() else {
            return Err(EvalError::invalid(
                "format",
                template,
                "a verb is missing after %",
            ));
        };
        rest = &after[verb.len_utf8()..];
        let Some(value) = values.next() else {
            return Err(EvalError::invalid("format", template, "more verbs than values"));
        };
        let before = output.len();
        write_verb(context, &mut output, template, verb, precision, value)?;
        context.meter.charge_text(output.len() - before)?;
    }
    output.push_str(rest);
    Ok(Val::string(output))
}

fn take_precision<'t>(template: &str, rest: &'t str) -> Result<(Option<usize>, &'t str), Failure> {
    let Some(digits) = rest.strip_prefix('.') else {
        return Ok((None, rest));
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    match digits[..end].parse::<usize>() {
        Ok(precision) if precision <= MAX_PRECISION => Ok((Some(precision), &digits[end..])),
        _ => Err(EvalError::invalid(
            "format",
            template,
            format!("precision must be a number up to {MAX_PRECISION}"),
        )),
    }
}

fn write_verb(
    context: &mut Context<'_, '_>,
    output: &mut String,
    template: &str,
    verb: char,
    precision: Option<usize>,
    value: &Val,
) -> Result<(), Failure> {
    let decimals = precision.unwrap_or(DEFAULT_PRECISION);
    match (verb, value) {
        ('s', value) => return write_text(context, output, value),
        ('d', Val::Int(value)) => write!(output, "{value}"),
        ('d', Val::Uint(value)) => write!(output, "{value}"),
        ('d', Val::Double(value)) if !value.is_finite() => write!(output, "{}", non_finite(*value)),
        ('f', value) => match number(value) {
            Some(value) if value.is_finite() => write!(output, "{value:.decimals$}"),
            Some(value) => write!(output, "{}", non_finite(value)),
            None => return Err(unsupported(template, verb, value)),
        },
        ('e', value) => match number(value) {
            Some(value) if value.is_finite() => write!(output, "{}", scientific(value, decimals)),
            Some(value) => write!(output, "{}", non_finite(value)),
            None => return Err(unsupported(template, verb, value)),
        },
        ('b', Val::Bool(value)) => write!(output, "{}", u8::from(*value)),
        ('b', Val::Uint(value)) => write!(output, "{value:b}"),
        ('b', Val::Int(value)) => write!(output, "{}{:b}", sign(*value), value.unsigned_abs()),
        ('o', Val::Uint(value)) => write!(output, "{value:o}"),
        ('o', Val::Int(value)) => write!(output, "{}{:o}", sign(*value), value.unsigned_abs()),
        ('x', Val::Uint(value)) => write!(output, "{value:x}"),
        ('x', Val::Int(value)) => write!(output, "{}{:x}", sign(*value), value.unsigned_abs()),
        ('X', Val::Uint(value)) => write!(output, "{value:X}"),
        ('X', Val::Int(value)) => write!(output, "{}{:X}", sign(*value), value.unsigned_abs()),
        ('x' | 'X', Val::String(value)) => return write_hex(context, output, value.as_bytes(), verb),
        ('x' | 'X', Val::Bytes(value)) => return write_hex(context, output, value, verb),
        (_, value) => return Err(unsupported(template, verb, value)),
    }
    .map_err(|_| EvalError::invalid("format", template, "the value cannot be written"))
}

/// Any value as text. Shared parts are written again each time, so every piece is paid for on its own.
fn write_text(context: &mut Context<'_, '_>, output: &mut String, value: &Val) -> Result<(), Failure> {
    context.meter.charge(1)?;
    match value {
        Val::Null => output.push_str("null"),
        Val::String(value) => {
            context.meter.charge_text(value.len())?;
            output.push_str(value);
        }
        Val::Bytes(value) => {
            context.meter.charge_text(value.len())?;
            output.push_str(&String::from_utf8_lossy(value));
        }
        Val::Double(value) if !value.is_finite() => output.push_str(non_finite(*value)),
        Val::Double(value) => output.push_str(&text::double(*value)),
        Val::Uint(value) => output.push_str(&value.to_string()),
        Val::List(elements) => {
            output.push('[');
            for (place, element) in elements.iter().enumerate() {
                if place > 0 {
                    output.push_str(", ");
                }
                write_text(context, output, element)?;
            }
            output.push(']');
        }
        Val::Map(map) => {
            output.push('{');
            for (place, (key, value)) in map.entries().iter().enumerate() {
                if place > 0 {
                    output.push_str(", ");
                }
                write_text(context, output, &key.to_val())?;
                output.push_str(": ");
                write_text(context, output, value)?;
            }
            output.push('}');
        }
        Val::Bool(_) | Val::Int(_) | Val::Timestamp(_) | Val::Duration(_) | Val::Type(_) => {
            output.push_str(&value.brief());
        }
        other => return Err(EvalError::no_such_overload("format %s", &[other])),
    }
    Ok(())
}

fn write_hex(
    context: &mut Context<'_, '_>,
    output: &mut String,
    bytes: &[u8],
    verb: char,
) -> Result<(), Failure> {
    context.meter.charge_text(bytes.len().saturating_mul(2))?;
    for byte in bytes {
        let written = if verb == 'x' {
            write!(output, "{byte:02x}")
        } else {
            write!(output, "{byte:02X}")
        };
        written.map_err(|_| EvalError::invalid("format", "%x", "the value cannot be written"))?;
    }
    Ok(())
}

fn number(value: &Val) -> Option<f64> {
    match value {
        Val::Double(value) => Some(*value),
        Val::Int(value) => Some(*value as f64),
        Val::Uint(value) => Some(*value as f64),
        _ => None,
    }
}

fn scientific(value: f64, decimals: usize) -> String {
    let plain = format!("{value:.decimals$e}");
    let Some((mantissa, exponent)) = plain.split_once('e') else {
        return plain;
    };
    let (sign, digits) = exponent
        .strip_prefix('-')
        .map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

fn non_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

fn sign(value: i64) -> &'static str {
    if value < 0 { "-" } else { "" }
}

fn unsupported(template: &str, verb: char, value: &Val) -> Failure {
    EvalError::invalid(
        "format",
        template,
        format!("%{verb} cannot show {}", value.brief()),
    )
}
