//! What a client may ask of a watch.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::call::Call;
use super::status::{Answer, Failure};
use crate::schema::FieldError;

/// Kubernetes picks between half an hour and an hour; clients come back on their own.
const LONGEST: Duration = Duration::from_secs(30 * 60);

const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Whether the client asks for the initial objects as events, and how the end of them is told.
pub(super) fn is_streaming(call: &Call) -> Answer<bool> {
    let streaming = matches!(call.query.get("sendInitialEvents"), Some("true" | "1"));
    if streaming && call.query.get("resourceVersionMatch") != Some("NotOlderThan") {
        let error = FieldError::forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch must be \"NotOlderThan\" when sendInitialEvents is set",
        );
        return Err(Failure::invalid_options("ListOptions", &error));
    }
    Ok(streaming)
}

/// When bookmarks are due, if the client asks for them.
pub(super) fn bookmarks(call: &Call, now: Instant) -> Option<Interval> {
    let asked = call.query.get("allowWatchBookmarks")?;
    matches!(asked, "true" | "1").then(|| {
        let mut ticks = interval_at(now + BOOKMARK_EVERY, BOOKMARK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    })
}

/// How long the watch lasts.
pub(super) fn longest(call: &Call) -> Answer<Duration> {
    match call.query.number("timeoutSeconds")? {
        Some(seconds) if i64::try_from(seconds).is_err() => Err(Failure::bad_request(format!(
            "strconv.ParseInt: parsing \"{seconds}\": value out of range: timeoutSeconds is a 64-bit integer"
        ))),
        // No clock can count beyond it, and no connection lasts that long.
        Some(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds).min(A_YEAR)),
        _ => Ok(LONGEST),
    }
}
