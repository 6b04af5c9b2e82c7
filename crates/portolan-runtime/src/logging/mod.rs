//! What the log says, and how often: one line for a failure, and then a count with growing pauses; one line for a change,
//! and a count for a burst of them.

mod cause;
mod changes;
mod counting;
mod failures;
mod limiter;
mod reading;
mod unreadable;
mod unserved;
mod words;

pub use cause::Operation;
pub use changes::ChangeLog;
pub use counting::UnreadableObjects;
pub use failures::FailureLog;
pub use words::{change, time_span};
