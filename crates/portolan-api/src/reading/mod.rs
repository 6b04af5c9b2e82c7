//! Objects as a server sends them: each is read on its own, so that one that cannot be read hides no other.
//!
//! A client that decodes a whole list at once loses the list with its first odd object: a number of another type, a time
//! that Rust has no room for, a manifest that is nested too deeply. Here an object is taken as text first and then
//! decoded; one that cannot be is [`Unreadable`], which is not the same as absent.

mod late_times;
mod received;
mod trimmed;
mod words;

pub use received::{Received, Unreadable};
pub use trimmed::Trimmed;
pub use words::in_words;
