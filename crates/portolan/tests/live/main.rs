//! Commands that talk to a hub, as processes: reading one, `portolan up`, `portolan controller`.

mod controller;
mod hub;
mod lost;
mod process;
mod reading;
mod rollout;
mod spokes;
mod stories;
#[path = "../support/mod.rs"]
mod support;
mod up;
