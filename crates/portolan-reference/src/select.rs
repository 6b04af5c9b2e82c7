//! Rank, spread and cut.

use std::collections::BTreeMap;

use jiff::Timestamp;
use portolan_api::cluster::{
    ManagedCluster, SpreadConstraintsTerm, SpreadPolicy, TaintEffect, Toleration, TopologyKeyType,
    UnsatisfiableAction,
};

use super::filter::first_toleration;
use crate::{PlainOutcome, claim, label, name};

/// The survivors from best to worst: fewest untolerated PreferNoSelect taints, highest total, name.
pub(super) fn rank<'a>(
    survivors: &[&'a ManagedCluster],
    tolerations: &[Toleration],
    now: Timestamp,
    outcome: &mut PlainOutcome,
) -> Vec<&'a ManagedCluster> {
    let mut ranked = Vec::new();
    for &cluster in survivors {
        let mut avoided = 0;
        for taint in cluster
            .spec
            .taints
            .iter()
            .filter(|taint| taint.effect == TaintEffect::PreferNoSelect)
        {
            match first_toleration(taint, tolerations, now) {
                None => avoided += 1,
                Some(expiry) => outcome.requeue_at = outcome.requeue_at.into_iter().chain(expiry).min(),
            }
        }
        let total = outcome.totals.get(name(cluster)).copied().unwrap_or(0);
        ranked.push((avoided, -total, cluster));
    }
    ranked.sort_by(|a, b| (a.0, a.1, name(a.2)).cmp(&(b.0, b.1, name(b.2))));
    ranked.into_iter().map(|(_, _, cluster)| cluster).collect()
}

/// The best `wanted` clusters, in rank order. With spread constraints they are taken one by one: the first in rank
/// order that breaks no `DoNotSchedule` constraint and the fewest others.
pub(super) fn choose<'a>(
    ranked: &[&'a ManagedCluster],
    policy: Option<&SpreadPolicy>,
    wanted: usize,
) -> Vec<&'a ManagedCluster> {
    let constraints = policy
        .map(|policy| policy.spread_constraints.as_slice())
        .unwrap_or_default();
    if constraints.is_empty() {
        return ranked.iter().take(wanted).copied().collect();
    }
    let mut counts: Vec<BTreeMap<&str, u32>> = constraints
        .iter()
        .map(|constraint| {
            ranked
                .iter()
                .filter_map(|cluster| Some((domain(constraint, cluster)?, 0)))
                .collect()
        })
        .collect();
    let mut taken = vec![false; ranked.len()];
    for _ in 0..wanted {
        let mut best: Option<(u32, usize)> = None;
        for (position, cluster) in ranked
            .iter()
            .enumerate()
            .filter(|(position, _)| !taken[*position])
        {
            if let Some(violations) = violations(constraints, &counts, cluster)
                && best.is_none_or(|(fewest, _)| violations < fewest)
            {
                best = Some((violations, position));
            }
        }
        let Some((_, position)) = best else { break };
        taken[position] = true;
        for (constraint, counts) in constraints.iter().zip(&mut counts) {
            if let Some(domain) = domain(constraint, ranked[position]) {
                *counts.entry(domain).or_default() += 1;
            }
        }
    }
    ranked
        .iter()
        .zip(taken)
        .filter(|(_, taken)| *taken)
        .map(|(cluster, _)| *cluster)
        .collect()
}

/// How many `ScheduleAnyway` constraints taking the cluster would break; `None` when it would break another kind.
fn violations(
    constraints: &[SpreadConstraintsTerm],
    counts: &[BTreeMap<&str, u32>],
    cluster: &ManagedCluster,
) -> Option<u32> {
    let mut violations = 0;
    for (constraint, counts) in constraints.iter().zip(counts) {
        let fewest = counts.values().copied().min().unwrap_or(0);
        let max_skew = constraint.max_skew.unwrap_or(1).max(1);
        let fits = domain(constraint, cluster)
            .is_some_and(|domain| i64::from(counts[domain] + 1 - fewest) <= i64::from(max_skew));
        match (fits, constraint.when_unsatisfiable) {
            (true, _) => {}
            (false, Some(UnsatisfiableAction::DoNotSchedule)) => return None,
            (false, _) => violations += 1,
        }
    }
    Some(violations)
}

pub(super) fn domain<'a>(constraint: &SpreadConstraintsTerm, cluster: &'a ManagedCluster) -> Option<&'a str> {
    match constraint.topology_key_type {
        TopologyKeyType::Label => label(cluster, &constraint.topology_key),
        TopologyKeyType::Claim => claim(cluster, &constraint.topology_key),
    }
}
