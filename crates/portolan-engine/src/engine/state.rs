//! What the engine keeps of one placement.

use jiff::Timestamp;
use portolan_api::cluster::Placement;

use crate::evaluate::Question;
use crate::filter::predicate::Coverage;
use crate::fleet::bits::Packed;
use crate::fleet::{Fleet, Spending};
use crate::last_decision::LastDecision;
use crate::outcome::Outcome;
use crate::placement::{self, Compiled, Dependencies, Misconfigured, PlacementKey, Predicate};

#[derive(Debug)]
pub(crate) struct PlacementState {
    pub(crate) key: PlacementKey,
    pub(crate) placement: Placement,
    pub(crate) compiled: Result<Compiled, Misconfigured>,
    pub(crate) dependencies: Dependencies,
    /// What the placement decided last.
    pub(crate) prior: LastDecision,
    /// The outcome that is being written. It is in the counts already, the prior no longer.
    in_flight: Option<LastDecision>,
    /// The clusters that matched at the last evaluation.
    pub(crate) matched: Packed,
    /// How the expressions went at the last evaluation: a warning tells.
    pub(crate) coverage: Vec<Coverage>,
    /// What the expressions cost at the last evaluation, and for each cluster that changed since.
    pub(crate) spending: Spending,
    /// Whether there was any candidate at the last evaluation: the conditions tell.
    pub(crate) had_candidates: bool,
    pub(crate) requeue_at: Option<Timestamp>,
}

pub(crate) fn count(fleet: &mut Fleet, prior: &LastDecision) {
    prior
        .counted()
        .for_each(|(cluster, entries)| fleet.counts.add(cluster, entries));
}

pub(crate) fn uncount(fleet: &mut Fleet, prior: &LastDecision) {
    prior
        .counted()
        .for_each(|(cluster, entries)| fleet.counts.subtract(cluster, entries));
}

impl PlacementState {
    /// `prior` is already counted.
    pub(crate) fn new(placement: &Placement, prior: LastDecision) -> PlacementState {
        let compiled = placement::compile(placement);
        PlacementState {
            key: PlacementKey::of(placement),
            placement: placement.clone(),
            dependencies: dependencies(&compiled),
            compiled,
            prior,
            in_flight: None,
            matched: Packed::default(),
            coverage: Vec::new(),
            spending: Spending::default(),
            had_candidates: false,
            requeue_at: None,
        }
    }

    pub(crate) fn recompile(&mut self, placement: &Placement) {
        self.placement = placement.clone();
        self.compiled = placement::compile(placement);
        self.dependencies = dependencies(&self.compiled);
    }

    pub(crate) fn question(&self, now: Timestamp) -> Question<'_> {
        Question {
            namespace: self.placement.metadata.namespace.as_deref().unwrap_or_default(),
            cluster_sets: &self.placement.spec.cluster_sets,
            compiled: &self.compiled,
            prior: &self.prior,
            counted: self.counted(),
            resumed: false,
            now,
        }
    }

    /// The predicates, unless they are what is wrong with the placement.
    pub(crate) fn predicates(&self) -> &[Predicate] {
        match &self.compiled {
            Ok(compiled) => &compiled.predicates,
            Err(Misconfigured { predicates, .. }) => predicates.as_deref().unwrap_or_default(),
        }
    }

    fn counted(&self) -> &LastDecision {
        self.in_flight.as_ref().unwrap_or(&self.prior)
    }

    /// Has the fleet index what the placement looks at.
    pub(crate) fn watch(&self, fleet: &mut Fleet) {
        for predicate in self.predicates() {
            fleet.retain_labels(&predicate.labels);
            fleet.retain_claims(&predicate.claims);
            fleet
                .cel_mut()
                .retain(&predicate.expressions, &predicate.programs);
        }
        for group in self.compiled.iter().flat_map(|compiled| &compiled.grouping.named) {
            fleet.retain_labels(&group.labels);
            fleet.retain_claims(&group.claims);
        }
    }

    pub(crate) fn unwatch(&mut self, fleet: &mut Fleet) {
        for predicate in self.predicates() {
            fleet.release_labels(&predicate.labels);
            fleet.release_claims(&predicate.claims);
            fleet.cel_mut().release(&predicate.expressions);
        }
        for group in self.compiled.iter().flat_map(|compiled| &compiled.grouping.named) {
            fleet.release_labels(&group.labels);
            fleet.release_claims(&group.claims);
        }
    }

    /// Keeps of an outcome what later changes are compared with.
    pub(crate) fn notice(&mut self, outcome: &Outcome) {
        self.matched = Packed::from(&outcome.matched);
        if self.compiled.is_err() || outcome.spending.is_beyond() {
            self.matched = Packed::from(&outcome.candidates);
        }
        self.coverage.clone_from(&outcome.coverage);
        self.spending = outcome.spending;
        self.had_candidates = !outcome.candidates.is_empty();
        self.requeue_at = outcome.requeue_at;
    }

    /// Folds an outcome into the counts. An outcome that keeps the last decision leaves everything as it is.
    pub(crate) fn decide(&mut self, fleet: &mut Fleet, outcome: &Outcome) {
        if outcome.status.keeps_last_decision() {
            return;
        }
        let next = LastDecision::from_groups(fleet, &outcome.groups);
        uncount(fleet, self.counted());
        count(fleet, &next);
        if let Some(old) = self.in_flight.replace(next) {
            old.drop_from(fleet);
        }
    }

    pub(crate) fn complete(&mut self, fleet: &mut Fleet) {
        if let Some(done) = self.in_flight.take() {
            std::mem::replace(&mut self.prior, done).drop_from(fleet);
        }
    }

    /// Takes what is observed as the last decision; true when it is not what the placement itself decided.
    pub(crate) fn replace_prior(&mut self, fleet: &mut Fleet, prior: LastDecision) -> bool {
        if *self.counted() == prior {
            prior.drop_from(fleet);
            self.complete(fleet);
            return false;
        }
        uncount(fleet, self.counted());
        count(fleet, &prior);
        if let Some(old) = self.in_flight.take() {
            old.drop_from(fleet);
        }
        std::mem::replace(&mut self.prior, prior).drop_from(fleet);
        true
    }

    /// Gives up everything but what is counted.
    pub(crate) fn take_counted(&mut self, fleet: &mut Fleet) -> LastDecision {
        self.complete(fleet);
        std::mem::take(&mut self.prior)
    }
}

fn dependencies(compiled: &Result<Compiled, Misconfigured>) -> Dependencies {
    match compiled {
        Ok(compiled) => Dependencies::of(compiled),
        // Nothing but the set of candidates matters to a placement that cannot be evaluated.
        Err(_) => Dependencies::default(),
    }
}
