//! The placement engine: from a fleet and a `Placement` to decisions, and from observed decisions to an ordered
//! list of writes.
//!
//! Pure: it never reads a clock, draws a random number, touches a file or talks to a server. `now` is an argument.
//! The command line and the controllers call it; `portolan-check` re-proves what it produced.
//!
//! ```text
//! changes ─► fleet ─► engine (which placements?) ─► evaluate: filter ▸ prioritize ▸ select ▸ group
//!                                                      └► outcome ─► explain, conditions
//!                                                      └► layout ─► plan
//! ```

pub mod conditions;
pub mod decide;
pub mod engine;
mod evaluate;
pub mod explain;
pub mod filter;
pub mod fleet;
pub mod group;
mod last_decision;
pub mod layout;
#[doc(hidden)]
pub mod mistakes;
pub mod model;
pub mod outcome;
pub mod placement;
pub mod plan;
pub mod prioritize;
pub mod quantity;
mod sabotage;
mod select;
#[doc(hidden)]
pub mod selector;
pub mod status;
mod warning;
pub mod warnings;

#[cfg(test)]
mod tests;
