//! Helpers for functions over text. Positions in CEL strings count code points, not bytes.

use crate::error::{EvalError, Failure};
use crate::value::Val;

/// Number of code points.
pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

/// The byte offset of the code point with this index; the length itself is the end.
pub(crate) fn offset(text: &str, index: usize) -> Option<usize> {
    text.char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .nth(index)
}

/// A position argument as a byte offset, or an error when it is outside the text.
pub(crate) fn position(function: &'static str, text: &str, index: i64) -> Result<usize, Failure> {
    let found = usize::try_from(index).ok().and_then(|index| offset(text, index));
    found.ok_or_else(|| {
        EvalError::invalid_value(
            function,
            index.to_string(),
            format!("index out of range 0 to {}", length(text)),
        )
    })
}

/// The same for functions that search from a position: behind the end there is nothing to find, which is no error.
pub(crate) fn position_or_end(function: &'static str, text: &str, index: i64) -> Result<usize, Failure> {
    match usize::try_from(index) {
        Ok(index) => Ok(offset(text, index).unwrap_or(text.len())),
        Err(_) => position(function, text, index),
    }
}

/// The code-point index of a byte offset.
pub(crate) fn index_of_offset(text: &str, offset: usize) -> Val {
    Val::Int(i64::try_from(length(&text[..offset])).unwrap_or(i64::MAX))
}

/// A double in the shortest form that reads back the same, with an exponent for large and small values.
pub(crate) fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        // The bounds are those of Go's %g, whose output users compare with.
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => format!("{value}"),
    }
}
