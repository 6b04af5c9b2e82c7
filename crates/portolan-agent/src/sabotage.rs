//! Switches that break one rule of the agent each, so that a test can show that its check notices.
//!
//! They exist in the crate's own tests only: outside of `cfg(test)` every question is answered "no" at compile time.

/// A rule that the agent must hold, and how the switch breaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Objects are removed before all works are known.
    KnowAllFirst,
    /// A work that is not on the hub any more counts as deleted.
    LostIsNotDeleted,
    /// What another work or record has is removed all the same.
    SharedStays,
    /// An object that somebody else made under the same name is removed.
    OnlyTheVeryObject,
    /// An older copy of a work counts as an edit.
    HubWentBack,
    /// Objects are applied before they are written down.
    RecordFirst,
    /// Objects are applied before the work waits for the agent.
    HoldFirst,
    /// Works of all namespaces of the hub are looked at.
    OwnNamespaceOnly,
    /// A work that goes with the definition of its kind counts as deleted.
    DefinitionIsNoDeletion,
    /// An object is dealt with by others while a work may remove it.
    RemoveAlone,
    /// An object is removed because the record lists it, though it does not name the record as its owner.
    NamedIsLicence,
    /// An object stays in the record although the member cluster refused it.
    RefusedIsForgotten,
    /// An object that stays goes on naming a record that goes.
    StaysUnowned,
    /// A work is applied without asking whether its executor may do that.
    AskFirst,
    /// Objects are applied for a work that another agent has let go meanwhile.
    AskAfterRecord,
    /// What an executor may not read is read for it.
    ExecutorReads,
    /// Half an executor is none, and the agent itself takes its place.
    WholeExecutor,
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
