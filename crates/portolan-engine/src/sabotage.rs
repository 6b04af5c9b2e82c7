//! Switches that break one rule of the design each, so that a test can show that its check notices.
//!
//! They exist in the crate's own tests only: outside of `cfg(test)` every question is answered "no" at compile time.

/// A rule of the design that the engine owns, and how the switch breaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Rule 1: the plan shrinks before it grows.
    NoGap,
    /// Rule 2: a placement that is misconfigured or costs too much gives up its last decision.
    NeverDestroyOnDoubt,
    /// Rule 3: an equal answer is written again.
    UnchangedUntouched,
    /// Rule 4: a surge puts more than 100 entries into one slice.
    SliceLimit,
    /// Rule 5: a rejected cluster has an empty reason.
    EveryRejectionHasAReason,
    /// Rule 6: a bad value is taken for a default instead of being reported.
    BadInputIsReported,
    /// Rule 8: scores are rounded instead of truncated.
    ExactNumbers,
}

/// Whether the running test asked for `rule` to be broken.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn broken(_rule: Rule) -> bool {
    false
}

#[cfg(test)]
thread_local! {
    static BROKEN: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

/// Whether the running test asked for `rule` to be broken.
#[cfg(test)]
pub(crate) fn broken(rule: Rule) -> bool {
    BROKEN.with(|broken| broken.get() == Some(rule))
}

/// Runs `body` with `rule` broken on this thread.
#[cfg(test)]
pub(crate) fn with_broken<T>(rule: Rule, body: impl FnOnce() -> T) -> T {
    BROKEN.with(|broken| broken.set(Some(rule)));
    let result = body();
    BROKEN.with(|broken| broken.set(None));
    result
}
