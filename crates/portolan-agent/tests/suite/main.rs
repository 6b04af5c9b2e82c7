//! The agent between a hub and a member cluster: two embedded hubs, or one real server that is both.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod applying;
mod executor;
mod executor_confined;
mod faults;
mod finished;
mod fleet;
mod heartbeat;
mod manifests;
mod network;
mod ocm_roles;
mod owners;
mod owning;
mod refusals;
mod restored;
mod takeover;
mod watching;
mod world;
