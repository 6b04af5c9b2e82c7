//! Tables for `kubectl get`: the columns of a kind and the objects become a `meta.k8s.io/v1` Table.
//!
//! Columns are data: printer columns of a CustomResourceDefinition ([`Columns::of_crd_version`]) or those of a built-in
//! kind ([`Columns::of_builtin`]). The time is an argument, so a table is a function of what is in it.

mod age;
mod builtin;
mod cell;
mod column;
mod columns;
mod fields;
pub(crate) mod jsonpath;
mod render;

#[cfg(test)]
mod tests;

pub(crate) use column::MOST_DECLARED;
pub(crate) use columns::Columns;
pub(crate) use render::{Headers, IncludeObject, UnknownIncludeObject, Version, render};
