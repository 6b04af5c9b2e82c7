//! Switches that break one rule of the agent each, so that a test can show that its check notices.
//!
//! They exist in the crate's own tests only: outside of `cfg(test)` every question is answered "no" at compile time.

portolan_api::sabotage! {
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
    /// A work may have the record of another work, or the definition of records.
    RecordsReserved,
    /// A work counts for an object that it only looks at, or was refused and has never applied.
    AskingIsNotOwning,
    /// A work that was not judged yet counts as an owner of what it asks for.
    JudgeFirst,
    /// The Lease is renewed after a task of the agent died.
    DeadAgentIsSilent,
}

/// What goes wrong with a task, in a test.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The loop panics.
    Panics,
    /// The loop waits for something that never comes.
    StandsStill,
    /// One of the loop's writes panics.
    WritePanics,
}

#[cfg(test)]
thread_local! {
    static FAULT: std::cell::Cell<Option<(&'static str, Fault)>> = const { std::cell::Cell::new(None) };
}

/// From now on the loop of this name has the fault, on this thread.
#[cfg(test)]
pub(crate) fn set_fault(name: &'static str, fault: Fault) {
    FAULT.with(|set| set.set(Some((name, fault))));
}

/// No loop has a fault from now on, on this thread.
#[cfg(test)]
pub(crate) fn clear_fault() {
    FAULT.with(|set| set.set(None));
}

/// Where a loop turns. Does nothing outside of tests.
pub(crate) async fn at_turn(_name: &str) {
    #[cfg(test)]
    match FAULT.with(std::cell::Cell::get) {
        Some((name, Fault::Panics)) if name == _name => panic!("as the test asked"),
        Some((name, Fault::StandsStill)) if name == _name => std::future::pending().await,
        _ => {}
    }
}

/// Where a write of a loop begins. Does nothing outside of tests.
pub(crate) fn at_write(_name: &str) {
    #[cfg(test)]
    if FAULT.with(std::cell::Cell::get) == Some((_name, Fault::WritePanics)) {
        panic!("as the test asked");
    }
}
