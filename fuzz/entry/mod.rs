//! What the fuzz targets call: a library for them, and a module of the ordinary tests, which run it on the corpora and on
//! random input, so that it stays true. Whatever comes in, nothing may panic, memory stays bounded, and what each function
//! says holds.
//!
//! Requests go through the handler of a hub in this process ([`hub`]), as those of a client do after TLS. The first bytes
//! of an input often choose among few possibilities: `0` is the first one, `1` the second, and so on. The rest is what a
//! client would have sent.
#![allow(unreachable_pub)]

mod engine;
mod hub;
mod hub_objects;
mod kubeconfigs;
mod patches;
mod protobuf;
mod queries;
mod schemas;
mod selectors;
mod watches;
mod works;

pub use engine::{cel, group_sizes, manifests};
pub use kubeconfigs::kubeconfigs;
pub use patches::{apply, json_patch, merge_patch, strategic_patch};
pub use protobuf::protobuf;
pub use queries::queries;
pub use schemas::crd_schemas;
pub use selectors::selectors;
pub use watches::watches;
pub use works::{ignored_fields, work_manifests};

/// One of few, by a byte of the input: `0` is the first.
fn choose<T>(among: &[T], byte: u8) -> &T {
    &among[usize::from(byte.wrapping_sub(b'0')) % among.len()]
}
