//! What the fuzz targets call. The ordinary tests call the same functions with the corpora and with random input, so that
//! they stay true. Whatever comes in, nothing may panic, memory stays bounded, and what each function says holds.
//!
//! Requests go through the handler of a hub in this process ([`hub`]), as those of a client do after TLS. The first bytes
//! of an input often choose among few possibilities: `0` is the first one, `1` the second, and so on. The rest is what a
//! client would have sent.
#![allow(dead_code)]

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

pub(crate) use engine::{cel, group_sizes, manifests};
pub(crate) use kubeconfigs::kubeconfigs;
pub(crate) use patches::{apply, json_patch, merge_patch, strategic_patch};
pub(crate) use protobuf::protobuf;
pub(crate) use queries::queries;
pub(crate) use schemas::crd_schemas;
pub(crate) use selectors::selectors;
pub(crate) use watches::watches;
pub(crate) use works::work_manifests;

/// One of few, by a byte of the input: `0` is the first.
fn choose<T>(among: &[T], byte: u8) -> &T {
    &among[usize::from(byte.wrapping_sub(b'0')) % among.len()]
}
