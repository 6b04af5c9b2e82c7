//! Kinds of values that Kubernetes adds to CEL. Their functions are in the libraries.

pub(crate) mod cidr;
pub(crate) mod format;
pub(crate) mod ip;
mod named_formats;
pub(crate) mod quantity;
pub(crate) mod url;
