//! What a placement looks at, so that a change can be matched with the placements it concerns.

use std::collections::BTreeSet;
use std::sync::Arc;

use portolan_api::cluster::TopologyKeyType;

use super::{Compiled, Predicate};
use crate::fleet::ClusterDelta;
use crate::prioritize::Prioritizer;

/// The inputs of one placement besides its sets, its own decision and the taints of the clusters it matches.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    /// Keys that decide whether a cluster matches.
    pub(crate) predicate_labels: BTreeSet<Arc<str>>,
    pub(crate) predicate_claims: BTreeSet<Arc<str>>,
    /// Keys that matter for clusters that match: groups, spread, properties.
    pub(crate) placed_labels: BTreeSet<Arc<str>>,
    pub(crate) placed_claims: BTreeSet<Arc<str>>,
    pub(crate) cel: bool,
    pub(crate) cel_scores: bool,
    pub(crate) cpu: bool,
    pub(crate) memory: bool,
    /// Resource names of AddOn prioritizers.
    pub(crate) score_resources: BTreeSet<Arc<str>>,
}

impl Dependencies {
    pub(crate) fn of(compiled: &Compiled) -> Dependencies {
        let mut dependencies = Dependencies::of_predicates(&compiled.predicates);
        for group in &compiled.grouping.named {
            dependencies
                .placed_labels
                .extend(group.labels.requirements.iter().map(|r| r.key.clone()));
            dependencies
                .placed_claims
                .extend(group.claims.requirements.iter().map(|r| r.key.clone()));
        }
        for constraint in &compiled.constraints {
            match constraint.key_type {
                TopologyKeyType::Label => dependencies.placed_labels.insert(constraint.key.clone()),
                TopologyKeyType::Claim => dependencies.placed_claims.insert(constraint.key.clone()),
            };
        }
        for prioritizer in &compiled.prioritizers {
            match &prioritizer.prioritizer {
                Prioritizer::ResourceAllocatableCPU => dependencies.cpu = true,
                Prioritizer::ResourceAllocatableMemory => dependencies.memory = true,
                Prioritizer::AddOn { resource, .. } => {
                    dependencies.score_resources.insert(resource.clone());
                }
                Prioritizer::Property { property } => {
                    dependencies.placed_claims.insert(property.clone());
                }
                Prioritizer::Balance | Prioritizer::Steady => {}
            }
        }
        dependencies
    }

    pub(crate) fn of_predicates(predicates: &[Predicate]) -> Dependencies {
        let mut dependencies = Dependencies::default();
        for predicate in predicates {
            dependencies
                .predicate_labels
                .extend(predicate.labels.requirements.iter().map(|r| r.key.clone()));
            dependencies
                .predicate_claims
                .extend(predicate.claims.requirements.iter().map(|r| r.key.clone()));
            dependencies.cel |= !predicate.programs.is_empty();
            dependencies.cel_scores |= predicate.programs.iter().any(portolan_cel::Program::uses_scores);
        }
        dependencies
    }

    pub(crate) fn label_keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.predicate_labels.iter().chain(&self.placed_labels)
    }

    pub(crate) fn claim_keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.predicate_claims.iter().chain(&self.placed_claims)
    }

    /// Whether a change to a cluster that matched before and after still matters.
    pub(crate) fn concern_placed(&self, delta: &ClusterDelta) -> bool {
        delta.presence
            || delta.taints
            || (delta.cpu && self.cpu)
            || (delta.memory && self.memory)
            || delta.labels.iter().any(|key| self.placed_labels.contains(key))
            || delta.claims.iter().any(|key| self.placed_claims.contains(key))
    }

    /// Whether a change to a cluster can change whether it matches the predicates.
    pub(crate) fn concern_match(&self, delta: &ClusterDelta) -> bool {
        delta.presence
            || (self.cel && delta.any)
            || delta.labels.iter().any(|key| self.predicate_labels.contains(key))
            || delta.claims.iter().any(|key| self.predicate_claims.contains(key))
    }
}
