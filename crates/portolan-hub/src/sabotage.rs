//! Switches that break one rule of authorization each, so that a test can show that the table of authorization notices.
//!
//! They exist in the crate's own tests only: outside of `cfg(test)` every question is answered "no" at compile time.

/// A rule of authorization, and how the switch breaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Requests are served without a look at the roles.
    RolesAreAsked,
    /// A subresource is authorized as the object that it is a part of.
    SubresourcesApart,
    /// A role for some names is one for all names.
    NamesCount,
    /// A request at the cluster scope is authorized in the namespace of its name.
    ScopesCount,
    /// An update and an apply make a missing object without the right to create.
    CreationIsAsked,
    /// The field selector names what every verb is authorized for.
    SelectorsNameLists,
    /// A watch is authorized as a list.
    WatchIsAVerb,
    /// Parts of a path that are empty are left out of it.
    PathsAreWhole,
    /// Reviews are answered as if they were asked by an administrator.
    ReviewsSayTheSame,
}

/// Whether the running test asked for `rule` to be broken.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn sabotaged(_rule: Rule) -> bool {
    false
}

#[cfg(test)]
thread_local! {
    static BROKEN: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

/// Whether the running test asked for `rule` to be broken.
#[cfg(test)]
pub(crate) fn sabotaged(rule: Rule) -> bool {
    BROKEN.with(|broken| broken.get() == Some(rule))
}

/// From now on `rule` is broken on this thread, or none is.
#[cfg(test)]
pub(crate) fn break_rule(rule: Option<Rule>) {
    BROKEN.with(|broken| broken.set(rule));
}
