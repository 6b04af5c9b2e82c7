//! The scheduler with objects fed in memory.

mod due;
mod restore;
mod rules;
mod server;
