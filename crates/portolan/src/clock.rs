//! The one place that reads the clock. Everything else takes `now` as an argument.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use portolan_api::{duration, spelling};

/// `--now`, or the time it is.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the time comes from"
)]
pub(crate) fn now_or(given: Option<Timestamp>) -> Timestamp {
    given.unwrap_or_else(Timestamp::now)
}

/// The time it is.
pub(crate) fn now() -> Timestamp {
    now_or(None)
}

/// What a clock on the wall shows at that time.
pub(crate) fn of_day(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// Reads a length of time such as `90s`.
pub(crate) fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    duration::parse(text).map_err(|error| {
        // The value of a flag without a unit is most likely in seconds.
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let accepted = match is_number {
            true => format!("{text}s; durations are {}", duration::DURATION),
            false => spelling::accepted_duration(text, duration::DURATION),
        };
        format!("{error}; accepted: {accepted}")
    })
}

/// Reads the value of `--now`.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| "not a time; accepted: RFC 3339, such as 2026-01-31T08:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_that_is_refused_is_answered_with_the_one_that_is_meant() {
        for (text, meant) in [("2d", "48h"), ("5", "5s")] {
            let error = parse_duration(text).unwrap_err();
            assert!(
                error.contains(&format!("accepted: {meant}; durations are")),
                "{error}"
            );
        }
    }
}
