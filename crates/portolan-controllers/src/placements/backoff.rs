//! How long a placement rests after its writes failed, by the monotonic clock.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_engine::placement::PlacementKey;
use tokio::time::Instant;

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

const FIRST_AFTER_CONFLICT: Duration = Duration::from_millis(20);
const FIRST_AFTER_ERROR: Duration = Duration::from_millis(250);

/// Placements that rest.
#[derive(Debug)]
pub(crate) struct Backoff {
    resting: BTreeMap<PlacementKey, Rest>,
    /// The ends of the rests that have not ended, the earliest first.
    ends: BTreeSet<(Instant, PlacementKey)>,
    longest: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Rest {
    until: Instant,
    last: Duration,
}

impl Backoff {
    pub(crate) fn new(longest: Duration) -> Backoff {
        Backoff {
            resting: BTreeMap::new(),
            ends: BTreeSet::new(),
            longest,
        }
    }

    /// Each failure in a row doubles the wait.
    pub(crate) fn failed(&mut self, key: &PlacementKey, severity: Severity, now: Instant) -> Instant {
        let first = match severity {
            Severity::Conflict => FIRST_AFTER_CONFLICT,
            Severity::Error => FIRST_AFTER_ERROR,
        };
        let before = self.resting.get(key).copied();
        let wait = before
            .map_or(first, |rest| rest.last.saturating_mul(2).max(first))
            .min(self.longest);
        let until = now + wait;
        self.succeeded(key);
        self.resting.insert(key.clone(), Rest { until, last: wait });
        self.ends.insert((until, key.clone()));
        until
    }

    pub(crate) fn succeeded(&mut self, key: &PlacementKey) {
        if let Some(rest) = self.resting.remove(key) {
            self.ends.remove(&(rest.until, key.clone()));
        }
    }

    pub(crate) fn rests(&self, key: &PlacementKey, now: Instant) -> bool {
        self.resting.get(key).is_some_and(|rest| rest.until > now)
    }

    /// A placement whose rest has ended at `now`. Each is returned once for each rest.
    pub(crate) fn wake(&mut self, now: Instant) -> Option<PlacementKey> {
        let is_over = self.ends.first().is_some_and(|(until, _)| *until <= now);
        let (_, key) = is_over.then(|| self.ends.pop_first()).flatten()?;
        Some(key)
    }

    /// When the first of those that rest at `now` is ready again.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        let mut ends = self.ends.iter().map(|(until, _)| *until);
        ends.find(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_start_over_after_success() {
        let mut backoff = Backoff::new(Duration::from_secs(1));
        let (key, now) = (PlacementKey::new("n", "p"), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..4 {
            waits.push((backoff.failed(&key, Severity::Error, now) - now).as_millis());
        }
        assert_eq!(waits, [250, 500, 1000, 1000]);
        assert!(backoff.rests(&key, now));
        backoff.succeeded(&key);
        assert!(!backoff.rests(&key, now));
        let until = now + Duration::from_millis(20);
        assert_eq!(backoff.failed(&key, Severity::Conflict, now), until);
        assert_eq!(backoff.next(now), Some(until));
    }

    #[test]
    fn each_rest_ends_once_and_a_success_ends_it_without_a_word() {
        let mut backoff = Backoff::new(Duration::from_secs(1));
        let (first, second, now) = (
            PlacementKey::new("n", "p"),
            PlacementKey::new("n", "q"),
            Instant::now(),
        );
        let until = backoff.failed(&first, Severity::Error, now);
        backoff.failed(&second, Severity::Error, now);
        backoff.succeeded(&second);
        assert_eq!(backoff.wake(now), None);
        assert_eq!(backoff.wake(until), Some(first.clone()));
        assert_eq!(backoff.wake(until), None);
        // The wait still doubles.
        assert_eq!(
            backoff.failed(&first, Severity::Error, until) - until,
            Duration::from_millis(500)
        );
    }
}
