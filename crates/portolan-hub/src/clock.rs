//! The one place where the hub reads the time of day.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// Tells the time. Tests may give their own.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    pub(crate) fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a server stamps what it stores; tests replace the clock"
    )]
    pub(crate) fn system() -> Self {
        Self::new(Timestamp::now)
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }

    /// Now as `metadata` has it: UTC, whole seconds.
    pub(crate) fn stamp(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
