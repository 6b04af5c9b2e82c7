//! The kinds Portolan reads and writes, and everything that can be said about one object on its own.
//!
//! What is here: the Rust types of three API groups ([`cluster`], [`multicluster`], [`work`]), the label,
//! annotation and condition vocabulary ([`labels`]), how conditions are set ([`conditions`]) and the objects of a decision are read ([`decision`]), how long names are cut ([`shorten`]), the generated
//! CustomResourceDefinitions ([`crds`], [`crd_files`]), the validation that follows from them
//! ([`structural`], [`semantic`], [`spelling`]), and how objects are read from what a server sends ([`reading`]).
//!
//! What it never does: talk to a server, read a clock or a file, decide where a workload goes, or compare two
//! objects with each other. A selector that cannot be evaluated is not an error here; the engine turns it into
//! a `Misconfigured` verdict.
//!
//! Callers: every other crate. The engine, the rollout and the checker use the types; the hub, the webhook
//! and the linter use the schemas and the validation.

pub mod cluster;
pub mod conditions;
pub mod count;
mod crd;
pub mod decision;
pub mod duration;
mod field;
pub mod labels;
pub mod multicluster;
pub mod reading;
mod resource;
mod sabotage;
mod schema;
pub mod semantic;
pub mod shorten;
pub mod spelling;
pub mod structural;
pub mod work;

pub use crd::{crd_files, crd_values, crds};
pub use field::FieldError;
