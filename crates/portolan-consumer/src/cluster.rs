//! The clusters and the groups of a decision.

use std::fmt;

use portolan_api::decision::GroupKey;

/// A cluster that was decided for, by the ClusterProfile that stands for it. Names alone are unique in one namespace
/// only, so the namespace is always part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cluster {
    /// Namespace of the ClusterProfile.
    pub namespace: String,
    /// Name of the ClusterProfile.
    pub name: String,
}

impl Cluster {
    /// The cluster of this ClusterProfile.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Cluster {
        Cluster {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A cluster of a decision with what the decision says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The cluster.
    pub cluster: Cluster,
    /// Why it was chosen, if the scheduler says.
    pub reason: Option<String>,
    /// Its score, if the scheduler says. The standard has no field for it; Portolan uses an annotation.
    pub score: Option<i64>,
    /// The decision group it is in, if the decision has groups.
    pub group: Option<GroupKey>,
}
