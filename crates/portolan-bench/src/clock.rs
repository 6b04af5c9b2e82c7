//! The one place of this program that reads a clock.

use std::time::Instant;

use jiff::Timestamp;

/// The time that durations are measured from.
#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The time of day, for objects and for the controllers.
#[expect(
    clippy::disallowed_methods,
    reason = "the program is where the time comes from"
)]
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::now()
}

/// The nanoseconds that `work` takes, and its result.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let start = now();
    let result = work();
    (
        u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
        result,
    )
}
