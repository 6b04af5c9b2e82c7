//! One label change with everything that follows: index, concerned placements, evaluation, layout and write plan of the
//! slices. OCM objects are laid out and counted aside: a cluster that joins there moves all that come after it by name.

use std::collections::{BTreeSet, HashMap};

use portolan_api::cluster::SortBy;
use portolan_engine::decide;
use portolan_engine::engine::Engine;
use portolan_engine::layout::{self, Desired, Layout, PublishScores, ScorePolicy};
use portolan_engine::outcome::Outcome;
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{self, Observed, Plan, Write};
use portolan_generate::{Generator, Kind};

use super::{full, subject};
use crate::clock::timed;
use crate::figures::median;

/// A change that concerns more placements than this is carried out and not counted.
const MOST_CONCERNED: usize = 10;

/// The changes are made in so many parts.
const PARTS: usize = 5;

/// What a change takes.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeFigures {
    /// Median over the changes that count.
    pub(super) ns: u64,
    /// Full evaluation of all placements, median.
    pub(super) full_ns: u64,
    /// Full evaluation / one change, median over the parts.
    pub(super) ratio: f64,
    /// Changes that count.
    pub(super) counted: usize,
    /// Median number of placements that were evaluated.
    pub(super) concerned: u64,
    /// Objects written per change.
    pub(super) kep_slices: f64,
    pub(super) ocm_objects: f64,
}

/// The objects of one placement as they would be stored, by kind.
#[derive(Debug, Default)]
struct Stored {
    slices: Observed,
    decisions: Observed,
}

pub(super) fn measure(engine: &mut Engine, fleet: &Generator, changes: usize) -> ChangeFigures {
    let keys: Vec<PlacementKey> = engine.placements().cloned().collect();
    let mut stored = lay_out_all(engine, fleet);
    let mut figures = ChangeFigures::default();
    let (mut rounds, mut times, mut ratios, mut concerned) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    // A full evaluation before each part: what else the machine does then slows both, and not their ratio.
    for part in 0..PARTS {
        let full = full::round(engine, fleet, &keys);
        rounds.push(full);
        let mut part_times = Vec::new();
        for change in changes * part / PARTS..changes * (part + 1) / PARTS {
            let (took, written) = one_change(engine, fleet, &mut stored, change);
            if (1..=MOST_CONCERNED).contains(&written.placements) {
                part_times.push(took);
                concerned.push(written.placements as u64);
                figures.kep_slices += written.slices as f64;
                figures.ocm_objects += written.decisions as f64;
            }
        }
        if !part_times.is_empty() {
            times.extend(&part_times);
            ratios.push(full.saturating_mul(100) / median(part_times).max(1));
        }
    }
    figures.counted = times.len();
    figures.kep_slices /= times.len().max(1) as f64;
    figures.ocm_objects /= times.len().max(1) as f64;
    figures.concerned = median(concerned);
    figures.ns = median(times);
    figures.full_ns = median(rounds);
    figures.ratio = median(ratios) as f64 / 100.0;
    figures
}

/// What one change led to.
struct Written {
    placements: usize,
    slices: usize,
    decisions: usize,
}

fn one_change(
    engine: &mut Engine,
    fleet: &Generator,
    stored: &mut HashMap<PlacementKey, Stored>,
    change: usize,
) -> (u64, Written) {
    let nothing = Observed::default();
    let cluster = fleet.moved(change);
    let (took, planned) = timed(|| {
        engine.apply_cluster(&cluster);
        let outcomes = engine.evaluate_due(fleet.now());
        let plan = |(key, outcome)| {
            let observed = stored.get(&key).map_or(&nothing, |stored| &stored.slices);
            let planned = plan_slices(engine, fleet, observed, &key, &outcome);
            (key, outcome, planned)
        };
        outcomes.into_iter().map(plan).collect::<Vec<_>>()
    });
    let mut written = Written {
        placements: planned.len(),
        slices: 0,
        decisions: 0,
    };
    for (key, outcome, (slices, slices_plan)) in planned {
        engine.complete(&key);
        let place = stored.entry(key.clone()).or_default();
        let (decisions, decisions_plan) = plan_decisions(engine, fleet, &place.decisions, &key, &outcome);
        written.slices += objects(&slices_plan, slice_name);
        written.decisions += objects(&decisions_plan, decision_name);
        *place = Stored {
            slices: observed(slices),
            decisions: observed(decisions),
        };
    }
    (took, written)
}

