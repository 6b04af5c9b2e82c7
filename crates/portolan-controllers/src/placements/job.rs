//! What the desk hands out, and what comes back. Deciding and doing meet here and nowhere else.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{self, PlacementStatus};
use portolan_api::multicluster;
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{Phase, Plan, Reference};
use portolan_runtime::watch::Key;

use super::backoff::Severity;
use super::status::Conditions;
use crate::events::EventDraft;
use crate::sabotage::{Rule, broken};
use crate::trace;

/// The next thing to do.
#[derive(Debug)]
pub(crate) enum Step {
    /// Decision objects that changed were read, and there are more of them.
    Reading,
    /// A placement was evaluated, and what is stored is what it decides.
    Settled(Summary),
    /// A placement was evaluated and has something to write.
    Publish(Box<Job>),
    /// A placement is gone and has left objects behind.
    Teardown(Box<Teardown>),
}

/// What a placement decided, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) key: PlacementKey,
    pub(crate) clusters: usize,
    pub(crate) decisions: usize,
    pub(crate) slices: usize,
    pub(crate) conditions: Conditions,
}

/// The writes of one placement.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) summary: Summary,
    pub(crate) placement: Reference,
    /// Whether to ask the server first that the placement is there to stay.
    pub(crate) confirm: bool,
    /// OCM decisions.
    pub(crate) decisions: Plan,
    /// KEP slices. They wait until the profiles that they refer to are there; the two kinds do not wait for each other.
    pub(crate) slices: Plan,
    /// Namespace and names of the profiles that the slices refer to.
    pub(crate) profiles: Option<(String, Vec<String>)>,
    /// Written when both kinds are.
    pub(crate) status: Option<PlacementStatus>,
    pub(crate) notes: Vec<EventDraft>,
    pub(crate) change: Change,
}

/// The clusters that a decision wins and loses by a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

/// The phases of a plan in the order in which they are carried out: its own.
pub(crate) fn phases(mut plan: Plan) -> Vec<Phase> {
    if broken(Rule::NoGap) {
        plan.phases.reverse();
    }
    plan.phases
}

/// The objects that a placement left behind. They are deleted once the server confirms that it is gone.
#[derive(Debug)]
pub(crate) struct Teardown {
    pub(crate) key: PlacementKey,
    pub(crate) plan: Plan,
}

/// What became of a job.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) key: PlacementKey,
    /// What the server acknowledged, whether or not everything else went well.
    pub(crate) acknowledged: Vec<Acknowledged>,
    pub(crate) result: Result<(), Failure>,
}

impl Report {
    /// Says in the span of the decision how it ended.
    pub(crate) fn trace(&self, decision: &tracing::Span) {
        let wrote = |acknowledged: &&Acknowledged| !matches!(acknowledged, Acknowledged::PlacementExists);
        trace::wrote(decision, self.acknowledged.iter().filter(wrote).count());
        let result = match &self.result {
            Ok(()) => "ok",
            Err(failure) => failure.severity.word(),
        };
        trace::ended(decision, result);
    }
}

/// One write that the server acknowledged, with the metadata that it answered and the content that it was sent.
#[derive(Debug)]
pub(crate) enum Acknowledged {
    Decision(Box<cluster::PlacementDecision>),
    /// Nothing but the metadata was written; the status is as it was.
    DecisionMetadata(Box<ObjectMeta>),
    DecisionDeleted(Key),
    Slice(Box<multicluster::PlacementDecision>),
    SliceDeleted(Key),
    PlacementStatus {
        metadata: Box<ObjectMeta>,
        status: Box<PlacementStatus>,
    },
    /// The placement that was to be torn down is there after all.
    PlacementExists,
}

impl Acknowledged {
    /// Whether `later` is the same object after another write.
    pub(crate) fn is_replaced_by(&self, later: &Acknowledged) -> bool {
        let kinds = (self.decision(), later.decision(), self.slice(), later.slice());
        match kinds {
            (Some(before), Some(after), ..) | (_, _, Some(before), Some(after)) => {
                before.name == after.name && before.uid == after.uid
            }
            _ => false,
        }
    }

    /// The OCM decision that was written.
    fn decision(&self) -> Option<&ObjectMeta> {
        match self {
            Acknowledged::Decision(object) => Some(&object.metadata),
            Acknowledged::DecisionMetadata(metadata) => Some(metadata),
            _ => None,
        }
    }

    /// The KEP slice that was written.
    fn slice(&self) -> Option<&ObjectMeta> {
        match self {
            Acknowledged::Slice(slice) => Some(&slice.metadata),
            _ => None,
        }
    }
}

/// Why a job did not end well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {message}")]
pub(crate) struct Failure {
    pub(crate) severity: Severity,
    /// What was tried.
    pub(crate) operation: String,
    /// What the server said.
    pub(crate) message: String,
}
