//! Authentication and authorization.
//!
//! * [`certificates`]: the hub's own authority, its serving certificate, client certificates, TLS configuration;
//! * [`tokens`]: bearer tokens, and [`authenticate`], which turns what a request shows into an [`Identity`];
//! * [`rbac`]: decides what an identity may do; [`reviews`] answers questions about that;
//! * [`kubeconfig`]: the file an administrator's client needs.
//!
//! Deciding is pure: times are arguments, and only the two modules that keep files touch the disk.

pub(crate) mod account_tokens;
pub(crate) mod certificates;
pub(crate) mod files;
mod identity;
pub(crate) mod kubeconfig;
mod random;
pub(crate) mod rbac;
pub(crate) mod reviews;
pub(crate) mod tokens;

pub(crate) use identity::{ANONYMOUS, Identity, MASTERS, UNAUTHENTICATED};
pub(crate) use tokens::authenticate;
