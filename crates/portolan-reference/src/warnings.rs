//! What in a placement hardly does what it is meant to: sets and groups.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use portolan_api::cluster::{ManagedCluster, PlacementSpec};

use crate::{Hub, PlainOutcome, score, select};
use portolan_engine::warnings::Warning;

/// Sets that are asked for and not bound, and bindings without a set. A placement that may use no set at all is
/// unsatisfied, and its condition says why.
pub(super) fn of_sets(
    hub: &Hub<'_>,
    namespace: &str,
    wanted: &[String],
    outcome: &PlainOutcome,
) -> Vec<Warning> {
    if outcome.eligible.is_empty() {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    let dangling: Vec<&str> = hub
        .bindings
        .iter()
        .filter(|binding| binding.metadata.namespace.as_deref().unwrap_or_default() == namespace)
        .filter_map(|binding| binding.metadata.name.as_deref())
        .filter(|name| !hub.sets.contains_key(name))
        .collect();
    for name in &dangling {
        if wanted.is_empty() || wanted.iter().any(|set| set == name) {
            let binding = (*name).to_owned();
            warnings.push(Warning::ClusterSetNotFound { binding });
        }
    }
    for (position, set) in wanted.iter().enumerate() {
        if !outcome.bound.contains(set) && !dangling.contains(&set.as_str()) {
            warnings.push(Warning::ClusterSetNotBound { position });
        }
    }
    warnings.sort();
    warnings
}

/// Tolerations that end before they begin, and prioritizers that are named twice.
pub(super) fn of_entries(spec: &PlacementSpec) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (toleration, entry) in spec.tolerations.iter().enumerate() {
        if entry.toleration_seconds.is_some_and(|seconds| seconds < 0) {
            warnings.push(Warning::TolerationSecondsNegative { toleration });
        }
    }
    let policy = spec.prioritizer_policy.iter();
    let mut seen = Vec::new();
    for (configuration, entry) in policy.flat_map(|policy| &policy.configurations).enumerate() {
        let Some(kind) = entry.score_coordinate.as_ref().and_then(score::named) else {
            continue;
        };
        if seen.contains(&kind) {
            warnings.push(Warning::PrioritizerRepeated { configuration });
        }
        seen.push(kind);
    }
    warnings
}

/// Spread constraints by a label or claim that no cluster has.
pub(super) fn of_spread(spec: &PlacementSpec, survivors: &[&ManagedCluster]) -> Vec<Warning> {
    let policy = spec.spread_policy.iter();
    let terms = policy.flat_map(|policy| &policy.spread_constraints).enumerate();
    terms
        .filter(|(_, term)| {
            !survivors.is_empty()
                && survivors
                    .iter()
                    .all(|cluster| select::domain(term, cluster).is_none())
        })
        .map(|(constraint, _)| Warning::TopologyKeyNotFound { constraint })
        .collect()
}

pub(super) fn of_groups(spec: &PlacementSpec) -> Vec<Warning> {
    let Some(strategy) = spec
        .decision_strategy
        .as_ref()
        .and_then(|strategy| strategy.group_strategy.as_ref())
    else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    let names: Vec<&str> = strategy
        .decision_groups
        .iter()
        .map(|group| group.group_name.as_str())
        .collect();
    for (group, name) in names.iter().enumerate() {
        if names[..group].contains(name) {
            warnings.push(Warning::GroupNameRepeated { group });
        }
    }
    if matches!(strategy.clusters_per_decision_group, Some(IntOrString::Int(size)) if size < 1) {
        warnings.push(Warning::GroupSizeOutOfRange);
    }
    warnings
}
