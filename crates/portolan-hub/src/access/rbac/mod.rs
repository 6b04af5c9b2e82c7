//! Role-based access control: who may do what.
//!
//! [`Rbac`] is an index over Roles, ClusterRoles and their bindings, kept up to date object by object; [`Rbac::decide`]
//! answers one request from it without allocating. The rules are those of Kubernetes: permissions only add up, and what
//! no rule grants is denied. Writing a role or a binding is checked against what the writer itself may do
//! ([`Rbac::check_role`], [`Rbac::check_binding`]).
//!
//! Nothing here does I/O or reads a clock.

mod aggregate;
mod binding;
mod bootstrap;
mod covers;
mod escalation;
mod index;
mod request;
mod rule;

#[cfg(test)]
mod tests;

pub(crate) use bootstrap::bootstrap;
pub(crate) use index::{Kind, Rbac};
pub(crate) use request::{Decision, Request, Target};
pub(crate) use rule::PolicyRule;

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
