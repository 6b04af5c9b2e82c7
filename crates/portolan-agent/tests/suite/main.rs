//! The agent between a hub and a member cluster: two embedded hubs, or one real server that is both.

mod applying;
mod faults;
mod heartbeat;
mod owners;
mod restored;
mod world;
