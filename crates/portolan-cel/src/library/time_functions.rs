//! Accessors of timestamps and durations. Zones are UTC or a numeric offset; named zones would need a database.

use super::time::{Civil, parse_offset};
use super::{DURATION, Function, INT, Outcome, STRING, TIMESTAMP, member, mismatch};
use crate::error::{EvalError, Failure};
use crate::eval::Context;
use crate::value::Val;

pub(super) const FUNCTIONS: &[Function] = &[
    member("getFullYear", &[TIMESTAMP], INT, |_, arguments| {
        civil("getFullYear", arguments, |at| at.year)
    }),
    member("getFullYear", &[TIMESTAMP, STRING], INT, |_, arguments| {
        civil("getFullYear", arguments, |at| at.year)
    }),
    member("getMonth", &[TIMESTAMP], INT, |_, arguments| {
        civil("getMonth", arguments, |at| at.month - 1)
    }),
    member("getMonth", &[TIMESTAMP, STRING], INT, |_, arguments| {
        civil("getMonth", arguments, |at| at.month - 1)
    }),
    member("getDate", &[TIMESTAMP], INT, |_, arguments| {
        civil("getDate", arguments, |at| at.day)
    }),
    member("getDate", &[TIMESTAMP, STRING], INT, |_, arguments| {
        civil("getDate", arguments, |at| at.day)
    }),
    member("getDayOfMonth", &[TIMESTAMP], INT, |_, arguments| {
        civil("getDayOfMonth", arguments, |at| at.day - 1)
    }),
    member("getDayOfMonth", &[TIMESTAMP, STRING], INT, |_, arguments| {
        civil("getDayOfMonth", arguments, |at| at.day - 1)
    }),
    member("getDayOfWeek", &[TIMESTAMP], INT, |_, arguments| {
        civil("getDayOfWeek", arguments, |at| at.weekday)
    }),
    member("getDayOfWeek", &[TIMESTAMP, STRING], INT, |_, arguments| {
        civil("getDayOfWeek", arguments, |at| at.weekday)
    }),
    member("getDayOfYear", &[TIMESTAMP], INT, |_, arguments| {
        civil("getDayOfYear", arguments, |at| at.day_of_year)
    }),
    member("getDayOfYear", &[TIMESTAMP, STRING], INT, |_, arguments| {
        civil("getDayOfYear", arguments, |at| at.day_of_year)
    }),
    member("getHours", &[TIMESTAMP], INT, |_, arguments| {
        civil("getHours", arguments, |at| at.hour)
    }),
    member("getHours", &[TIMESTAMP, STRING], INT, |_, arguments| {
        civil("getHours", arguments, |at| at.hour)
    }),
    member("getMinutes", &[TIMESTAMP], INT, |_, arguments| {
        civil("getMinutes", arguments, |at| at.minute)
    }),
    member("getMinutes", &[TIMESTAMP, STRING], INT, |_, arguments| {
        civil("getMinutes", arguments, |at| at.minute)
    }),
    member("getSeconds", &[TIMESTAMP], INT, |_, arguments| {
        civil("getSeconds", arguments, |at| at.second)
    }),
    member("getSeconds", &[TIMESTAMP, STRING], INT, |_, arguments| {
        civil("getSeconds", arguments, |at| at.second)
    }),
    member("getMilliseconds", &[TIMESTAMP], INT, milliseconds),
    member("getMilliseconds", &[TIMESTAMP, STRING], INT, milliseconds),
    member("getHours", &[DURATION], INT, |_, arguments| {
        span("getHours", arguments, 3_600_000_000_000)
    }),
    member("getMinutes", &[DURATION], INT, |_, arguments| {
        span("getMinutes", arguments, 60_000_000_000)
    }),
    member("getSeconds", &[DURATION], INT, |_, arguments| {
        span("getSeconds", arguments, 1_000_000_000)
    }),
    member("getMilliseconds", &[DURATION], INT, |_, arguments| {
        span("getMilliseconds", arguments, 1_000_000)
    }),
];

fn civil(function: &'static str, arguments: &[Val], part: fn(Civil) -> i64) -> Outcome {
    match arguments {
        [Val::Timestamp(time)] => Ok(Val::Int(part(time.civil(0)))),
        [Val::Timestamp(time), Val::String(zone)] => {
            Ok(Val::Int(part(time.civil(zone_offset(function, zone)?))))
        }
        _ => Err(mismatch(function, arguments)),
    }
}

fn milliseconds(_: &mut Context<'_, '_>, arguments: &[Val]) -> Outcome {
    match arguments {
        [Val::Timestamp(time), ..] => Ok(Val::Int(i64::from(time.nanos() / 1_000_000))),
        _ => Err(mismatch("getMilliseconds", arguments)),
    }
}

fn span(function: &'static str, arguments: &[Val], unit: i64) -> Outcome {
    match arguments {
        [Val::Duration(span)] => Ok(Val::Int(span.nanoseconds() / unit)),
        _ => Err(mismatch(function, arguments)),
    }
}

fn zone_offset(function: &'static str, zone: &str) -> Result<i64, Failure> {
    match zone {
        "" | "UTC" | "Z" => Ok(0),
        _ => parse_offset(zone).ok_or_else(|| {
            EvalError::invalid(function, zone, "zone must be UTC or an offset such as +02:00")
        }),
    }
}
