//! The desk with objects fed in memory.

mod due;
mod restoring;
mod rules;
mod server;
