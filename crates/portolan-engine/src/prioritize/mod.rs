//! Prioritizers: a score for each cluster that passed the filters. One file a plugin, one line of it in `BUILT_INS`.

mod add_on;
mod balance;
mod policy;
mod property;
mod resource_allocatable;
mod scale;
mod steady;

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use jiff::Timestamp;

use crate::fleet::{ClusterId, Clusters, Fleet};
use crate::last_decision::LastDecision;
use crate::status::Status;

pub(crate) use policy::{Weighted, configured, is_same, resolve, warnings};

/// Largest score of a single prioritizer.
const MAX_SCORE: i64 = 100;

/// What produces a score. It runs once an evaluation over all clusters, so that the dynamic call costs nothing.
pub(crate) trait Prioritizer: Debug + Send + Sync {
    /// The name shown in results: the built-in's own, or the path to the score. No other prioritizer has the same.
    fn name(&self) -> Cow<'_, str>;

    fn score(&self, input: &Input<'_>) -> Scored;

    /// What it looks at of a cluster: a change of that concerns the placement.
    fn reads(&self) -> Vec<Reads> {
        Vec::new()
    }

    /// Whether it scores by the decisions of other placements.
    fn counts_other_placements(&self) -> bool {
        false
    }

    /// Whether a cluster scores more once the placement has selected it.
    fn prefers_selected(&self) -> bool {
        false
    }

    /// Whether two equal configurations both count. Otherwise the last weight does.
    fn adds_up(&self) -> bool {
        false
    }
}

/// What a prioritizer looks at of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    AllocatableCpu,
    AllocatableMemory,
    /// The claim, or property of a ClusterProfile, of this name.
    Claim(Arc<str>),
    /// The AddOnPlacementScore of this name.
    Scores(Arc<str>),
}

/// A prioritizer that placements name without anything else.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    /// In mode Additive; 0 where only a configuration makes it run.
    pub(crate) default_weight: i64,
    pub(crate) make: fn() -> Arc<dyn Prioritizer>,
}

/// Those that run by default are first: this is the order of scores in results.
pub(crate) static BUILT_INS: &[BuiltIn] = &[
    balance::BUILT_IN,
    steady::BUILT_IN,
    resource_allocatable::CPU,
    resource_allocatable::MEMORY,
];

/// The names of all built-in prioritizers.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    BUILT_INS.iter().map(|built_in| built_in.name)
}

/// Everything a prioritizer may look at.
pub(crate) struct Input<'a> {
    pub(crate) fleet: &'a Fleet,
    /// The clusters that passed the filters, in id order.
    pub(crate) clusters: &'a [ClusterId],
    /// The entries of this placement that are part of the fleet's counts.
    pub(crate) counted: &'a LastDecision,
    pub(crate) in_decision: &'a Clusters,
    pub(crate) now: Timestamp,
}

/// Scores in the order of `Input::clusters`, and what else evaluation must know.
#[derive(Debug, Default)]
pub(crate) struct Scored {
    pub(crate) scores: Vec<i64>,
    /// Clusters without the data that the prioritizer scores by, where OCM gives no score at all instead of 0.
    pub(crate) missing: Clusters,
    /// No cluster at all has the data that the placement names. Only of data that a placement can misname.
    pub(crate) is_unpublished: bool,
    pub(crate) warning: Option<Status>,
    /// First moment at which a score that was used stops being valid.
    pub(crate) valid_until: Option<Timestamp>,
}
