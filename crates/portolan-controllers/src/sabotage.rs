//! Switches that break one rule of the design each, so that a test can show that its check notices.
//!
//! They exist in the crate's own tests only: outside of `cfg(test)` every question is answered "no" at compile time.

portolan_api::sabotage! {
    /// Rule 1: the phases of a plan are carried out last to first.
    NoGap,
    /// Rule 2: decisions are made before everything is known.
    NeverDestroyOnDoubt,
    /// Rule 2: what a kind that has only just come does not have counts as deleted.
    MissingIsNotGone,
    /// Rule 2: an object that cannot be read counts as one that is not there.
    UnreadableIsNotAbsent,
    /// Rule 2: a cluster that cannot be reached loses its works as one that nobody wants does.
    SilentIsNotUnwanted,
    /// Rule 3: a status is written though it is what is there.
    UnchangedUntouched,
    /// Rule 7: what a work reports counts, whatever generation it is about.
    ObservedNotAssumed,
    /// A replica set makes works for clusters that no set bound to its namespace has.
    BoundClustersOnly,
    /// A soak and a time to live count from what a member's clock says.
    CountFromWhatTheHubSaw,
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
    /// Each evaluation of the loop takes 40 seconds.
    EvaluationsAreSlow,
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

/// Where a loop turns. Does nothing outside of tests.
pub(crate) async fn at_turn(_name: &str) {
    #[cfg(test)]
    match FAULT.with(std::cell::Cell::get) {
        Some((name, Fault::Panics)) if name == _name => panic!("as the test asked"),
        Some((name, Fault::StandsStill)) if name == _name => std::future::pending().await,
        _ => {}
    }
}

/// Where an evaluation of a loop ends. Does nothing outside of tests.
pub(crate) async fn after_evaluation(_name: &str) {
    #[cfg(test)]
    if FAULT.with(std::cell::Cell::get) == Some((_name, Fault::EvaluationsAreSlow)) {
        tokio::time::sleep(std::time::Duration::from_secs(40)).await;
    }
}

/// Where a write of a loop begins. Does nothing outside of tests.
pub(crate) fn at_write(_name: &str) {
    #[cfg(test)]
    if FAULT.with(std::cell::Cell::get) == Some((_name, Fault::WritePanics)) {
        panic!("as the test asked");
    }
}
