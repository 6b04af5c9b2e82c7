//! What names a template, and a work that is made of it.

/// Which template: namespace and name.
pub(super) type TemplateKey = (String, String);

/// Which work: a template, on a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    pub(super) template: TemplateKey,
    /// Name of the cluster, which is also its namespace on the hub.
    pub(super) cluster: String,
}
