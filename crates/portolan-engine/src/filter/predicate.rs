//! Predicate: a cluster passes when any entry of `spec.predicates` matches it.

use crate::fleet::{Clusters, Fleet};
use crate::placement::Predicate;

/// Fills in the CEL verdicts that `filter` will read. Only clusters that pass labels and claims are evaluated.
pub(crate) fn prepare(fleet: &mut Fleet, predicates: &[Predicate], candidates: &Clusters) {
    for predicate in predicates
        .iter()
        .filter(|predicate| !predicate.programs.is_empty())
    {
        let mut set = candidates.clone();
        fleet.narrow_labels(&predicate.labels, &mut set);
        fleet.narrow_claims(&predicate.claims, &mut set);
        fleet.ensure_cel(&predicate.expressions, &set);
    }
}

pub(crate) fn filter(fleet: &Fleet, predicates: &[Predicate], candidates: &Clusters) -> Clusters {
    let one = |predicate: &Predicate| {
        let mut set = candidates.clone();
        fleet.narrow_labels(&predicate.labels, &mut set);
        fleet.narrow_claims(&predicate.claims, &mut set);
        if !predicate.programs.is_empty() {
            fleet.narrow_cel(&predicate.expressions, &mut set);
        }
        set
    };
    match predicates {
        [] => candidates.clone(),
        [only] => one(only),
        several => several.iter().fold(Clusters::default(), |mut any, predicate| {
            any.union_with(&one(predicate));
            any
        }),
    }
}
