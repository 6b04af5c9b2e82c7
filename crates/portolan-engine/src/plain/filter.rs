//! Predicates, then taints: every cluster is looked at.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use portolan_api::cluster::{ManagedCluster, PlacementSpec, Taint, TaintEffect, Toleration};
use portolan_cel::{Budget, Program, Scores, Value};

use super::{Hub, claim, label, name};
use crate::filter::{PREDICATE, TAINT_TOLERATION};
use crate::selector::{Selector, preview};
use crate::status::Status;

pub(super) struct Predicate {
    labels: Selector,
    claims: Selector,
    programs: Vec<Program>,
}

pub(super) fn predicates(spec: &PlacementSpec) -> Result<Vec<Predicate>, Status> {
    let wrong = |problem: String| Status::misconfigured(PREDICATE, problem);
    let mut predicates = Vec::new();
    for (index, predicate) in spec.predicates.iter().enumerate() {
        let path = format!("spec.predicates[{index}].requiredClusterSelector");
        let selector = &predicate.required_cluster_selector;
        let sources = selector
            .cel_selector
            .iter()
            .flat_map(|selector| &selector.cel_expressions);
        let mut programs = Vec::new();
        for (position, source) in sources.enumerate() {
            programs.push(Program::compile(source).map_err(|error| {
                wrong(format!(
                    "{error} (in {path}.celSelector.celExpressions[{position}]: {:?})",
                    preview(source)
                ))
            })?);
        }
        predicates.push(Predicate {
            labels: Selector::from_labels(selector.label_selector.as_ref(), &format!("{path}.labelSelector"))
                .map_err(wrong)?,
            claims: Selector::from_claims(selector.claim_selector.as_ref(), &format!("{path}.claimSelector"))
                .map_err(wrong)?,
            programs,
        });
    }
    Ok(predicates)
}

/// The clusters that match any of the predicates, or all when there is none.
pub(super) fn matching<'a>(
    hub: &Hub<'_>,
    predicates: &[Predicate],
    clusters: &[&'a ManagedCluster],
) -> Vec<&'a ManagedCluster> {
    let matches = |cluster: &ManagedCluster| {
        predicates.iter().any(|predicate| {
            predicate.labels.matches(|key| label(cluster, key))
                && predicate.claims.matches(|key| claim(cluster, key))
                && (predicate.programs.is_empty() || holds(hub, &predicate.programs, cluster))
        })
    };
    clusters
        .iter()
        .copied()
        .filter(|cluster| predicates.is_empty() || matches(cluster))
        .collect()
}

/// Whether every expression is true of the cluster; an error or an overrun is not true.
fn holds(hub: &Hub<'_>, programs: &[Program], cluster: &ManagedCluster) -> bool {
    let Ok(json) = serde_json::to_value(cluster) else {
        return false;
    };
    let value = Value::from_json(&json);
    let scores = ClusterScores {
        hub,
        cluster: name(cluster),
    };
    let mut budget = Budget::per_cluster();
    programs.iter().all(|program| {
        program
            .evaluate(&value, &scores, &mut budget)
            .is_ok_and(|verdict| verdict)
    })
}

struct ClusterScores<'a> {
    hub: &'a Hub<'a>,
    cluster: &'a str,
}

impl Scores for ClusterScores<'_> {
    fn scores(&self, resource_name: &str) -> Option<Vec<(String, i64)>> {
        let object = self.hub.scores.get(&(self.cluster, resource_name))?;
        let items = object.status.iter().flat_map(|status| &status.scores);
        Some(
            items
                .map(|item| (item.name.clone(), i64::from(item.value)))
                .collect(),
        )
    }
}

pub(super) fn check_tolerations(tolerations: &[Toleration]) -> Result<(), Status> {
    for toleration in tolerations {
        let empty = |field: &Option<String>| field.as_deref().unwrap_or_default().is_empty();
        let exists = toleration.operator.as_deref() == Some("Exists");
        if empty(&toleration.key) && !exists {
            let message = "If the key is empty, operator must be Exists.";
            return Err(Status::misconfigured(TAINT_TOLERATION, message));
        }
        if exists && !empty(&toleration.value) {
            let message = "If the operator is Exists, the value should be empty.";
            return Err(Status::misconfigured(TAINT_TOLERATION, message));
        }
    }
    Ok(())
}

/// The clusters each of whose taints is tolerated, and when that first stops being so for one of them.
pub(super) fn tolerated<'a>(
    clusters: &[&'a ManagedCluster],
    tolerations: &[Toleration],
    in_decision: &BTreeSet<&str>,
    now: Timestamp,
) -> (Vec<&'a ManagedCluster>, Option<Timestamp>) {
    let mut passed = Vec::new();
    let mut expiries = Vec::new();
    for &cluster in clusters {
        let mut own_expiries = Vec::new();
        let all = cluster.spec.taints.iter().all(|taint| match taint.effect {
            TaintEffect::PreferNoSelect => true,
            TaintEffect::NoSelectIfNew if in_decision.contains(name(cluster)) => true,
            _ => match first_toleration(taint, tolerations, now) {
                Some(expiry) => {
                    own_expiries.extend(expiry);
                    true
                }
                None => false,
            },
        });
        if all {
            passed.push(cluster);
            expiries.append(&mut own_expiries);
        }
    }
    (passed, expiries.into_iter().min())
}

/// The first toleration in list order that matches the taint and has not run out: when it does, if ever.
pub(super) fn first_toleration(
    taint: &Taint,
    tolerations: &[Toleration],
    now: Timestamp,
) -> Option<Option<Timestamp>> {
    let matching = tolerations
        .iter()
        .filter(|toleration| tolerates(toleration, taint));
    matching
        .map(|toleration| expiry(toleration, taint))
        .find(|expiry| expiry.is_none_or(|expiry| now < expiry))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let key = toleration.key.as_deref().unwrap_or_default();
    let value = toleration.value.as_deref().unwrap_or_default();
    toleration.effect.is_none_or(|effect| effect == taint.effect)
        && (key.is_empty() || key == taint.key)
        && match toleration.operator.as_deref().unwrap_or_default() {
            "" | "Equal" => value == taint.value.as_deref().unwrap_or_default(),
            "Exists" => true,
            _ => false,
        }
}

/// Counted from the time the taint was added; a taint without one is older than any toleration.
fn expiry(toleration: &Toleration, taint: &Taint) -> Option<Timestamp> {
    let seconds = toleration.toleration_seconds?;
    let Some(added) = &taint.time_added else {
        return Some(Timestamp::MIN);
    };
    let beyond = if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    Some(
        added
            .0
            .checked_add(SignedDuration::from_secs(seconds))
            .unwrap_or(beyond),
    )
}
