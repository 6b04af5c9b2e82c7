//! Ages and durations as kubectl shows them: `45s`, `5m12s`, `3d4h`, `2y30d`.

use jiff::Timestamp;
use serde_json::Value;

/// What stands where no time is known.
pub(super) const UNKNOWN: &str = "<unknown>";

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A duration in seconds with the two largest units that matter. A second in the future is taken for clock skew.
fn human_duration(seconds: i64) -> String {
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit}{small}{small_unit}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s / MINUTE, "m", s % MINUTE, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s / HOUR, "h", s % HOUR / MINUTE, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s / DAY, "d", s % DAY / HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s / YEAR, "y", s % YEAR / DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

/// How long ago `time` (an RFC 3339 string) was at `now`.
pub(super) fn age(time: Option<&Value>, now: Timestamp) -> String {
    match time.and_then(Value::as_str) {
        None | Some("") => UNKNOWN.to_owned(),
        Some(text) => text
            .parse()
            .map_or_else(|_| "<invalid>".to_owned(), |time| between(time, now)),
    }
}

/// The time from `start` to `end`; whole seconds, cut off towards zero.
pub(super) fn between(start: Timestamp, end: Timestamp) -> String {
    human_duration(end.duration_since(start).as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shortened_as_kubectl_shortens_them() {
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (1, "1s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (5 * MINUTE + 12, "5m12s"),
            (10 * MINUTE - 1, "9m59s"),
            (10 * MINUTE + 12, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 5 * MINUTE, "3h5m"),
            (8 * HOUR - 1, "7h59m"),
            (8 * HOUR + MINUTE, "8h"),
            (2 * DAY - 1, "47h"),
            (2 * DAY, "2d"),
            (3 * DAY + 4 * HOUR, "3d4h"),
            (8 * DAY - 1, "7d23h"),
            (8 * DAY, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + 30 * DAY, "2y30d"),
            (8 * YEAR - 1, "7y364d"),
            (8 * YEAR + 30 * DAY, "8y"),
            (i64::MAX, "292471208677y"),
        ] {
            assert_eq!(human_duration(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn an_age_needs_a_time() {
        let now: Timestamp = "2026-11-15T00:05:12Z".parse().unwrap();
        for (time, expected) in [
            (Some(Value::from("2026-11-15T00:00:00Z")), "5m12s"),
            (Some(Value::from("2026-11-15T00:05:12.900000Z")), "0s"),
            (Some(Value::from("2026-11-15T01:00:00Z")), "<invalid>"),
            (Some(Value::from("yesterday")), "<invalid>"),
            (Some(Value::from("")), UNKNOWN),
            (Some(Value::Null), UNKNOWN),
            (None, UNKNOWN),
        ] {
            assert_eq!(age(time.as_ref(), now), expected, "{time:?}");
        }
    }
}
