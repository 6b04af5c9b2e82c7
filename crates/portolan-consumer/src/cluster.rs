//! The clusters and the groups of a decision.

use std::fmt;

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

/// Which decision group. Groups are ordered by index, then by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey {
    /// Its index.
    pub index: u32,
    /// Its name, empty for groups without.
    pub name: String,
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "group {}", self.index),
            name => write!(f, "group {} ({name})", self.index),
        }
    }
}
