//! The embedded hub: a durable, faithful Kubernetes API in one process.
//!
//! It serves CustomResourceDefinitions and the core kinds a control plane needs to stock clients: `tests/suite` runs what
//! kubectl and other clients do on the hub and on a real server. It knows nothing of placements, runs no pods and calls no webhooks; [`Admission`] is where they would plug in.
//! Tests embed it; the binary runs it.

mod access;
mod admission;
mod clock;
mod definition_rules;
mod depth;
mod discovery;
mod endpoint;
mod hub;
mod janitor;
mod kinds;
mod patch;
mod protobuf;
mod sabotage;
mod schema;
mod server;
mod store;
mod supervision;
mod table;

pub use access::files::write_private;
pub use admission::{Admission, AdmissionRequest, Operation, Refusal, Right, User, Verdict};
pub use definition_rules::{DefinitionRules, RuleViolation};
pub use hub::{Builder, Hub, StartError};
pub use server::{Body, ClientLimits, Service};
pub use store::OpenError;
