//! How long a placement rests after its writes failed.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use portolan_engine::placement::PlacementKey;

/// Why writes failed, as far as the wait goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Someone else was faster. What they wrote is about to arrive.
    Conflict,
    /// The server did not do it, and may do it later.
    Error,
}

impl Severity {
    /// As in the results of requests.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Severity::Conflict => "conflict",
            Severity::Error => "error",
        }
    }
}

const FIRST_AFTER_CONFLICT: SignedDuration = SignedDuration::from_millis(20);
const FIRST_AFTER_ERROR: SignedDuration = SignedDuration::from_millis(250);

/// Placements that rest.
#[derive(Debug)]
pub(crate) struct Backoff {
    resting: BTreeMap<PlacementKey, Rest>,
    longest: SignedDuration,
}

#[derive(Clone, Copy, Debug)]
struct Rest {
    until: Timestamp,
    last: SignedDuration,
}

impl Backoff {
    pub(crate) fn new(longest: SignedDuration) -> Backoff {
        Backoff {
            resting: BTreeMap::new(),
            longest,
        }
    }

    /// Each failure in a row doubles the wait.
    pub(crate) fn failed(&mut self, key: &PlacementKey, severity: Severity, now: Timestamp) -> Timestamp {
        let first = match severity {
            Severity::Conflict => FIRST_AFTER_CONFLICT,
            Severity::Error => FIRST_AFTER_ERROR,
        };
        let last = self.resting.get(key).map(|rest| rest.last);
        let wait = last
            .map_or(first, |last| last.saturating_mul(2).max(first))
            .min(self.longest);
        let until = now.checked_add(wait).unwrap_or(now);
        self.resting.insert(key.clone(), Rest { until, last: wait });
        until
    }

    pub(crate) fn succeeded(&mut self, key: &PlacementKey) {
        self.resting.remove(key);
    }

    pub(crate) fn rests(&self, key: &PlacementKey, now: Timestamp) -> bool {
        self.resting.get(key).is_some_and(|rest| rest.until > now)
    }

    /// When the first of those that rest at `now` is ready again.
    pub(crate) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let ends = self.resting.values().map(|rest| rest.until);
        ends.filter(|until| *until > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_start_over_after_success() {
        let mut backoff = Backoff::new(SignedDuration::from_secs(1));
        let (key, now) = (PlacementKey::new("n", "p"), Timestamp::UNIX_EPOCH);
        let mut waits = Vec::new();
        for _ in 0..4 {
            waits.push(backoff.failed(&key, Severity::Error, now).as_millisecond());
        }
        assert_eq!(waits, [250, 500, 1000, 1000]);
        assert!(backoff.rests(&key, now));
        backoff.succeeded(&key);
        assert!(!backoff.rests(&key, now));
        assert_eq!(backoff.failed(&key, Severity::Conflict, now).as_millisecond(), 20);
        assert_eq!(backoff.next(now).unwrap().as_millisecond(), 20);
    }
}
