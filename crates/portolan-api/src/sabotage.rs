//! Switches that break one rule each, so that a test can show that the check of the rule notices.

/// Makes the rules of a crate: the enumeration `Rule`, `sabotaged(rule)` for the code that holds the rule, and, in the tests
/// of the crate, `with_sabotaged(rule, body)`. Outside of `cfg(test)` `sabotaged` is false at compile time. A macro, because
/// `cfg(test)` holds for one crate at a time.
#[macro_export]
macro_rules! sabotage {
    ($($(#[$how:meta])* $rule:ident,)*) => {
        /// A rule that this crate must hold, and how the switch breaks it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Rule {
            $($(#[$how])* $rule,)*
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

        /// Runs `body` with `rule` broken on this thread.
        #[cfg(test)]
        pub(crate) fn with_sabotaged<T>(rule: Rule, body: impl FnOnce() -> T) -> T {
            BROKEN.with(|broken| broken.set(Some(rule)));
            let result = body();
            BROKEN.with(|broken| broken.set(None));
            result
        }
    };
}
