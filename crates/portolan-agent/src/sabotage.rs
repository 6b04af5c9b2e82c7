//! Switches that break one rule of the design each, so that a test can show that its check notices.
//!
//! They exist in the crate's own tests only: outside of `cfg(test)` every question is answered "no" at compile time.

/// A rule of the design that the agent has a part in, and how the switch breaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Rule 2: a work that goes with its definition counts as deleted.
    DefinitionIsNoDeletion,
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
