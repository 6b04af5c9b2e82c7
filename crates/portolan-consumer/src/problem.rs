//! Parts of decision objects that cannot be read.

/// Something in an object that could not be read. It is reported and left out; the rest of the decision is used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{object}: {field}: {value} {wrong}; accepted: {accepted}")]
pub struct Problem {
    /// Namespace and name of the object.
    pub object: String,
    /// The field, as a path.
    pub field: String,
    /// What stands there, as JSON.
    pub value: String,
    /// What is wrong with it.
    pub wrong: &'static str,
    /// What would be accepted.
    pub accepted: &'static str,
    /// Whether the field may name a cluster. While it does, no cluster of the decision counts as removed: it may be the
    /// one that cannot be read.
    pub hides_a_cluster: bool,
}
