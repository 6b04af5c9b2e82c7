//! The controllers: they keep every Placement's decisions true on a Kubernetes API server while the fleet changes.
//!
//! Nothing but input and output around the engine. Watches feed the engine's index, the engine says which placements
//! are due and what they decide, and the write plan is carried out as it is. What is decided here is only *when* to
//! write: not before every cache is complete, one plan per placement at a time, again after a conflict.
//!
//! It never schedules, never reads a clock (a clock is handed in), and knows no server but through [`kube::Client`]:
//! the embedded hub and real Kubernetes are the same to it. The binary calls [`Controllers::start`] for `portolan controller` and
//! `portolan up`; tests call it with a client on an embedded hub.
//!
//! ```text
//! finished       ManifestWorks that are complete go after a while
//! fields/        which fields the definitions on the server lack
//! placements/    scheduler: state and decisions ─► job ─► publisher: phases of writes
//! readiness      when controllers that do not schedule are ready
//! profiles/      ClusterProfiles for ManagedClusters, written before the slices that refer to them
//! registration/  built-in sets, conditions of sets and bindings, availability taints (only where OCM does not)
//! replicasets/   ManifestWorkReplicaSets: a work per chosen cluster, rolled out in steps
//! syncer/        a Work for each cluster of a decision, from a template: the KEP's consumer
//! crd_age        for how long a missing object means nothing, because its definition has only just come
//! reconcile/     what the controllers beside placements/ share: a queue, a loop, and how errors and versions are read
//! ```

mod absence;
mod bound;
mod controllers;
mod crd_age;
mod events;
mod fields;
mod finished;
mod health;
mod metrics;
mod moment;
mod placements;
mod profiles;
mod readiness;
mod reconcile;
mod registration;
mod replicasets;
mod request;
mod sabotage;
mod settings;
mod syncer;
pub mod trace;

pub use controllers::Controllers;
pub use fields::missing_fields;
pub use health::Health;
pub use metrics::Metrics;
pub use portolan_runtime::Clock;
pub use replicasets::{abortion, mistakes as replica_set_mistakes, overview};
pub use settings::{Carrying, Output, Settings};