/// The objects of the placements that go by label or expression, which are those that a team can concern.
fn lay_out_all(engine: &mut Engine, fleet: &Generator) -> HashMap<PlacementKey, Stored> {
    let nothing = Observed::default();
    let mut stored = HashMap::new();
    for key in [Kind::Label, Kind::Cel]
        .into_iter()
        .flat_map(|kind| subject::of_kind(fleet, kind))
    {
        if let Some(outcome) = engine.evaluate(&key, fleet.now()) {
            let (slices, _) = plan_slices(engine, fleet, &nothing, &key, &outcome);
            let (decisions, _) = plan_decisions(engine, fleet, &nothing, &key, &outcome);
            stored.insert(
                key,
                Stored {
                    slices: observed(slices),
                    decisions: observed(decisions),
                },
            );
        }
    }
    stored
}

fn plan_slices(
    engine: &Engine,
    fleet: &Generator,
    stored: &Observed,
    key: &PlacementKey,
    outcome: &Outcome,
) -> (Layout, Plan) {
    plan_for(engine, stored, key, outcome, |desired| {
        let (slices, scores_due) = layout::layout_slices(desired, &stored.slices, policy(fleet));
        Layout {
            decisions: Vec::new(),
            slices,
            decision_groups: Vec::new(),
            scores_due,
            writes_decision_status: false,
            ordered: desired.ordered,
        }
    })
}

fn plan_decisions(
    engine: &Engine,
    fleet: &Generator,
    stored: &Observed,
    key: &PlacementKey,
    outcome: &Outcome,
) -> (Layout, Plan) {
    plan_for(engine, stored, key, outcome, |desired| Layout {
        slices: Ok(Vec::new()),
        ..layout::layout(desired, &stored.decisions, &[], policy(fleet))
    })
}

fn plan_for(
    engine: &Engine,
    stored: &Observed,
    key: &PlacementKey,
    outcome: &Outcome,
    lay_out: impl FnOnce(Desired<'_>) -> Layout,
) -> (Layout, Plan) {
    let placement = engine
        .placement(key)
        .expect("an evaluated placement is in the engine");
    let groups = outcome.named_groups(engine.fleet());
    let layout = lay_out(Desired {
        placement,
        groups: &groups,
        grouped: decide::has_groups(placement),
        ordered: placement.spec.sort_by == Some(SortBy::Score),
        profile_namespace: &key.namespace,
    });
    let plan = plan::plan(stored, &layout, decide::update_strategy(placement), None);
    (layout, plan)
}

fn policy(fleet: &Generator) -> ScorePolicy {
    ScorePolicy {
        publish: PublishScores::Never,
        in_decisions: true,
        now: fleet.now(),
    }
}

/// The objects once the plan is carried out.
fn observed(layout: Layout) -> Observed {
    Observed {
        status: None,
        decisions: layout.decisions,
        slices: layout.slices.unwrap_or_default(),
    }
}

/// How many objects the plan touches, however often.
fn objects(plan: &Plan, name: impl Fn(&Write) -> Option<&str>) -> usize {
    plan.writes().filter_map(name).collect::<BTreeSet<_>>().len()
}

fn slice_name(write: &Write) -> Option<&str> {
    match write {
        Write::CreateSlice(slice) | Write::ReplaceSlice(slice) => slice.metadata.name.as_deref(),
        Write::DeleteSlice(slice) => Some(&slice.name),
        _ => None,
    }
}

fn decision_name(write: &Write) -> Option<&str> {
    match write {
        Write::CreateDecision(decision) => decision.metadata.name.as_deref(),
        Write::DecisionMetadata(metadata) => metadata.name.as_deref(),
        Write::DecisionStatus { object, .. } | Write::DeleteDecision(object) => Some(&object.name),
        _ => None,
    }
}
