//! A full evaluation of each kind of placement: the engine against the plain evaluator.

use std::collections::HashMap;

use portolan_api::cluster::{
    AddOnPlacementScore, ClusterDecision, ManagedCluster, PlacementDecision, PlacementDecisionStatus,
};
use portolan_api::labels::ocm;
use portolan_engine::engine::Engine;
use portolan_engine::fleet::ClusterId;
use portolan_engine::outcome::Outcome;
use portolan_engine::placement::PlacementKey;
use portolan_generate::{Generator, Kind};
use portolan_reference::{Hub, PlainOutcome, Usage};

use super::subject;
use crate::clock::timed;
use crate::figures::median;

/// How often the engine evaluates everything; the median counts.
const ROUNDS: usize = 5;

/// What one kind of placement takes.
#[derive(Clone, Debug)]
pub(super) struct KindFigures {
    pub(super) kind: Kind,
    /// Placements of the kind, all evaluated by the engine.
    pub(super) placements: usize,
    /// Engine, all placements of the kind.
    pub(super) engine_ns: u64,
    /// Placements evaluated by the plain evaluator.
    pub(super) sampled: usize,
    /// Engine and plain evaluator, the sampled placements.
    pub(super) engine_sampled_ns: u64,
    pub(super) plain_sampled_ns: u64,
}

impl KindFigures {
    pub(super) fn ratio(&self) -> f64 {
        self.plain_sampled_ns as f64 / self.engine_sampled_ns.max(1) as f64
    }
}

/// What the placements decided, in the form that the plain evaluator takes: counts for all of them, objects for those
/// that are sampled.
#[derive(Debug, Default)]
pub(super) struct Decided {
    entries: HashMap<ClusterId, u64>,
    sampled: HashMap<PlacementKey, Vec<PlacementDecision>>,
}

impl Decided {
    /// Room for the objects of the sampled placements.
    pub(super) fn new(fleet: &Generator) -> Decided {
        let keys = Kind::ALL.into_iter().flat_map(|kind| sample(fleet, kind));
        Decided {
            entries: HashMap::new(),
            sampled: keys.map(|key| (key, Vec::new())).collect(),
        }
    }

    pub(super) fn see(&mut self, engine: &Engine, key: &PlacementKey, outcome: &Outcome) {
        for cluster in outcome.selected.iter() {
            *self.entries.entry(cluster).or_default() += 1;
        }
        if let Some(decisions) = self.sampled.get_mut(key) {
            let groups = outcome.named_groups(engine.fleet());
            let entry = |name: &str| ClusterDecision {
                cluster_name: name.to_owned(),
                ..ClusterDecision::default()
            };
            decisions.extend(groups.iter().enumerate().map(|(index, group)| {
                let entries = group
                    .clusters
                    .iter()
                    .map(|cluster| entry(&cluster.name))
                    .collect();
                decision(key, index, &group.name, entries)
            }));
        }
    }

    /// How often each cluster is named by placements other than this one.
    fn usage(&self, engine: &Engine, own: &[PlacementDecision]) -> Usage {
        let mut usage: Usage = self
            .entries
            .iter()
            .map(|(cluster, count)| (engine.fleet().name(*cluster).to_string(), *count))
            .collect();
        for entry in own
            .iter()
            .flat_map(|decision| &decision.status)
            .flat_map(|status| &status.decisions)
        {
            if let Some(count) = usage.get_mut(&entry.cluster_name) {
                *count -= 1;
            }
        }
        usage
    }
}

fn decision(
    key: &PlacementKey,
    group: usize,
    group_name: &str,
    decisions: Vec<ClusterDecision>,
) -> PlacementDecision {
    let labels = [
        (ocm::PLACEMENT, key.name.to_string()),
        (ocm::DECISION_GROUP_INDEX, group.to_string()),
        (ocm::DECISION_GROUP_NAME, group_name.to_owned()),
    ];
    let mut object = PlacementDecision {
        status: Some(PlacementDecisionStatus { decisions }),
        ..PlacementDecision::default()
    };
    object.metadata.namespace = Some(key.namespace.to_string());
    object.metadata.labels = Some(
        labels
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    );
    object
}

