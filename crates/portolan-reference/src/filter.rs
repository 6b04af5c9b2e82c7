//! Predicates, then taints: every cluster is looked at.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use portolan_api::cluster::{ManagedCluster, PlacementSpec, Taint, TaintEffect, Toleration};
use portolan_cel::{Budget, EvalError, Program, Scores, Value};

use crate::{Hub, claim, label, name};
use portolan_engine::mistakes::{self, Mistake};
use portolan_engine::selector::Selector;
use portolan_engine::status::Status;

pub(super) struct Predicate {
    labels: Selector,
    claims: Selector,
    programs: Vec<Program>,
}

pub(super) fn predicates(spec: &PlacementSpec) -> Result<Vec<Predicate>, Status> {
    let wrong = |error| mistakes::predicate(error).status();
    let mut predicates = Vec::new();
    let mut patterns = 0;
    for (index, predicate) in spec.predicates.iter().enumerate() {
        let path = format!("spec.predicates[{index}].requiredClusterSelector");
        let selector = &predicate.required_cluster_selector;
        let sources = selector
            .cel_selector
            .iter()
            .flat_map(|selector| &selector.cel_expressions);
        let mut programs = Vec::new();
        for (position, source) in sources.enumerate() {
            let path = format!("{path}.celSelector.celExpressions[{position}]");
            programs.push(
                Program::compile_selector(source, &mut patterns)
                    .map_err(|error| mistakes::expression(&path, source, &error).status())?,
            );
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

/// How a predicate goes with a cluster that passes its labels and claims.
pub(super) struct Answer {
    /// Whether every expression is true of it; an error or an overrun is not true.
    verdict: Result<bool, EvalError>,
    /// Units that the expressions took; none when there is no expression.
    units: Option<u64>,
}

/// The answers of all predicates for each cluster: none where labels or claims do not match.
pub(super) fn answers(
    hub: &Hub<'_>,
    predicates: &[Predicate],
    clusters: &[&ManagedCluster],
) -> Vec<Vec<Option<Answer>>> {
    let of_cluster = |cluster: &&ManagedCluster| {
        let answer = |predicate: &Predicate| {
            let asked = predicate.labels.matches(|key| label(cluster, key))
                && predicate.claims.matches(|key| claim(cluster, key));
            asked.then(|| match predicate.programs.as_slice() {
                [] => Answer {
                    verdict: Ok(true),
                    units: None,
                },
                programs => {
                    let mut budget = Budget::per_cluster();
                    let verdict = verdict(hub, programs, cluster, &mut budget);
                    let units = Some(budget.spent());
                    Answer { verdict, units }
                }
            })
        };
        predicates.iter().map(answer).collect()
    };
    clusters.iter().map(of_cluster).collect()
}

/// What all evaluations cost together, each of them 100 units at least.
pub(super) fn cost(answers: &[Vec<Option<Answer>>]) -> u128 {
    let mut total = 0;
    for answer in answers.iter().flatten().flatten() {
        match answer.units {
            Some(units) if units < 100 => total += 100,
            Some(units) => total += u128::from(units),
            None => {}
        }
    }
    total
}

/// The clusters that match any of the predicates, or all when there is none.
pub(super) fn matching<'a>(
    predicates: &[Predicate],
    answers: &[Vec<Option<Answer>>],
    clusters: &[&'a ManagedCluster],
) -> Vec<&'a ManagedCluster> {
    let holds = |answer: &Answer| matches!(answer.verdict, Ok(true));
    clusters
        .iter()
        .zip(answers)
        .filter(|(_, answers)| predicates.is_empty() || answers.iter().flatten().any(holds))
        .map(|(cluster, _)| *cluster)
        .collect()
}

/// Predicates whose expressions fail for every cluster that they are evaluated for.
pub(super) fn failing(predicates: &[Predicate], answers: &[Vec<Option<Answer>>]) -> Vec<usize> {
    let fails = |index: &usize| {
        let mut given = answers.iter().filter_map(|row| row[*index].as_ref()).peekable();
        given.peek().is_some() && given.all(|answer| answer.verdict.is_err())
    };
    (0..predicates.len()).filter(fails).collect()
}

fn verdict(
    hub: &Hub<'_>,
    programs: &[Program],
    cluster: &ManagedCluster,
    budget: &mut Budget,
) -> Result<bool, EvalError> {
    let Ok(json) = serde_json::to_value(cluster) else {
        return Ok(false);
    };
    let value = Value::from_json(&json);
    let scores = ClusterScores {
        hub,
        cluster: name(cluster),
    };
    for program in programs {
        if !program.evaluate(&value, &scores, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
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
    let wrong = |mistake: Mistake| Err(mistake.status());
    for (index, toleration) in tolerations.iter().enumerate() {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let (operator, value) = (text(&toleration.operator), text(&toleration.value));
        if !["", "Equal", "Exists"].contains(&operator.as_str()) {
            return wrong(mistakes::toleration_operator(index, &operator));
        }
        if text(&toleration.key).is_empty() && operator != "Exists" {
            return wrong(mistakes::toleration_without_key(index, &operator));
        }
        if operator == "Exists" && !value.is_empty() {
            return wrong(mistakes::toleration_with_value(index, &value));
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
