//! The desk with objects fed in memory.

mod restoring;
mod rules;
mod server;
