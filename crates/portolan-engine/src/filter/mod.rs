//! Filters: which candidates may be selected at all. One file a plugin.

pub(crate) mod predicate;
pub(crate) mod taint_toleration;

/// Name of the filter that applies `spec.predicates`.
pub const PREDICATE: &str = "Predicate";
/// Name of the filter that applies taints and `spec.tolerations`.
pub const TAINT_TOLERATION: &str = "TaintToleration";
