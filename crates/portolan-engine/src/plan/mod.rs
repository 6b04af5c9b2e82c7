//! From observed objects to final ones: the writes, in phases.
//!
//! Writes of one phase may run in parallel and in any order; a phase starts when the one before it is acknowledged.
//! The order is such that a cluster that stays selected is at every moment in some object, whichever writes have
//! been done: objects grow first and shrink last. A plan that was cut short is not resumed but made anew from what is
//! then observed, and leads to the same end.
//!
//! It decides nothing about content, which is [`crate::layout`]'s, and never writes an object that does not differ.
//! Controllers carry it out; `portolan simulate` and the tests apply it to objects in memory.

mod compare;
mod decisions;
mod order;
mod slices;
#[cfg(test)]
mod tests;
mod write;

use portolan_api::cluster::{self, PlacementStatus, UpdateStrategyType};
use portolan_api::multicluster;

pub use write::{Reference, Write};

use crate::{
    layout::Layout,
    sabotage::{Rule, sabotaged},
};

/// What is known to be there. Objects of others may be among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Status of the placement, if it has one.
    pub status: Option<PlacementStatus>,
    /// OCM decisions.
    pub decisions: Vec<cluster::PlacementDecision>,
    /// KEP slices.
    pub slices: Vec<multicluster::PlacementDecision>,
}

/// The writes that lead from observed to final objects.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a plan changes nothing until it is carried out"]
pub struct Plan {
    /// Phases in order, none of them empty.
    pub phases: Vec<Phase>,
}

/// Writes that may be done in parallel and in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// The writes. No two are for the same part of the same object.
    pub writes: Vec<Write>,
}

impl Plan {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.phases.is_empty()
    }

    /// All writes in order.
    pub fn writes(&self) -> impl Iterator<Item = &Write> {
        self.phases.iter().flat_map(|phase| &phase.writes)
    }
}

/// Plans the writes for a layout, with `status` for the placement itself if it is known.
///
/// The layout must have been made from the same `observed`. The two kinds are written side by side. The status of the
/// placement comes last, so that it never points at an object that is not there yet.
pub fn plan(
    observed: &Observed,
    layout: &Layout,
    update: UpdateStrategyType,
    status: Option<PlacementStatus>,
) -> Plan {
    let decisions = decisions::phases(&observed.decisions, layout, update);
    let slices = match &layout.slices {
        Ok(slices) => slices::phases(&observed.slices, slices),
        Err(_) => Vec::new(),
    };
    let mut phases = side_by_side(decisions, slices);
    phases.extend(
        status
            .filter(|status| differs(observed.status.as_ref() != Some(status)))
            .map(|status| vec![Write::PlacementStatus(Box::new(status))]),
    );
    Plan {
        phases: phases.into_iter().map(|writes| Phase { writes }).collect(),
    }
}

/// Plans the deletion of everything that is observed: the placement is known to be gone.
///
/// The caller hands over only objects it has made sure of; nothing is picked out here.
pub fn teardown(observed: &Observed) -> Plan {
    let decisions = observed
        .decisions
        .iter()
        .map(|object| Write::delete_decision(&object.metadata));
    let slices = observed
        .slices
        .iter()
        .map(|object| Write::delete_slice(&object.metadata));
    let writes: Vec<_> = decisions.chain(slices).collect();
    Plan {
        phases: if writes.is_empty() {
            Vec::new()
        } else {
            vec![Phase { writes }]
        },
    }
}

/// The first phases of both together, then the second ones, and so on. Phases without writes vanish.
fn side_by_side(left: Vec<Vec<Write>>, right: Vec<Vec<Write>>) -> Vec<Vec<Write>> {
    let full = |phases: Vec<Vec<Write>>| phases.into_iter().filter(|phase| !phase.is_empty());
    let (mut left, mut right) = (full(left), full(right));
    let both = std::iter::from_fn(|| match (left.next(), right.next()) {
        (None, None) => None,
        (left, right) => Some(left.into_iter().chain(right).flatten().collect()),
    });
    both.collect()
}

/// Rule 3: what does not differ is not written.
fn differs(really: bool) -> bool {
    really || sabotaged(Rule::UnchangedUntouched)
}
