//! The one place that reads the clock. Everything else takes `now` as an argument.

use jiff::Timestamp;

/// `--now`, or the time it is.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the time comes from"
)]
pub(crate) fn now_or(given: Option<Timestamp>) -> Timestamp {
    given.unwrap_or_else(Timestamp::now)
}

/// Reads the value of `--now`.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| "not a time; accepted: RFC 3339, such as 2026-01-31T08:00:00Z".to_owned())
}
