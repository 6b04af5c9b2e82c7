//! What a placement looks at, so that a change can be matched with the placements it concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_api::cluster::TopologyKeyType;

use super::{Compiled, Predicate};
use crate::fleet::ClusterDelta;
use crate::prioritize::Reads;
use crate::selector::{Operator, Selector};

/// Keys that predicates ask about, with the values they list, or none where they ask for more than a listed value.
type Asked = BTreeMap<Arc<str>, Option<BTreeSet<Arc<str>>>>;

fn ask(asked: &mut Asked, selector: &Selector) {
    for requirement in &selector.requirements {
        let values = asked
            .entry(requirement.key.clone())
            .or_insert_with(|| Some(BTreeSet::new()));
        match (requirement.operator, values.as_mut()) {
            (Operator::In, Some(values)) => values.extend(requirement.values.iter().cloned()),
            _ => *values = None,
        }
    }
}

fn asked(asked: &Asked) -> impl Iterator<Item = (&Arc<str>, Option<&Arc<str>>)> {
    asked.iter().flat_map(|(key, values)| {
        let anything = values.is_none().then_some(None);
        let listed = values.iter().flatten().map(Some);
        anything.into_iter().chain(listed).map(move |value| (key, value))
    })
}

/// The inputs of one placement besides its sets, its own decision and the taints of the clusters it matches.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    /// What decides whether a cluster matches.
    predicate_labels: Asked,
    predicate_claims: Asked,
    /// Keys that matter for clusters that match: groups, spread, properties.
    placed_labels: BTreeSet<Arc<str>>,
    placed_claims: BTreeSet<Arc<str>>,
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
        let prioritizers = compiled.prioritizers.iter();
        for read in prioritizers.flat_map(|weighted| weighted.prioritizer.reads()) {
            dependencies.add(read);
        }
        dependencies
    }

    fn add(&mut self, read: Reads) {
        match read {
            Reads::AllocatableCpu => self.cpu = true,
            Reads::AllocatableMemory => self.memory = true,
            Reads::Claim(name) => drop(self.placed_claims.insert(name)),
            Reads::Scores(resource) => drop(self.score_resources.insert(resource)),
        }
    }

    pub(crate) fn of_predicates(predicates: &[Predicate]) -> Dependencies {
        let mut dependencies = Dependencies::default();
        for predicate in predicates {
            ask(&mut dependencies.predicate_labels, &predicate.labels);
            ask(&mut dependencies.predicate_claims, &predicate.claims);
            dependencies.cel |= !predicate.programs.is_empty();
            dependencies.cel_scores |= predicate.programs.iter().any(portolan_cel::Program::uses_scores);
        }
        dependencies
    }

    /// Label keys that are looked at, each with a value when it only matters whether a cluster has that one.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&Arc<str>, Option<&Arc<str>>)> {
        asked(&self.predicate_labels).chain(self.placed_labels.iter().map(|key| (key, None)))
    }

    /// The same for claims.
    pub(crate) fn claims(&self) -> impl Iterator<Item = (&Arc<str>, Option<&Arc<str>>)> {
        asked(&self.predicate_claims).chain(self.placed_claims.iter().map(|key| (key, None)))
    }

    /// Whether a change to a cluster that matched before and after still matters.
    pub(crate) fn concern_placed(&self, delta: &ClusterDelta) -> bool {
        delta.presence
            || delta.taints
            || (delta.cpu && self.cpu)
            || (delta.memory && self.memory)
            || self.placed_labels.iter().any(|key| delta.label(key).is_some())
            || self.placed_claims.iter().any(|key| delta.claim(key).is_some())
    }

    /// Whether a change to a cluster can change whether it matches the predicates: with CEL any can, otherwise one
    /// that some requirement judges differently before and after.
    pub(crate) fn concern_match(&self, delta: &ClusterDelta, predicates: &[Predicate]) -> bool {
        delta.presence
            || (self.cel && delta.any)
            || predicates.iter().any(|predicate| {
                let labels = &mut predicate.labels.requirements.iter();
                let claims = &mut predicate.claims.requirements.iter();
                labels.any(|asked| delta.label(&asked.key).is_some_and(|change| change.flips(asked)))
                    || claims.any(|asked| delta.claim(&asked.key).is_some_and(|change| change.flips(asked)))
            })
    }
}
