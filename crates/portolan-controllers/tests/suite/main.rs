//! The controllers on a server: the embedded hub, or a real one where `KUBEBUILDER_ASSETS` names it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod churn;
mod faults;
mod publish;
mod recorder;
mod rolling;
mod world;
