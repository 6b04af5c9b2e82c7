//! The desk with objects fed in memory.

mod rules;
mod server;
