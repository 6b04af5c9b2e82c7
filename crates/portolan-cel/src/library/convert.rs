//! Conversions between the basic types. A value that has no exact counterpart is an error, never a guess.

use super::time::{Duration, Timestamp};
use super::{
    BOOL, BYTES, DOUBLE, DURATION, Function, INT, Outcome, STRING, TIMESTAMP, UINT, global, mismatch, text,
};
use crate::context::Context;
use crate::error::{EvalError, Failure};
use crate::types::{Kind, Shape};
use crate::value::Val;

pub(super) const FUNCTIONS: &[Function] = &[
    global("int", &[INT], INT, to_int),
    global("int", &[UINT], INT, to_int),
    global("int", &[DOUBLE], INT, to_int),
    global("int", &[STRING], INT, to_int),
    global("int", &[TIMESTAMP], INT, to_int),
    global("int", &[DURATION], INT, to_int),
    global("uint", &[UINT], UINT, to_uint),
    global("uint", &[INT], UINT, to_uint),
    global("uint", &[DOUBLE], UINT, to_uint),
    global("uint", &[STRING], UINT, to_uint),
    global("double", &[DOUBLE], DOUBLE, to_double),
    global("double", &[INT], DOUBLE, to_double),
    global("double", &[UINT], DOUBLE, to_double),
    global("double", &[STRING], DOUBLE, to_double),
    global("bool", &[BOOL], BOOL, to_bool),
    global("bool", &[STRING], BOOL, to_bool),
    global("bytes", &[BYTES], BYTES, to_bytes),
    global("bytes", &[STRING], BYTES, to_bytes),
    global("string", &[STRING], STRING, to_string),
    global("string", &[BOOL], STRING, to_string),
    global("string", &[INT], STRING, to_string),
    global("string", &[UINT], STRING, to_string),
    global("string", &[DOUBLE], STRING, to_string),
    global("string", &[BYTES], STRING, to_string),
    global("string", &[TIMESTAMP], STRING, to_string),
    global("string", &[DURATION], STRING, to_string),
    global("string", &[Shape::Is(Kind::Ip)], STRING, to_string),
    global("string", &[Shape::Is(Kind::Cidr)], STRING, to_string),
    global("timestamp", &[TIMESTAMP], TIMESTAMP, to_timestamp),
    global("timestamp", &[STRING], TIMESTAMP, to_timestamp),
    global("timestamp", &[INT], TIMESTAMP, to_timestamp),
    global("duration", &[DURATION], DURATION, to_duration),
    global("duration", &[STRING], DURATION, to_duration),
    global("duration", &[INT], DURATION, to_duration),
];

fn to_int(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [value] = arguments else {
        return Err(mismatch("int", arguments));
    };
    let converted = match value {
        Val::Int(value) => Some(*value),
        Val::Uint(value) => i64::try_from(*value).ok(),
        Val::Double(value) => truncated(*value, i64::MIN as f64, i64::MAX as f64).map(|value| value as i64),
        Val::Timestamp(value) => Some(value.seconds()),
        Val::Duration(value) => Some(value.nanoseconds()),
        Val::String(value) => {
            context.meter.charge_text(value.len())?;
            return parsed("int", value).map(Val::Int);
        }
        _ => return Err(mismatch("int", arguments)),
    };
    converted.map(Val::Int).ok_or_else(|| out_of_range("int", value))
}

fn to_uint(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let [value] = arguments else {
        return Err(mismatch("uint", arguments));
    };
    let converted = match value {
        Val::Uint(value) => Some(*value),
        Val::Int(value) => u64::try_from(*value).ok(),
        Val::Double(value) if *value < 0.0 => None,
        Val::Double(value) => truncated(*value, -1.0, u64::MAX as f64).map(|value| value as u64),
        Val::String(value) => {
            context.meter.charge_text(value.len())?;
            return parsed("uint", value).map(Val::Uint);
        }
        _ => return Err(mismatch("uint", arguments)),
    };
    converted
        .map(Val::Uint)
        .ok_or_else(|| out_of_range("uint", value))
}