/// The plain evaluator takes milliseconds to a second a placement, so it gets a fixed number of each kind, spread
/// over all of them.
fn sample(fleet: &Generator, kind: Kind) -> Vec<PlacementKey> {
    let wanted = match kind {
        Kind::Cel => 2,
        Kind::TopN | Kind::All => 6,
        Kind::Label | Kind::Claim => 12,
    };
    let keys = subject::of_kind(fleet, kind);
    let step = (keys.len() / wanted).max(1);
    keys.into_iter().step_by(step).take(wanted).collect()
}

/// Evaluates every placement with the engine and the sampled ones with the plain evaluator; the two must agree.
pub(super) fn measure(
    engine: &mut Engine,
    fleet: &Generator,
    decided: &Decided,
) -> anyhow::Result<Vec<KindFigures>> {
    let clusters: Vec<ManagedCluster> = (0..fleet.clusters).map(|index| fleet.cluster(index)).collect();
    let scores: Vec<AddOnPlacementScore> = (0..fleet.clusters).map(|index| fleet.score(index)).collect();
    let (sets, bindings) = (fleet.sets(), fleet.bindings());
    let hub = Hub::new(&clusters, &sets, &bindings, &scores);
    Kind::ALL
        .into_iter()
        .map(|kind| measure_kind(engine, fleet, decided, &hub, kind))
        .collect()
}

fn measure_kind(
    engine: &mut Engine,
    fleet: &Generator,
    decided: &Decided,
    hub: &Hub<'_>,
    kind: Kind,
) -> anyhow::Result<KindFigures> {
    let keys = subject::of_kind(fleet, kind);
    let sampled = sample(fleet, kind);
    let mut plain_sampled_ns = 0;
    for key in &sampled {
        plain_sampled_ns += compare(engine, fleet, decided, hub, key)?;
    }
    Ok(KindFigures {
        kind,
        placements: keys.len(),
        engine_ns: rounds(engine, fleet, &keys),
        sampled: sampled.len(),
        engine_sampled_ns: rounds(engine, fleet, &sampled),
        plain_sampled_ns,
    })
}

fn rounds(engine: &mut Engine, fleet: &Generator, keys: &[PlacementKey]) -> u64 {
    median((0..ROUNDS).map(|_| round(engine, fleet, keys)).collect())
}

/// Time of the engine for these placements.
pub(super) fn round(engine: &mut Engine, fleet: &Generator, keys: &[PlacementKey]) -> u64 {
    let (took, groups) = timed(|| -> usize {
        let outcomes = keys.iter().filter_map(|key| engine.evaluate(key, fleet.now()));
        outcomes.map(|outcome| outcome.groups.len()).sum()
    });
    std::hint::black_box(groups);
    took
}

/// Time of the plain evaluator for one placement, whose outcome must be the engine's.
fn compare(
    engine: &mut Engine,
    fleet: &Generator,
    decided: &Decided,
    hub: &Hub<'_>,
    key: &PlacementKey,
) -> anyhow::Result<u64> {
    let own = decided.sampled.get(key).map(Vec::as_slice).unwrap_or_default();
    // What other placements use is given to the plain evaluator: counting it anew each time would only make it slower.
    let usage = decided.usage(engine, own);
    let Some(outcome) = engine.evaluate(key, fleet.now()) else {
        anyhow::bail!("{key} is not in the engine")
    };
    let given = PlainOutcome::of(&outcome, engine.fleet());
    let Some(placement) = engine.placement(key) else {
        anyhow::bail!("{key} is not in the engine")
    };
    let (took, right) = timed(|| portolan_reference::evaluate(hub, placement, own, &usage, fleet.now()));
    anyhow::ensure!(
        given == right,
        "{key}: the engine and the plain evaluator do not agree"
    );
    Ok(took)
}
