//! What a plan does to the objects that are stored.

use std::collections::HashMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use portolan_api::cluster::{PlacementDecision, PlacementDecisionStatus};
use portolan_api::multicluster;
use portolan_engine::plan::{Observed, Plan, Write};

use super::names::{KEP, OCM, ObjectName};

/// Stored objects by name.
pub(super) struct StoredObjects<'o> {
    decisions: HashMap<ObjectName<'o>, &'o PlacementDecision>,
    slices: HashMap<ObjectName<'o>, &'o multicluster::PlacementDecision>,
}

fn name<'n>(kind: &'static str, name: Option<&'n str>) -> ObjectName<'n> {
    ObjectName {
        kind,
        name,
        uid: None,
    }
}

impl<'o> StoredObjects<'o> {
    pub(super) fn of(observed: &'o Observed) -> StoredObjects<'o> {
        let decisions = observed.decisions.iter();
        let slices = observed.slices.iter();
        StoredObjects {
            decisions: decisions
                .map(|object| (name(OCM, object.metadata.name.as_deref()), object))
                .collect(),
            slices: slices
                .map(|object| (name(KEP, object.metadata.name.as_deref()), object))
                .collect(),
        }
    }

    fn decision(&self, named: Option<&str>) -> Option<&'o PlacementDecision> {
        self.decisions.get(&name(OCM, named)).copied()
    }

    fn slice(&self, metadata: &ObjectMeta) -> Option<&'o multicluster::PlacementDecision> {
        self.slices.get(&name(KEP, metadata.name.as_deref())).copied()
    }

    /// Whether every write leaves the clusters of its object as they are.
    pub(super) fn is_score_refresh(&self, decisions: &Plan, slices: &Plan) -> bool {
        let mut writes = decisions.writes().chain(slices.writes());
        let all = writes.all(|write| match write {
            Write::DecisionStatus { object, status } => {
                let before = self.decision(Some(&object.name));
                let before = before.and_then(|before| before.status.as_ref());
                before.is_some_and(|before| clusters(before) == clusters(status))
            }
            Write::ReplaceSlice(slice) => self.slice(&slice.metadata).is_some_and(|before| {
                // A revision that is raised is part of a change that is under way.
                profiles(before) == profiles(slice) && before.metadata.labels == slice.metadata.labels
            }),
            _ => false,
        });
        all && !(decisions.is_empty() && slices.is_empty())
    }

    /// Whether a write makes the placement the owner of an object that had none or another. Who orphans the objects of a
    /// placement takes the owner away a moment before the placement goes, and must not be answered by putting it back.
    pub(super) fn adopts(&self, decisions: &Plan, slices: &Plan) -> bool {
        let differs = |before: Option<&ObjectMeta>, now: &ObjectMeta| {
            before.is_some_and(|before| owners(before) != owners(now))
        };
        let mut writes = decisions.writes().chain(slices.writes());
        writes.any(|write| match write {
            Write::DecisionMetadata(metadata) => {
                let before = self.decision(metadata.name.as_deref());
                differs(before.map(|before| &before.metadata), metadata)
            }
            Write::ReplaceSlice(slice) => {
                let before = self.slice(&slice.metadata);
                differs(before.map(|before| &before.metadata), &slice.metadata)
            }
            _ => false,
        })
    }
}

fn owners(metadata: &ObjectMeta) -> &[OwnerReference] {
    metadata.owner_references.as_deref().unwrap_or_default()
}

fn clusters(status: &PlacementDecisionStatus) -> Vec<&str> {
    let entries = status.decisions.iter();
    sorted(entries.map(|entry| entry.cluster_name.as_str()))
}

fn profiles(slice: &multicluster::PlacementDecision) -> Vec<&str> {
    let entries = slice.decisions.iter();
    sorted(entries.filter_map(|entry| Some(entry.profile("")?.1)))
}

fn sorted<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use portolan_api::cluster::ClusterDecision;
    use portolan_engine::plan::{Phase, Reference};

    use super::*;
    use crate::placements::names::tests::compared;

    fn status(cluster: &str) -> PlacementDecisionStatus {
        let entry = ClusterDecision {
            cluster_name: cluster.to_owned(),
            ..ClusterDecision::default()
        };
        PlacementDecisionStatus {
            decisions: vec![entry],
        }
    }

    #[test]
    fn a_plan_of_many_objects_is_compared_with_as_many_and_not_with_their_square() {
        const OBJECTS: usize = 1000;
        let names: Vec<String> = (0..OBJECTS)
            .map(|number| format!("p-decision-{number}"))
            .collect();
        let mut observed = Observed::default();
        let (mut statuses, mut replaced) = (Vec::new(), Vec::new());
        for name in &names {
            let metadata = ObjectMeta {
                name: Some(name.clone()),
                ..ObjectMeta::default()
            };
            let object = Reference {
                name: name.clone(),
                ..Reference::default()
            };
            observed.decisions.push(PlacementDecision {
                metadata: metadata.clone(),
                status: Some(status(name)),
            });
            statuses.push(Write::DecisionStatus {
                object,
                status: status(name),
            });
            let slice = multicluster::PlacementDecision {
                metadata,
                ..multicluster::PlacementDecision::default()
            };
            observed.slices.push(slice.clone());
            replaced.push(Write::ReplaceSlice(Box::new(slice)));
        }
        let plan = |writes| Plan {
            phases: vec![Phase { writes }],
        };
        let (decisions, slices) = (plan(statuses), plan(replaced));
        let compared = compared(|| {
            let stored = StoredObjects::of(&observed);
            assert!(stored.is_score_refresh(&decisions, &slices));
            assert!(!stored.adopts(&decisions, &slices));
        });
        assert!((1..10 * OBJECTS).contains(&compared), "{compared}");
    }
}
