//! The rollout state machine: which clusters get a workload next, which are waited for, and which have had their chance.
//!
//! A rollout has no memory of its own. Each call gets the groups of the decision as they are now, the state of every
//! cluster that has the workload already, the clusters that cannot be reached, and the time; the answer follows from
//! that alone. So a restart changes nothing, and a fleet that changes in mid-rollout needs no special path.
//!
//! ```text
//! RolloutStrategy ─► Strategy (checked)  ─┐
//! decision groups ─► Groups              ─┼─► plan ─► Plan: to roll out, timed out, removed, skipped, recheck after
//! existing states, unreachable, now      ─┘
//! ```
//!
//! Pure: no I/O, no clock, no randomness. The command line and the controllers call it.

mod amount;
mod classify;
mod cluster;
mod draft;
mod groups;
mod per_cluster;
mod per_group;
mod plan;
mod request;
mod strategy;

pub use amount::Amount;
pub use cluster::{Cluster, Existing, Status};
pub use groups::{GroupKey, Groups};
pub use plan::{Input, Plan, is_done, plan};
pub use request::Request;
pub use strategy::{Kind, Mandatory, Strategy};
