//! One placement, from the engine's decision to the answer.

use jiff::Timestamp;
use portolan_api::FieldError;
use portolan_engine::conditions;
use portolan_engine::decide::{self, Decision, Stored};
use portolan_engine::engine::Engine;
use portolan_engine::fleet::{ClusterId, Clusters, Fleet};
use portolan_engine::layout::PublishScores;
use portolan_engine::outcome::Outcome;
use portolan_engine::placement::{PlacementKey, owns_decision, owns_slice, with_stand_ins};

use super::report::{Filter, Found, PlacementReport, Prioritizer};
use crate::input::Severity;
use crate::world::World;

/// Decides a placement against the state that was read, and nothing but that.
pub(super) fn placement(
    world: &mut World,
    key: &PlacementKey,
    publish: PublishScores,
    now: Timestamp,
) -> Option<PlacementReport> {
    let stored = world.stored(key);
    let decision = decide::decide(&mut world.engine, key, &stored, publish, now)?;
    let refused = refused_annotations(&world.engine, key);
    let mut findings = findings(&world.engine, key, &decision.outcome);
    let mut report = report(world.engine.fleet(), key, decision, stored);
    report.conditions.extend(conditions::annotation_refused(&refused));
    let refused = refused.into_iter();
    findings.extend(refused.map(|error| Found::new(Severity::Error, format!("Placement {key}"), error)));
    Some(PlacementReport { findings, ..report })
}

/// The annotations that stand in for fields and have a value that is not known. What could be read is in the fields
/// already, and a field that is set is not looked up again.
fn refused_annotations(engine: &Engine, key: &PlacementKey) -> Vec<FieldError> {
    let placement = engine.placement(key).cloned();
    placement.map_or_else(Vec::new, |mut placement| with_stand_ins(&mut placement))
}

/// What is wrong with a placement, field by field: what its conditions say in words.
fn findings(engine: &Engine, key: &PlacementKey, outcome: &Outcome) -> Vec<Found> {
    let mistakes = engine.mistakes(key);
    let mistakes = mistakes
        .into_iter()
        .map(|error| Found::new(Severity::Error, format!("Placement {key}"), error));
    let warnings = engine.describe_warnings(key, outcome);
    let warnings = warnings
        .into_iter()
        .map(|warning| Found::new(Severity::Warning, warning.object, warning.error));
    mistakes.chain(warnings).collect()
}

fn report(fleet: &Fleet, key: &PlacementKey, decision: Decision, stored: Stored) -> PlacementReport {
    let Decision {
        outcome,
        conditions,
        layout,
        requeue_at,
    } = decision;
    let name = |cluster: ClusterId| fleet.name(cluster).to_string();
    let scored: Vec<(String, i64)> = outcome
        .scored()
        .map(|(cluster, total)| (name(cluster), total))
        .collect();
    let prioritizers = outcome.prioritizers.iter().map(|prioritizer| Prioritizer {
        name: prioritizer.name(),
        weight: prioritizer.weight,
        scores: prioritizer
            .given(&outcome)
            .map(|(cluster, score)| (name(cluster), score))
            .collect(),
    });
    // Slices that are refused are not written: what is there stays.
    let (mut decisions, mut slices) = (layout.decisions, layout.slices.unwrap_or(stored.slices));
    // What stands on the placement's names but belongs to others is no part of its decision.
    decisions.retain(|decision| owns_decision(key, decision));
    slices.retain(|slice| owns_slice(key, slice));
    PlacementReport {
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        status: outcome.status.code,
        plugin: outcome.status.plugin.clone(),
        message: outcome.status.message.clone(),
        candidates: names(fleet, &outcome.candidates),
        filters: [
            Filter {
                name: "Predicate",
                clusters: names(fleet, &outcome.matched),
            },
            Filter {
                name: "TaintToleration",
                clusters: names(fleet, &outcome.survivors),
            },
        ],
        prioritizers: prioritizers.collect(),
        selected: outcome.selected_by_rank().into_iter().map(name).collect(),
        unscheduled: outcome.unscheduled,
        requeue_at: requeue_at.map(|at| at.to_string()),
        decision_groups: layout.decision_groups,
        conditions,
        placement_decisions: decisions,
        slices,
        scores: scored.into_iter().collect(),
        ranks: (1..)
            .zip(outcome.by_rank())
            .map(|(rank, cluster)| (name(cluster), rank))
            .collect(),
        findings: Vec::new(),
    }
}

fn names(fleet: &Fleet, clusters: &Clusters) -> Vec<String> {
    let mut names: Vec<String> = clusters
        .iter()
        .map(|cluster| fleet.name(cluster).to_string())
        .collect();
    names.sort_unstable();
    names
}