/// Bounds are exclusive: the doubles next to them are the last that convert without loss of range.
fn truncated(value: f64, above: f64, below: f64) -> Option<f64> {
    (value > above && value < below).then(|| value.trunc())
}

fn to_double(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [Val::Double(value)] => Ok(Val::Double(*value)),
        [Val::Int(value)] => Ok(Val::Double(*value as f64)),
        [Val::Uint(value)] => Ok(Val::Double(*value as f64)),
        [Val::String(value)] => {
            context.meter.charge_text(value.len())?;
            parsed("double", value).map(Val::Double)
        }
        _ => Err(mismatch("double", arguments)),
    }
}

fn to_bool(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [Val::Bool(value)] => Ok(Val::Bool(*value)),
        [Val::String(value)] => match value.as_ref() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => Err(EvalError::invalid("bool", value, "neither true nor false")),
        },
        _ => Err(mismatch("bool", arguments)),
    }
}

fn to_bytes(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [Val::Bytes(value)] => Ok(Val::Bytes(value.clone())),
        [Val::String(value)] => {
            context.meter.charge_text(value.len())?;
            Ok(Val::Bytes(value.as_bytes().into()))
        }
        _ => Err(mismatch("bytes", arguments)),
    }
}

fn to_string(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    let text = match arguments {
        [Val::String(value)] => return Ok(Val::String(value.clone())),
        [Val::Bool(value)] => value.to_string(),
        [Val::Int(value)] => value.to_string(),
        [Val::Uint(value)] => value.to_string(),
        [Val::Double(value)] => text::double(*value),
        [Val::Timestamp(value)] => value.to_string(),
        [Val::Duration(value)] => value.to_string(),
        [Val::Ip(value)] => value.to_string(),
        [Val::Cidr(value)] => value.to_string(),
        [Val::Bytes(value)] => {
            context.meter.charge_text(value.len())?;
            match std::str::from_utf8(value) {
                Ok(text) => text.to_owned(),
                Err(_) => return Err(EvalError::invalid("string", "bytes", "not valid UTF-8")),
            }
        }
        _ => return Err(mismatch("string", arguments)),
    };
    Ok(Val::string(text))
}

fn to_timestamp(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [Val::Timestamp(value)] => Ok(Val::Timestamp(*value)),
        [Val::Int(seconds)] => {
            let time = Timestamp::from_seconds(*seconds).map(Val::Timestamp);
            time.ok_or_else(|| out_of_range("timestamp", &Val::Int(*seconds)))
        }
        [Val::String(value)] => {
            context.meter.charge_text(value.len())?;
            let time = Timestamp::parse(value).map(Val::Timestamp);
            time.ok_or_else(|| {
                EvalError::invalid(
                    "timestamp",
                    value,
                    "not an RFC 3339 time such as 2024-01-31T12:00:00Z",
                )
            })
        }
        _ => Err(mismatch("timestamp", arguments)),
    }
}

fn to_duration(context: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [Val::Duration(value)] => Ok(Val::Duration(*value)),
        [Val::Int(nanoseconds)] => Ok(Val::Duration(Duration::from_nanoseconds(*nanoseconds))),
        [Val::String(value)] => {
            context.meter.charge_text(value.len())?;
            let span = Duration::parse(value).map(Val::Duration);
            span.ok_or_else(|| EvalError::invalid("duration", value, "not a duration such as 1h30m or 10s"))
        }
        _ => Err(mismatch("duration", arguments)),
    }
}

fn parsed<T: std::str::FromStr>(function: &'static str, text: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|_| EvalError::invalid(function, text, "not a number in range"))
}

fn out_of_range(function: &'static str, value: &Val) -> Failure {
    EvalError::invalid_value(function, value.brief(), "out of range".to_owned())
}
