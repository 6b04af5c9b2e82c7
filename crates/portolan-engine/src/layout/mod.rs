//! From chosen clusters to the objects that publish them: OCM decisions and KEP slices, final and complete.
//!
//! It says what is to be there in the end and never how to get there; [`crate::plan`] orders the writes. It reads
//! what is observed to keep clusters in their slices, to keep what others wrote into our objects, to continue a
//! plan that a crash cut short, and to leave objects alone that do not differ. It never reads a clock: `now` is
//! part of the [`ScorePolicy`].
//!
//! The evaluator calls it with the outcome of a placement; controllers and `portolan simulate` hand the result to the
//! plan.

#[cfg(test)]
pub(crate) mod fixture;
mod identity;
mod observed;
mod ocm;
mod scores;
mod slices;
mod sticky;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use portolan_api::{
    cluster::{self, DecisionGroupStatus, Placement},
    labels::multicluster as labels,
    multicluster,
};

pub(crate) use identity::{Identity, label, parse_number};
pub(crate) use observed::{ObservedSlices, cluster_name};
pub(crate) use ocm::{
    clusters as decision_entries, group_labels, is_labelled, observed as observed_decisions,
};
pub use scores::{PublishScores, ScorePolicy};
pub(crate) use slices::{needs_to_grow, places, sibling, stamp};

use crate::model::Group;

/// What a placement wants to publish.
#[derive(Clone, Copy, Debug)]
pub struct Desired<'a> {
    /// The placement itself.
    pub placement: &'a Placement,
    /// Decision groups in index order. There is at least one, which may be empty.
    pub groups: &'a [Group],
    /// Whether the placement divides its clusters into groups.
    pub grouped: bool,
    /// Whether the order of clusters has a meaning: `sortBy: Score`.
    pub ordered: bool,
    /// Namespace of the ClusterProfiles that slices refer to.
    pub profile_namespace: &'a str,
}

/// The objects that publish a decision.
#[derive(Clone, Debug)]
#[must_use = "a layout changes nothing until it is planned and written"]
pub struct Layout {
    /// OCM decisions in the order of their numbers.
    pub decisions: Vec<cluster::PlacementDecision>,
    /// KEP slices in index order, or why there are none to write.
    pub slices: Result<Vec<multicluster::PlacementDecision>, SlicesRefused>,
    /// For `status.decisionGroups` of the placement.
    pub decision_groups: Vec<DecisionGroupStatus>,
    /// When scores are due that are held back by the rate limit, or that change by this decision.
    pub scores_due: Option<Timestamp>,
    /// Whether the status of some OCM decision is to be written: `lastScoreUpdateTime` is then the time of the
    /// evaluation.
    pub writes_decision_status: bool,
    /// Whether the order of clusters has a meaning.
    pub ordered: bool,
}

/// Why no slice is written for a placement. What is observed stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlicesRefused {
    /// Others have objects under our decision key or on our names. Writing would mix two decisions into one.
    #[error(
        "PlacementDecisions of another scheduler or owner are in the way: {}; delete or rename them",
        names.join(", ")
    )]
    DecisionKeyConflict {
        /// Names of the objects.
        names: Vec<String>,
    },
    /// The decision needs more slices than a reader must accept.
    #[error(
        "the decision needs {needed} slices, at most {} are allowed; select fewer clusters or use fewer groups",
        labels::MAX_SLICES
    )]
    TooManySlices {
        /// How many slices it would take.
        needed: usize,
    },
    /// The evaluator has no decision to publish: the placement was misconfigured from the start.
    #[error("there is no decision to publish")]
    NoDecision,
}

/// Lays out `desired`, continuing from what is observed.
///
/// Observed objects may include those of other placements and other writers: ours are picked out. OCM decisions are
/// ours by namespace and placement label, slices by key or name, scheduler and owner.
pub fn layout(
    desired: Desired<'_>,
    observed_decisions: &[cluster::PlacementDecision],
    observed_slices: &[multicluster::PlacementDecision],
    policy: ScorePolicy,
) -> Layout {
    let identity = Identity::of_placement(desired.placement);
    let publish = policy.in_decisions && policy.publishes(desired.ordered);
    let limit = policy.limited_until(desired.placement);
    let mut scores_due = None;

    let observed = ocm::observed(&identity, observed_decisions);
    let mut decisions = ocm::decisions(&desired, &identity, &observed, publish);
    if limit.is_some() && scores::only_scores_differ_in_decisions(&observed, &decisions) {
        let held = decisions
            .iter()
            .map(|object| scores::hold(object, ocm::counterpart(&observed, object)));
        let held: Vec<_> = held.collect();
        let status = |object: &cluster::PlacementDecision| object.status.clone();
        scores_due = limit.filter(|_| decisions.iter().map(status).ne(held.iter().map(status)));
        decisions = held;
    }
    let (slices, slices_due) = layout_slices(desired, observed_slices, policy);
    let scores_due = scores_due.or(slices_due);
    Layout {
        writes_decision_status: decisions.iter().any(|object| {
            ocm::clusters(object) != ocm::counterpart(&observed, object).map_or(&[][..], ocm::clusters)
        }),
        decisions,
        slices,
        decision_groups: ocm::decision_groups(desired.groups, &identity),
        scores_due,
        ordered: desired.ordered,
    }
}

/// Lays out the slices alone: those to be there in the end, and when the rate limit ends that holds back a refresh of
/// their scores.
pub fn layout_slices(
    desired: Desired<'_>,
    observed: &[multicluster::PlacementDecision],
    policy: ScorePolicy,
) -> (
    Result<Vec<multicluster::PlacementDecision>, SlicesRefused>,
    Option<Timestamp>,
) {
    let identity = Identity::of_placement(desired.placement);
    let publish = policy.publishes(desired.ordered);
    let prior = match ObservedSlices::read(&identity, observed) {
        Ok(prior) => prior,
        Err(names) => return (Err(SlicesRefused::DecisionKeyConflict { names }), None),
    };
    let slices = match slices::slices(&desired, &identity, &prior, publish) {
        Ok(slices) => slices,
        Err(refused) => return (Err(refused), None),
    };
    let limit = policy.limited_until(desired.placement);
    if limit.is_none() || !scores::only_scores_differ_in_slices(&prior, &slices) {
        return (Ok(slices), None);
    }
    let kept = || prior.slices.values().map(|slice| slice.object);
    let due = limit.filter(|_| slices.iter().ne(kept()));
    (Ok(kept().cloned().collect()), due)
}
