//! What the scheduler hands out, and what comes back. Deciding and doing meet here and nowhere else.

use std::collections::HashSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{self, PlacementStatus};
use portolan_api::multicluster;
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{Phase, Plan, Reference};
use portolan_runtime::watch::Key;

use super::backoff::Severity;
use super::names::{KEP, OCM, ObjectName};
use super::status::Conditions;
use crate::events::EventDraft;
use crate::sabotage::{Rule, sabotaged};
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
    if sabotaged(Rule::NoGap) {
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
    /// Of each, whether no later write of the same plan replaced the object.
    pub(crate) fn are_last(all: &[Acknowledged]) -> Vec<bool> {
        let mut later = HashSet::new();
        let mut are_last = Vec::with_capacity(all.len());
        for acknowledged in all.iter().rev() {
            are_last.push(acknowledged.object().is_none_or(|object| later.insert(object)));
        }
        are_last.reverse();
        are_last
    }

    /// The object that was written.
    fn object(&self) -> Option<ObjectName<'_>> {
        let (kind, metadata) = match (self.decision(), self.slice()) {
            (Some(metadata), _) => (OCM, metadata),
            (None, Some(metadata)) => (KEP, metadata),
            (None, None) => return None,
        };
        Some(ObjectName {
            kind,
            name: metadata.name.as_deref(),
            uid: metadata.uid.as_deref(),
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placements::names::tests::compared;

    fn metadata(name: &str, uid: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            uid: Some(uid.to_owned()),
            ..ObjectMeta::default()
        }
    }

    fn slice(name: &str) -> Acknowledged {
        Acknowledged::Slice(Box::new(multicluster::PlacementDecision {
            metadata: metadata(name, "u"),
            ..multicluster::PlacementDecision::default()
        }))
    }

    fn relabelled(name: &str, uid: &str) -> Acknowledged {
        Acknowledged::DecisionMetadata(Box::new(metadata(name, uid)))
    }

    #[test]
    fn the_last_write_of_an_object_is_found_by_kind_name_and_uid() {
        let decision = Acknowledged::Decision(Box::new(cluster::PlacementDecision {
            metadata: metadata("a", "u"),
            status: None,
        }));
        let all = [
            decision,
            slice("a"),
            relabelled("a", "older"),
            relabelled("a", "u"),
            Acknowledged::PlacementExists,
            slice("b"),
            Acknowledged::PlacementExists,
        ];
        assert_eq!(
            Acknowledged::are_last(&all),
            [false, true, true, true, true, true, true]
        );
    }

    #[test]
    fn many_acknowledgements_are_compared_as_often_as_there_are_and_not_with_each_other() {
        let all: Vec<Acknowledged> = (0..1000)
            .map(|number| slice(&format!("d{}", number % 500)))
            .collect();
        let compared = compared(|| {
            let last = Acknowledged::are_last(&all);
            assert_eq!(last.iter().filter(|last| **last).count(), 500);
        });
        assert!((500..10_000).contains(&compared), "{compared}");
    }
}
