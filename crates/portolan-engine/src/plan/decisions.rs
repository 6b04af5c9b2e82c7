//! The phases for OCM decisions.
//!
//! Metadata and status are separate writes. An object whose group index rises gets its labels first, one whose index
//! falls gets its status first, so that no cluster is shown in an earlier group than its own. Where the group stays the
//! status comes first: it is what readers wait for. Either way the content hash disagrees with the status in between,
//! which tells our reader to wait.

use std::collections::{BTreeMap, HashMap, HashSet};

use portolan_api::cluster::{
    ClusterDecision, PlacementDecision, PlacementDecisionStatus, UpdateStrategyType,
};

use super::{
    compare::same_metadata,
    differs,
    order::batches,
    write::{Reference, Write},
};
use crate::{
    layout::{
        Identity, Layout, decision_entries as entries, group_labels, is_labelled, observed_decisions,
        parse_number,
    },
    sabotage::{Rule, sabotaged},
};

/// Phases that lead from `observed` to the decisions of `layout`.
pub(super) fn phases(
    observed: &[PlacementDecision],
    layout: &Layout,
    update: UpdateStrategyType,
) -> Vec<Vec<Write>> {
    let last = &layout.decisions;
    // No final object means that nothing was decided, not that nothing is selected.
    let Some(identity) = last
        .first()
        .and_then(|object| Identity::of_object(&object.metadata))
    else {
        return Vec::new();
    };
    let names: HashSet<&str> = last.iter().map(name).collect();
    let mut observed = observed_decisions(&identity, observed);
    observed.retain(|name, object| names.contains(name) || is_labelled(&identity, object));

    let change = Change {
        observed,
        last,
        ordered: layout.ordered,
    };
    let (before, after) = change.metadata();
    let mut phases = vec![before];
    phases.extend(change.statuses(update));
    phases.push(after);
    let deletes = change.deletes(&names);
    if sabotaged(Rule::NoGap) {
        phases.insert(0, deletes);
    } else {
        phases.push(deletes);
    }
    phases
}

struct Change<'a> {
    observed: BTreeMap<&'a str, &'a PlacementDecision>,
    /// Final objects; their position is how they are referred to.
    last: &'a [PlacementDecision],
    ordered: bool,
}

impl<'a> Change<'a> {
    /// Creates and metadata writes, before and after the statuses.
    fn metadata(&self) -> (Vec<Write>, Vec<Write>) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for object in self.last {
            let Some(observed) = self.observed.get(name(object)) else {
                let metadata = object.metadata.clone();
                before.push(Write::CreateDecision(Box::new(PlacementDecision {
                    metadata,
                    status: None,
                })));
                continue;
            };
            if differs(!same_metadata(&observed.metadata, &object.metadata)) {
                let rises = group_index(object) > group_index(observed);
                let phase = if rises { &mut before } else { &mut after };
                phase.push(Write::DecisionMetadata(Box::new(object.metadata.clone())));
            }
        }
        (before, after)
    }

    fn statuses(&self, update: UpdateStrategyType) -> Vec<Vec<Write>> {
        let moves = if sabotaged(Rule::NoGap) {
            Vec::new()
        } else {
            self.moves()
        };
        if update == UpdateStrategyType::RollingUpdate && !moves.is_empty() {
            return self.surge_and_finalize();
        }
        let changed = (0..self.last.len()).filter(|index| differs(self.end(*index) != self.now(*index)));
        let batches = batches(changed, &moves).into_iter();
        batches
            .map(|batch| {
                batch
                    .into_iter()
                    .map(|index| self.status(index, self.end(index)))
                    .collect()
            })
            .collect()
    }

    /// Each object with what it holds and what it will hold, then with what it will hold.
    fn surge_and_finalize(&self) -> Vec<Vec<Write>> {
        let (mut surge, mut finalize) = (Vec::new(), Vec::new());
        for index in 0..self.last.len() {
            let union = self.union(index);
            if differs(union != self.now(index)) {
                surge.push(self.status(index, &union));
            }
            if differs(union != self.end(index)) {
                finalize.push(self.status(index, self.end(index)));
            }
        }
        vec![surge, finalize]
    }

    /// Final entries first, in their order; in a decision without order all by name.
    fn union(&self, index: usize) -> Vec<ClusterDecision> {
        let mut union = self.end(index).to_vec();
        let known: HashSet<&str> = self
            .end(index)
            .iter()
            .map(|entry| entry.cluster_name.as_str())
            .collect();
        let leaving = self
            .now(index)
            .iter()
            .filter(|entry| !known.contains(entry.cluster_name.as_str()));
        union.extend(leaving.cloned());
        if !self.ordered {
            union.sort_by(|left, right| left.cluster_name.cmp(&right.cluster_name));
        }
        union
    }

    /// For each cluster that changes objects: the object it goes to, and those that lose it. A cluster that is also
    /// in an object that will be deleted is safe in there until the end.
    fn moves(&self) -> Vec<(usize, Vec<usize>)> {
        let numbers: HashMap<&str, usize> = self
            .last
            .iter()
            .enumerate()
            .map(|(index, object)| (name(object), index))
            .collect();
        let mut holders: HashMap<&str, Vec<Option<usize>>> = HashMap::new();
        for (name, object) in &self.observed {
            for entry in entries(object) {
                holders
                    .entry(&entry.cluster_name)
                    .or_default()
                    .push(numbers.get(name).copied());
            }
        }
        let mut moves = Vec::new();
        for (index, object) in self.last.iter().enumerate() {
            for entry in entries(object) {
                let held = holders
                    .get(entry.cluster_name.as_str())
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                if !held.is_empty() && !held.contains(&Some(index)) {
                    let from: Option<Vec<usize>> = held.iter().copied().collect();
                    moves.push((index, from.unwrap_or_default()));
                }
            }
        }
        moves
    }

    fn deletes(&self, names: &HashSet<&str>) -> Vec<Write> {
        let obsolete = self.observed.iter().filter(|(name, _)| !names.contains(*name));
        obsolete
            .map(|(_, object)| Write::delete_decision(&object.metadata))
            .collect()
    }

    /// What the object holds now.
    fn now(&self, index: usize) -> &'a [ClusterDecision] {
        self.observed
            .get(name(&self.last[index]))
            .map_or(&[], |object| entries(object))
    }

    /// What the object will hold.
    fn end(&self, index: usize) -> &'a [ClusterDecision] {
        entries(&self.last[index])
    }

    fn status(&self, index: usize, decisions: &[ClusterDecision]) -> Write {
        let object = Reference::to(&self.last[index].metadata);
        Write::DecisionStatus {
            object,
            status: PlacementDecisionStatus {
                decisions: decisions.to_vec(),
            },
        }
    }
}

fn name(object: &PlacementDecision) -> &str {
    object.metadata.name.as_deref().unwrap_or_default()
}

fn group_index(object: &PlacementDecision) -> Option<usize> {
    parse_number(group_labels(&object.metadata).0)
}
