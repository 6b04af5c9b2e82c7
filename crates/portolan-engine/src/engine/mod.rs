//! The engine: takes changes one by one, knows which placements each concerns, and evaluates only those.
//!
//! It never evaluates because another placement's decision changed: Balance and Steady feed back, and re-triggering
//! on them would never settle. Placements due together are evaluated in (namespace, name) order, each folding its
//! outcome into the counts before the next.

mod affected;
mod change;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use portolan_api::cluster::Placement;

use crate::evaluate;
use crate::fleet::{ClusterId, DuplicateMembers, Fleet, Inventory};
use crate::outcome::Outcome;
use crate::placement::PlacementKey;
use affected::Watchers;
pub(crate) use state::PlacementState;

/// Fleet, placements and what each of them decided last.
#[derive(Debug, Default)]
pub struct Engine {
    fleet: Fleet,
    placements: Vec<Option<PlacementState>>,
    ids: BTreeMap<PlacementKey, PlacementId>,
    free: Vec<PlacementId>,
    watchers: Watchers,
    /// Placements whose outcome may have changed.
    due: BTreeSet<PlacementKey>,
    timers: BTreeSet<(Timestamp, PlacementKey)>,
    /// Decisions of placements that the engine does not hold: they still count for Balance.
    orphans: BTreeMap<PlacementKey, crate::last_decision::LastDecision>,
}

type PlacementId = usize;

/// Reads.
impl Engine {
    /// An empty engine over the given inventory.
    pub fn new(inventory: Inventory) -> Engine {
        Engine {
            fleet: Fleet::new(inventory),
            ..Engine::default()
        }
    }

    /// The same with another limit for what the CEL expressions of one placement cost over all clusters, in units. It is
    /// `portolan_cel::Budget::PER_PLACEMENT` otherwise.
    pub fn with_expression_budget(mut self, units: u64) -> Engine {
        self.fleet.set_expression_budget(units);
        self
    }

    /// The fleet as it stands.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Every placement in the order in which they are evaluated.
    pub fn placements(&self) -> impl Iterator<Item = &PlacementKey> {
        self.ids.keys()
    }

    /// The placement object last applied.
    pub fn placement(&self, key: &PlacementKey) -> Option<&Placement> {
        Some(&self.state(key)?.placement)
    }

    /// Placements whose outcome may have changed since they were last evaluated, timers aside.
    pub fn due(&self) -> &BTreeSet<PlacementKey> {
        &self.due
    }

    /// When the next timer runs out.
    pub fn next_timer(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Whether the placement has decided anything before.
    pub fn has_prior(&self, key: &PlacementKey) -> bool {
        self.state(key).is_some_and(|state| !state.prior.is_empty())
    }

    /// ClusterProfiles that the placement may choose and that stand for the same member cluster.
    pub fn duplicate_members(&self, key: &PlacementKey) -> Vec<DuplicateMembers> {
        let sets = self
            .placement(key)
            .map(|placement| placement.spec.cluster_sets.as_slice());
        self.fleet.named_twins(&key.namespace, sets.unwrap_or_default())
    }

    pub(crate) fn state(&self, key: &PlacementKey) -> Option<&PlacementState> {
        self.placements[*self.ids.get(key)?].as_ref()
    }
}

/// Trials: explanations try changes and take them back.
impl Engine {
    pub(crate) fn take_due(&mut self) -> BTreeSet<PlacementKey> {
        std::mem::take(&mut self.due)
    }

    pub(crate) fn restore_due(&mut self, due: BTreeSet<PlacementKey>) {
        self.due = due;
    }
}

/// Evaluation.
impl Engine {
    /// Evaluates one placement against the state as it is. Changes nothing that another evaluation sees.
    pub fn evaluate(&mut self, key: &PlacementKey, now: Timestamp) -> Option<Outcome> {
        self.answer(key, now, false)
    }

    fn answer(&mut self, key: &PlacementKey, now: Timestamp, resumed: bool) -> Option<Outcome> {
        let id = *self.ids.get(key)?;
        let state = self.placements[id].as_ref()?;
        let question = evaluate::Question {
            resumed,
            ..state.question(now)
        };
        let spending = evaluate::prepare(&mut self.fleet, &question);
        Some(evaluate::evaluate(&self.fleet, &question, spending))
    }

