//! What in a placement is evaluated and hardly does what it is meant to.

use crate::fleet::{Eligibility, Fleet, Inventory};

/// One warning, by position in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// A binding of the namespace has no set of its name.
    ClusterSetNotFound {
        /// Name of the binding.
        binding: String,
    },
    /// An entry of `spec.clusterSets` is not bound to the namespace.
    ClusterSetNotBound {
        /// Position in `spec.clusterSets`.
        position: usize,
    },
    /// An expression fails for every cluster that it is evaluated for.
    ExpressionFails {
        /// Position in `spec.predicates`.
        predicate: usize,
    },
    /// No cluster that passed the filters has the score or the property.
    ScoreNotPublished {
        /// Position in `spec.prioritizerPolicy.configurations`.
        configuration: usize,
    },
    /// No cluster that passed the filters has the label or claim of a spread constraint.
    TopologyKeyNotFound {
        /// Position in `spec.spreadPolicy.spreadConstraints`.
        constraint: usize,
    },
    /// A decision group has the name of an earlier one.
    GroupNameRepeated {
        /// Position in `decisionGroups`.
        group: usize,
    },
    /// The size of the groups is 0 or less.
    GroupSizeOutOfRange,
    /// A toleration ends before the taint was added.
    TolerationSecondsNegative {
        /// Position in `spec.tolerations`.
        toleration: usize,
    },
    /// A configuration names the prioritizer of an earlier one.
    PrioritizerRepeated {
        /// Position in `spec.prioritizerPolicy.configurations`.
        configuration: usize,
    },
}

/// Sets that are asked for and not bound, and bindings without a set. A placement that may use no set at all is
/// unsatisfied, and its condition says why.
pub(crate) fn of_sets(fleet: &Fleet, namespace: &str, wanted: &[String], sets: &Eligibility) -> Vec<Warning> {
    if sets.eligible.is_empty() || fleet.inventory() == Inventory::ClusterProfiles {
        return Vec::new();
    }
    let mut warnings: Vec<Warning> = fleet
        .dangling_bindings(namespace)
        .filter(|name| wanted.is_empty() || wanted.iter().any(|set| set == name))
        .map(|name| Warning::ClusterSetNotFound {
            binding: name.to_owned(),
        })
        .collect();
    if sets.eligible.len() < wanted.len() {
        let unbound = wanted
            .iter()
            .enumerate()
            .filter(|(_, set)| sets.bound.binary_search(set).is_err() && !fleet.is_bound(namespace, set));
        warnings.extend(unbound.map(|(position, _)| Warning::ClusterSetNotBound { position }));
    }
    warnings
}
