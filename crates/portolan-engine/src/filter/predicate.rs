//! Predicate: a cluster passes when any entry of `spec.predicates` matches it.

use crate::fleet::cel::{CelVerdict, LEAST_COST};
use crate::fleet::{ClusterId, Clusters, Fleet, Spending};
use crate::placement::Predicate;

/// How the expressions of one predicate went with the clusters that they were evaluated for: those that pass its labels
/// and claims. One cluster is remembered as a witness, so that a later change of another cluster need not be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coverage {
    /// Position of the predicate.
    pub(crate) predicate: usize,
    /// A cluster for which they did not fail; or else, if they failed for every cluster, any of those. None when they
    /// were evaluated for no cluster.
    pub(crate) witness: Option<ClusterId>,
    /// They failed for every cluster, and there was one.
    pub(crate) fails: bool,
}

impl Coverage {
    /// Whether a change of one cluster may change whether the expressions fail for every cluster. `verdict` is how they
    /// go with the cluster now; none when they are not evaluated for it.
    pub(crate) fn is_changed_by(&self, cluster: ClusterId, verdict: Option<CelVerdict>) -> bool {
        let is_witness = self.witness == Some(cluster);
        match (self.witness.is_some(), self.fails) {
            (false, _) => verdict == Some(CelVerdict::Failed),
            (true, false) => is_witness && verdict.is_none_or(|verdict| verdict == CelVerdict::Failed),
            (true, true) => match verdict {
                Some(verdict) => verdict != CelVerdict::Failed,
                None => is_witness,
            },
        }
    }
}

/// Fills in the CEL verdicts that `filter` will read, and tells what they cost. Only clusters that pass labels and claims
/// are evaluated.
///
/// Each verdict counts with its cost, whether it was known or not, so that the sum depends on the predicates and the
/// clusters alone. Once it is beyond the limit, nothing more is evaluated, and there is nothing for `filter` to read.
pub(crate) fn prepare(fleet: &mut Fleet, predicates: &[Predicate], candidates: &Clusters) -> Spending {
    let mut spending = fleet.spending();
    let mut pending: Vec<(&Predicate, Clusters)> = Vec::new();
    let mut unknown = Clusters::default();
    for predicate in predicates
        .iter()
        .filter(|predicate| !predicate.programs.is_empty())
    {
        let mut asked = candidates.clone();
        fleet.narrow_labels(&predicate.labels, &mut asked);
        fleet.narrow_claims(&predicate.claims, &mut asked);
        let (cost, missing) = fleet.cel_cost(&predicate.expressions, &asked);
        spending.add(cost);
        if spending.is_beyond() {
            return spending;
        }
        if !missing.is_empty() {
            unknown.union_with(&missing);
            pending.push((predicate, missing));
        }
    }
    // Cluster by cluster, because the document of a cluster is read once for all predicates in a row.
    for cluster in unknown.iter() {
        for (predicate, _) in pending.iter().filter(|(_, missing)| missing.contains(cluster)) {
            let judged = fleet.verdict(&predicate.expressions, cluster);
            spending.add(judged.cost - LEAST_COST);
            if spending.is_beyond() {
                return spending;
            }
        }
    }
    spending
}

/// The clusters that match, and how the expressions went.
pub(crate) fn filter(
    fleet: &Fleet,
    predicates: &[Predicate],
    candidates: &Clusters,
) -> (Clusters, Vec<Coverage>) {
    let mut coverage = Vec::new();
    let mut one = |(index, predicate): (usize, &Predicate)| {
        let mut set = candidates.clone();
        fleet.narrow_labels(&predicate.labels, &mut set);
        fleet.narrow_claims(&predicate.claims, &mut set);
        if !predicate.programs.is_empty() {
            let (witness, fails) = fleet.cel_witness(&predicate.expressions, &set);
            coverage.push(Coverage {
                predicate: index,
                witness,
                fails,
            });
            fleet.narrow_cel(&predicate.expressions, &mut set);
        }
        set
    };
    let matched = match predicates {
        [] => candidates.clone(),
        [only] => one((0, only)),
        several => several
            .iter()
            .enumerate()
            .fold(Clusters::default(), |mut any, numbered| {
                any.union_with(&one(numbered));
                any
            }),
    };
    (matched, coverage)
}
