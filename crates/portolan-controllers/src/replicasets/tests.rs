//! Replica sets.
