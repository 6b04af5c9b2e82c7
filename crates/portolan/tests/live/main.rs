//! Commands that talk to a hub, as processes: reading one, `portolan up`, `portolan controller`.

mod broken;
mod completing;
mod controller;
mod doctor;
mod everyday;
mod fields;
mod hub;
mod kubeconfigs;
mod lint;
mod lost;
mod process;
mod pty;
mod reading;
mod rights;
mod rollout;
mod spokes;
mod stories;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
mod up;
mod widths;
mod workloads;
