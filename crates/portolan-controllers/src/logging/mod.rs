//! What the log says, and how often: one line for a failure, and then a count with growing pauses; one line for a change,
//! and a count for a burst of them.

mod changes;
mod counting;
mod failures;
mod limiter;
mod unreadable;
mod words;

pub use changes::ChangeLog;
pub(crate) use counting::UnreadableObjects;
pub use failures::{FailureLog, Operation};
pub use words::{change, time_span};
