//! The controllers on a server: the embedded hub, or a real one where `KUBEBUILDER_ASSETS` names it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod beside_ocm;
mod churn;
mod consume;
mod doubt;
mod events;
mod faults;
mod fields;
mod finished;
mod foreign;
mod groups;
mod heartbeats;
mod metrics;
mod output;
mod profiles;
mod publish;
mod recorder;
mod restored;
mod rolling;
mod rollouts;
mod scores;
mod served;
mod syncer;
mod unreadable;
mod world;