    /// Evaluates every placement that is due at `now`, in order, folding each outcome into the counts before the
    /// next. The outcomes are in flight until `complete` is called for them.
    pub fn evaluate_due(&mut self, now: Timestamp) -> Vec<(PlacementKey, Outcome)> {
        self.wake(now);
        std::iter::from_fn(|| self.evaluate_next(now)).collect()
    }

    /// Makes the placements due whose timer has run out at `now`.
    pub fn wake(&mut self, now: Timestamp) {
        while let Some((at, key)) = self.timers.first().cloned() {
            if at > now {
                break;
            }
            self.timers.pop_first();
            self.due.insert(key);
        }
    }

    /// Makes a placement due though nothing changed.
    pub fn reconsider(&mut self, key: &PlacementKey) {
        if self.ids.contains_key(key) {
            self.due.insert(key.clone());
        }
    }

    /// Makes the placements of a namespace due though nothing changed.
    pub fn reconsider_namespace(&mut self, namespace: &str) {
        self.namespace_changed(namespace);
    }

    /// A placement that is due is not evaluated for now: its caller makes it due again with [`Engine::reconsider`].
    pub fn put_off(&mut self, key: &PlacementKey) {
        self.due.remove(key);
    }

    /// Evaluates the first placement that is due and folds its outcome into the counts; timers aside. For callers
    /// that must not hold the outcomes of a whole hub at once, as after a start.
    pub fn evaluate_next(&mut self, now: Timestamp) -> Option<(PlacementKey, Outcome)> {
        while let Some(key) = self.due.first().cloned() {
            if let Some(outcome) = self.look_at(&key, now, false) {
                self.accept(&key, &outcome, now);
                return Some((key, outcome));
            }
        }
        None
    }

    /// Evaluates a placement, which is not due any more; the others stay due. Which of them comes next, and what becomes of
    /// the outcome, is up to the caller: [`Engine::accept`] or [`Engine::set_aside`]. A decision that is `resumed` after a start
    /// is not moved by Balance alone: how the others decided is known all at once then, as it was not when the decision
    /// was made.
    pub fn look_at(&mut self, key: &PlacementKey, now: Timestamp, resumed: bool) -> Option<Outcome> {
        self.due.remove(key);
        self.answer(key, now, resumed)
    }

    /// Makes an outcome part of the counts and remembers what later changes are compared with. It is in flight until
    /// [`Engine::complete`].
    pub fn accept(&mut self, key: &PlacementKey, outcome: &Outcome, now: Timestamp) {
        self.set_aside(key, outcome, now);
        let state = self.ids.get(key).and_then(|&id| self.placements[id].as_mut());
        if let Some(state) = state {
            state.decide(&mut self.fleet, outcome);
        }
    }

    /// Remembers what later changes are compared with, and nothing else: what the placement decided last stands.
    pub fn set_aside(&mut self, key: &PlacementKey, outcome: &Outcome, now: Timestamp) {
        let Some(&id) = self.ids.get(key) else { return };
        let Some(state) = self.placements[id].as_mut() else {
            return;
        };
        if let Some(at) = state.requeue_at.take() {
            self.timers.remove(&(at, key.clone()));
        }
        // A score still counts at the very moment its validity ends: the timer must lie after `now`, or it would
        // fire again and again.
        let after_now = now.checked_add(SignedDuration::from_nanos(1)).unwrap_or(now);
        state.notice(outcome);
        state.requeue_at = state.requeue_at.map(|at| at.max(after_now));
        if let Some(at) = state.requeue_at {
            self.timers.insert((at, key.clone()));
        }
    }

    /// Whether an outcome may have left a cluster out because a score that the placement asks for is not known.
    pub fn lacks_scores(&self, key: &PlacementKey, outcome: &Outcome, cluster: ClusterId) -> bool {
        let Some(state) = self.state(key) else {
            return false;
        };
        let mut asked = state.dependencies.score_resources.iter();
        asked.any(|resource| self.fleet.score_column(resource).get(cluster).is_none())
            || state.dependencies.cel_scores && !outcome.matched.contains(cluster)
    }

    /// The writes of the placement's last outcome are done: it is what the placement decided last.
    pub fn complete(&mut self, key: &PlacementKey) {
        let state = self.ids.get(key).and_then(|&id| self.placements[id].as_mut());
        if let Some(state) = state {
            state.complete(&mut self.fleet);
        }
    }
}
