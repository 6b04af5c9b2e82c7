//! Rule 8: the reference formulas, to compare an engine's numbers with.
//!
//! Scores are integers, conversion is truncation toward zero, and the floating-point operations happen in exactly the
//! order the reference has them: another order differs by one. Nothing here is meant to be fast.

mod groups;
mod quantity;
mod rank;

use std::{collections::BTreeMap, fmt::Display};

pub use groups::{GroupSize, NamedGroup, group_cuts, group_size, ocm_slices};
pub use quantity::quantity;
pub use rank::{Ranked, rank, total};

use crate::{CheckId, Report};

/// Balance: `count` is how often other placements' decisions name the cluster, `max` the largest such count of any
/// cluster. A cluster that nothing names gets 100.
pub fn balance(count: u64, max: u64) -> i64 {
    if count == 0 || max == 0 {
        return 100;
    }
    2 * (100.0 * (0.5 - count as f64 / max as f64)) as i64
}

/// Steady: 100 for a cluster that the placement's own decision names already.
pub fn steady(in_decision: bool) -> i64 {
    if in_decision { 100 } else { 0 }
}

/// A value on the scale from -100 at the smallest to 100 at the largest; 100 when all are the same.
pub fn scaled(value: f64, min: f64, max: f64) -> i64 {
    if max == min {
        return 100;
    }
    (((value - min) / (max - min) - 0.5) * 2.0 * 100.0) as i64
}

/// What one candidate tells about a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The cluster.
    pub cluster: String,
    /// `status.allocatable` of the resource, as [`quantity`] reads it.
    pub allocatable: Option<f64>,
    /// Whether `status.capacity` has the resource too.
    pub has_capacity: bool,
}

/// ResourceAllocatableCPU and ResourceAllocatableMemory: smallest and largest are taken over the candidates that have
/// both allocatable and capacity; the others contribute 0.
pub fn resources(candidates: &[Resource]) -> BTreeMap<String, i64> {
    let value = |resource: &Resource| resource.allocatable.filter(|_| resource.has_capacity);
    let values = || candidates.iter().filter_map(value);
    let min = values().fold(f64::INFINITY, f64::min);
    let max = values().fold(f64::NEG_INFINITY, f64::max);
    let score = |resource| value(resource).map_or(0, |value| scaled(value, min, max));
    candidates
        .iter()
        .map(|resource| (resource.cluster.clone(), score(resource)))
        .collect()
}

/// The helper for producers of AddOnPlacementScores: a value between two bounds, on -100 to 100.
pub fn normalised(value: f64, min: f64, max: f64) -> i64 {
    if value > max {
        100
    } else if value <= min {
        -100
    } else {
        (200.0 * (value - min) / (max - min) - 100.0) as i64
    }
}

/// Rule 8: the numbers given under each name are the reference's. `what` names them in the findings.
pub fn agree<N: PartialEq + Display>(
    what: &str,
    given: &BTreeMap<String, N>,
    reference: &BTreeMap<String, N>,
) -> Report {
    let mut report = Report::new();
    let names = given
        .keys()
        .chain(reference.keys().filter(|name| !given.contains_key(*name)));
    for name in names.filter(|name| given.get(*name) != reference.get(*name)) {
        let told = |number: Option<&N>| number.map_or("nothing".to_owned(), N::to_string);
        let message = format!(
            "{} given, the reference says {}",
            told(given.get(name)),
            told(reference.get(name))
        );
        report.add(CheckId::Rule8, format_args!("{what} of {name}"), message);
    }
    report
}
