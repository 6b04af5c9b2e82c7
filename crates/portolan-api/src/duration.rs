//! The two ways in which our APIs write a length of time.

use std::time::Duration;

/// A text that is no length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not of the form the field takes.
    #[error("not a duration")]
    Syntax,
    /// Below zero.
    #[error("a negative duration")]
    Negative,
    /// More than can be counted.
    #[error("a duration that is too long")]
    TooLong,
}

/// What [`parse`] takes, for errors.
pub const DURATION: &str = "numbers with a unit of h, m, s, ms, us or ns, such as 90s or 1h30m";

/// What [`parse_simple`] takes, for errors.
pub const SIMPLE_DURATION: &str = "digits followed by h, m or s, such as 2h, 90m or 360s";

/// Longest duration that is taken: what a signed 64-bit count of nanoseconds can hold, as in Go.
const MAX_NANOS: u128 = i64::MAX as u128;

/// A Go duration such as `90s` or `1h30m`, as in `minSuccessTime`. `0` needs no unit.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    if text.starts_with('-') {
        return Err(DurationError::Negative);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(DurationError::Syntax);
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let (nanos, after) = part(rest)?;
        total = total
            .checked_add(nanos)
            .filter(|total| *total <= MAX_NANOS)
            .ok_or(DurationError::TooLong)?;
        rest = after;
    }
    let seconds = u64::try_from(total / 1_000_000_000).map_err(|_| DurationError::TooLong)?;
    Ok(Duration::new(seconds, (total % 1_000_000_000) as u32))
}

/// Digits and one of `h`, `m`, `s`, as in `scoreRateLimit`.
pub fn parse_simple(text: &str) -> Result<Duration, DurationError> {
    let digits = text.strip_suffix(['h', 'm', 's']).ok_or(DurationError::Syntax)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DurationError::Syntax);
    }
    parse(text)
}

/// A deadline as in `progressDeadline` and `timeout`: a Go duration that begins with digits and ends with a unit, or
/// `None` (or nothing) for no limit. The definition's pattern is looser still, and OCM reads what passes it as Go does.
pub fn parse_deadline(text: &str) -> Result<Option<Duration>, DurationError> {
    match text {
        "" | "None" => Ok(None),
        text if text.starts_with(|c: char| c.is_ascii_digit()) && text != "0" => parse(text).map(Some),
        _ => Err(DurationError::Syntax),
    }
}

/// One number with its unit at the start of the text, in nanoseconds, and what comes after it.
fn part(text: &str) -> Result<(u128, &str), DurationError> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at(digits(text));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError::Syntax);
    }
    let (unit, rest) = unit(rest).ok_or(DurationError::Syntax)?;
    let too_long = |_| DurationError::TooLong;
    let whole: u128 = if whole.is_empty() {
        0
    } else {
        whole.parse().map_err(too_long)?
    };
    let mut nanos = whole.checked_mul(unit).ok_or(DurationError::TooLong)?;
    let mut scale = unit;
    for digit in fraction.bytes().map(|byte| u128::from(byte - b'0')) {
        nanos += digit * scale / 10;
        scale /= 10;
    }
    Ok((nanos, rest))
}

fn unit(text: &str) -> Option<(u128, &str)> {
    const UNITS: &[(&str, u128)] = &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    UNITS.iter().find_map(|(name, nanos)| {
        let rest = text.strip_prefix(name)?;
        let ends = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') || rest.is_empty();
        ends.then_some((*nanos, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_read() {
        let cases = [
            ("0", 0),
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            (".5s", 500),
            ("250ms", 250),
            ("+2m", 120_000),
            ("1h0m0.001s", 3_600_001),
        ];
        for (text, millis) in cases {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "5", "50min", "2d", "h", "1h ", "5|", "1,5h", "1hh", "m5"] {
            assert_eq!(parse(text), Err(DurationError::Syntax), "{text}");
        }
        assert_eq!(parse("-1s"), Err(DurationError::Negative));
        for text in ["9999999999h", "99999999999999999999999999999999999999999999h"] {
            assert_eq!(parse(text), Err(DurationError::TooLong), "{text}");
        }
    }

    #[test]
    fn a_deadline_is_a_go_duration_or_none() {
        assert_eq!(parse_deadline("None"), Ok(None));
        assert_eq!(parse_deadline("360s"), Ok(Some(Duration::from_secs(360))));
        assert_eq!(parse_deadline("1h30m"), Ok(Some(Duration::from_secs(5400))));
        assert_eq!(parse_deadline("10ms"), Ok(Some(Duration::from_millis(10))));
        for text in ["50min", "2d", "0", "5|", "none", "+5s"] {
            assert_eq!(parse_deadline(text), Err(DurationError::Syntax), "{text}");
        }
    }
}
