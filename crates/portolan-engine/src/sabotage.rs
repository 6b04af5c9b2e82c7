//! Switches that break one rule of the design each, so that a test can show that its check notices.
//!
//! They exist in the crate's own tests only: outside of `cfg(test)` every question is answered "no" at compile time.

portolan_api::sabotage! {
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
