//! The messages of the Kubernetes API that clients send as protobuf, as data: field number, JSON name, type.
//!
//! The numbers are part of the public Kubernetes API and never change. A field that is missing here is refused when a
//! client sends it with a value, so that nothing that a client writes is lost. Answers leave it out.

pub(super) mod container;
pub(super) mod core;
pub(super) mod definition;
pub(super) mod envelope;
pub(super) mod meta;
pub(super) mod network;
pub(super) mod pod;
mod pod_status;
pub(super) mod rbac;
pub(super) mod review;
pub(super) mod sets;
pub(super) mod status;
pub(super) mod volume;
pub(super) mod workload;
