//! The controllers on a server: the embedded hub, or a real one where `KUBEBUILDER_ASSETS` names it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod beside_ocm;
mod churn;
mod doubt;
mod events;
mod faults;
mod groups;
mod heartbeats;
mod metrics;
mod output;
mod profiles;
mod publish;
mod recorder;
mod rolling;
mod scores;
mod served;
mod world;
