//! A cluster as a decision names it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A cluster as a decision names it: a ClusterProfile by namespace and name, or a ManagedCluster, which has no
/// namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cluster {
    /// Namespace of the ClusterProfile; empty for a ManagedCluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name of the ClusterProfile or ManagedCluster.
    pub name: String,
}

impl Cluster {
    /// A ClusterProfile.
    pub fn profile(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// A ManagedCluster.
    pub fn managed(name: impl Into<String>) -> Self {
        Self {
            namespace: String::new(),
            name: name.into(),
        }
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}
