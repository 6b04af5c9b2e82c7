//! One label change with everything that follows: index, concerned placements, evaluation, layout, write plan.

use std::collections::{BTreeSet, HashMap};

use portolan_api::cluster::SortBy;
use portolan_engine::decide;
use portolan_engine::engine::Engine;
use portolan_engine::generate::{Generator, Kind};
use portolan_engine::layout::{self, Desired, Layout, PublishScores, ScorePolicy};
use portolan_engine::outcome::Outcome;
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{self, Observed, Plan, Write};

use super::{median, subject, timed};

/// A change that concerns more placements than this is carried out and not counted.
const MOST_CONCERNED: usize = 10;

/// What a change takes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeFigures {
    /// Median over the changes that count.
    pub(crate) ns: u64,
    /// Changes that count.
    pub(crate) counted: usize,
    /// Median number of placements that were evaluated.
    pub(crate) concerned: u64,
    /// Objects written per change.
    pub(crate) kep_slices: f64,
    pub(crate) ocm_objects: f64,
}

/// The objects of each placement that a change may concern, as they would be stored.
type Stored = HashMap<PlacementKey, Observed>;

pub(crate) fn measure(engine: &mut Engine, fleet: &Generator, changes: usize) -> ChangeFigures {
    let mut stored = lay_out_all(engine, fleet);
    let (mut times, mut concerned) = (Vec::new(), Vec::new());
    let (mut kep_slices, mut ocm_objects) = (0, 0);
    for change in 0..changes {
        let cluster = fleet.moved(change);
        let (took, written) = timed(|| {
            engine.apply_cluster(&cluster);
            let outcomes = engine.evaluate_due(fleet.now());
            let plan = |(key, outcome)| {
                let written = write(engine, fleet, stored.get(&key), &key, &outcome);
                (key, written)
            };
            outcomes.into_iter().map(plan).collect::<Vec<_>>()
        });
        if (1..=MOST_CONCERNED).contains(&written.len()) {
            times.push(took);
            concerned.push(written.len() as u64);
            for (_, (_, plan)) in &written {
                kep_slices += objects(plan, slice_name);
                ocm_objects += objects(plan, decision_name);
            }
        }
        for (key, (layout, _)) in written {
            engine.complete(&key);
            stored.insert(key, observed(layout));
        }
    }
    let per_change = |objects: usize| objects as f64 / times.len().max(1) as f64;
    ChangeFigures {
        counted: times.len(),
        concerned: median(concerned),
        kep_slices: per_change(kep_slices),
        ocm_objects: per_change(ocm_objects),
        ns: median(times),
    }
}

/// The objects of the placements that go by label or expression, which are those that a team can concern.
fn lay_out_all(engine: &mut Engine, fleet: &Generator) -> Stored {
    let mut stored = Stored::new();
    for key in [Kind::Label, Kind::Cel].into_iter().flat_map(|kind| subject::of_kind(fleet, kind)) {
        if let Some(outcome) = engine.evaluate(&key, fleet.now()) {
            let (layout, _) = write(engine, fleet, None, &key, &outcome);
            stored.insert(key, observed(layout));
        }
    }
    stored
}

fn write(
    engine: &Engine,
    fleet: &Generator,
    stored: Option<&Observed>,
    key: &PlacementKey,
    outcome: &Outcome,
) -> (Layout, Plan) {
    let nothing = Observed::default();
    let stored = stored.unwrap_or(&nothing);
    let placement = engine.placement(key).expect("an evaluated placement is in the engine");
    let groups = outcome.named_groups(engine.fleet());
    let desired = Desired {
        placement,
        groups: &groups,
        grouped: decide::has_groups(placement),
        ordered: placement.spec.sort_by == Some(SortBy::Score),
        profile_namespace: &key.namespace,
    };
    let policy = ScorePolicy { publish: PublishScores::Never, now: fleet.now() };
    let layout = layout::layout(desired, &stored.decisions, &stored.slices, policy);
    let plan = plan::plan(stored, &layout, decide::update_strategy(placement), None);
    (layout, plan)
}

/// The objects once the plan is carried out.
fn observed(layout: Layout) -> Observed {
    Observed { status: None, decisions: layout.decisions, slices: layout.slices.unwrap_or_default() }
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
