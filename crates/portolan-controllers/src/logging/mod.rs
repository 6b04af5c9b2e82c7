//! What the log says, and how often: one line for a failure, and then a count with growing pauses; one line for a change,
//! and a count for a burst of them.

mod changes;
mod failures;
mod limiter;
mod words;

pub use changes::ChangeLog;
pub use failures::{FailureLog, Operation};
pub use words::{change, time_span};
