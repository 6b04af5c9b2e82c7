//! What an evaluation of a replica set looks at, and what it answers.

use std::collections::{BTreeMap, BTreeSet};

use portolan_api::FieldError;
use portolan_api::work::Summary;
use tokio::time::Instant;

use super::attempts::Attempt;
use super::decisions::Reading;
use super::failures::Failure;
use super::key::WorkKey;
use super::message::WorkWrite;
use super::refusals::{Cause, Refusal};
use super::set::{Mistake, Set};
use super::works::Work;
use crate::absence::Absences;
use crate::bound::Right;
use crate::moment::Moment;

/// What is known at one moment.
pub(super) struct View<'a> {
    pub(super) set: &'a Set,
    /// Every work of the replica set.
    pub(super) works: &'a BTreeMap<WorkKey, Work>,
    /// What the decision of a placement says.
    pub(super) read: &'a dyn Fn(&str) -> Reading,
    /// How many clusters a placement asks for, where it says a number.
    pub(super) wanted: &'a dyn Fn(&str) -> Option<usize>,
    pub(super) offline: &'a BTreeSet<String>,
    pub(super) absences: &'a Absences,
    /// Whether a cluster may get a work that it does not have.
    pub(super) right: &'a dyn Fn(&str) -> Right,
    /// By cluster.
    pub(super) refusals: &'a BTreeMap<String, Refusal>,
    /// By cluster.
    pub(super) attempts: &'a BTreeMap<String, Attempt>,
    pub(super) now: Moment,
}

/// What is to be done, and what there is to tell.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) works: Vec<WorkWrite>,
    pub(super) tally: Tally,
    /// Clusters whose turn it was and that no bound set has.
    pub(super) unbound: Vec<String>,
    /// Clusters whose turn it was and whose former work is still leaving.
    pub(super) losing: Vec<String>,
    /// Every cluster that a decision names; nothing while one is in doubt.
    pub(super) selected: Option<BTreeSet<String>>,
    /// When to look again although nothing happened.
    pub(super) recheck: Option<Instant>,
}

/// How far the rollouts of a replica set are.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) mistake: Option<Mistake>,
    pub(super) placements: Vec<PlacementTally>,
    /// Placements that are not there.
    pub(super) missing: Vec<String>,
    /// Placements whose decision cannot be believed yet, and why.
    pub(super) unsettled: Vec<(String, String)>,
    /// Works that would be deleted, were it certain that nobody wants them.
    pub(super) kept_on_doubt: usize,
    /// Clusters that no decision names and whose works are kept, because they cannot be reached or have just come back.
    pub(super) absent: Vec<String>,
    /// Clusters that refuse their work, by name.
    pub(super) refused: BTreeMap<String, Refused>,
    /// Settings of the strategies that do something else than they seem to, such as positions that no group has.
    pub(super) strategy_warnings: Vec<FieldError>,
    /// Why works fail, the most frequent causes of each placement.
    pub(super) failures: Vec<Failure>,
}

/// A cluster that refuses its work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused {
    pub(super) cause: Cause,
    /// Whether it counts as failed.
    pub(super) is_failed: bool,
}

/// How far the rollout to one placement is.
#[derive(Clone, Debug, Default)]
pub(super) struct PlacementTally {
    pub(super) name: String,
    pub(super) groups: usize,
    pub(super) summary: Summary,
    /// Clusters that succeeded and have soaked.
    pub(super) done: usize,
    pub(super) failed: usize,
    pub(super) offline: usize,
    /// Clusters that have the template and neither succeeded nor failed.
    pub(super) in_progress: usize,
    pub(super) is_over_budget: bool,
}

/// The one work of each cluster that counts, by cluster.
pub(super) type Primaries<'a> = BTreeMap<&'a str, (&'a WorkKey, &'a Work)>;

/// The earlier of two moments, where there are any.
pub(super) fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    [one, other].into_iter().flatten().min()
}
