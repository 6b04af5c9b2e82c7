//! Where decisions are made: what is known goes in, steps come out. No I/O, no clock.
//!
//! One plan per placement is in flight. Objects that change while it is are compared with what the server
//! acknowledged for it: the rest was written by others, and the placement is looked at again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::cluster::{self, PlacementDecisionStatus};
use portolan_api::{FieldError, multicluster, shorten};
use portolan_engine::engine::Engine;
use portolan_engine::fleet::Inventory;
use portolan_engine::placement::PlacementKey;
use portolan_runtime::watch::{Key, SyncState};
use tokio::time::Instant;

use super::backoff::Backoff;
use super::cache_sync::{CacheSync, Watched};
use super::decision_cache::DecisionCache;
use super::doubt::Doubt;
use super::job::{Acknowledged, Report, Step};
use super::names::{KEP, OCM};
use super::restore::RestoreState;
use super::rotation::Rotation;
use super::score_budget::Budget;
use super::unreadable::UnreadableInputs;
use super::write_conflicts::WriteConflicts;
use crate::fields::{Field, MissingFields};
use crate::health::Missing;
use crate::moment::Moment;
use crate::sabotage::{Rule, sabotaged};
use crate::settings::{Output, Settings};

/// Everything that is known, and what is under way.
#[derive(Debug)]
pub(crate) struct Scheduler {
    pub(super) engine: Engine,
    pub(super) settings: Settings,
    pub(super) cache_sync: CacheSync,
    /// Every placement that exists, ours or not: version and UID.
    pub(super) placements: HashMap<PlacementKey, Known>,
    /// Placements by namespace and label value, which is cut for long names.
    pub(super) by_label: HashMap<(String, String), PlacementKey>,
    pub(super) decisions: DecisionCache<cluster::PlacementDecision>,
    pub(super) slices: DecisionCache<multicluster::PlacementDecision>,
    pub(super) in_flight: BTreeMap<PlacementKey, Flight>,
    /// Placements whose stored decisions changed, to be told to the engine before it evaluates.
    pub(super) dirty: BTreeSet<PlacementKey>,
    /// Placements whose stored objects were changed by others since they were last written.
    pub(super) foreign: BTreeSet<PlacementKey>,
    /// Placements whose last writes failed: what changes now may be our own, done without an answer.
    pub(super) unsure: BTreeSet<PlacementKey>,
    /// Placements that are not ours any more, for whoever keeps accounts of them.
    pub(super) departed: Vec<PlacementKey>,
    /// Placements that were not evaluated since the start.
    pub(super) fresh: BTreeSet<PlacementKey>,
    /// Placements that went with their definition and may come back.
    pub(super) absent: BTreeSet<PlacementKey>,
    /// Placements that are gone and may have left objects behind.
    pub(super) leavers: BTreeSet<PlacementKey>,
    /// Those of them whose last writes failed and that rest. They are not searched again before their rest ends.
    pub(super) resting_leavers: BTreeSet<PlacementKey>,
    /// Which of those that are due comes next.
    pub(super) rotation: Rotation,
    pub(super) backoff: Backoff,
    /// Placements that were due and rest. They are due again when they have rested.
    pub(super) put_off: BTreeSet<PlacementKey>,
    pub(super) write_conflicts: WriteConflicts,
    pub(super) budget: Budget,
    /// When to look at placements again though nothing changed.
    pub(super) timers: BTreeSet<(Instant, PlacementKey)>,
    /// When to refresh scores, on the wall clock.
    pub(super) dates: BTreeSet<(Timestamp, PlacementKey)>,
    /// Placements that are due for nothing but their scores. Balance alone does not move their decisions: a refresh that moves
    /// a decision changes the scores of others, and the fleet would never go quiet.
    pub(super) refreshing: BTreeSet<PlacementKey>,
    pub(super) doubt: Doubt,
    pub(super) restoring: RestoreState,
    pub(super) unreadable: UnreadableInputs,
    /// Why resources cannot be read, by resource.
    pub(super) problems: BTreeMap<String, String>,
    /// Fields that the server would drop.
    pub(super) missing_fields: MissingFields,
    pub(super) swept: bool,
    /// When to look again for placements that are missing.
    pub(super) sweep_at: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Known {
    pub(super) version: String,
    pub(super) uid: String,
    /// What is wrong with the annotations that stand in for missing fields.
    pub(super) problems: Vec<FieldError>,
}

/// A plan that is being carried out.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// Objects that changed meanwhile, with their versions: an empty one stands for a deletion.
    pub(super) touched: Vec<(&'static str, String, String)>,
}

impl Scheduler {
    pub(crate) fn new(settings: Settings, now: Instant) -> Scheduler {
        let mut kinds = vec![Watched::Placements, Watched::Scores, Watched::Fields];
        match settings.inventory {
            Inventory::ManagedClusters => {
                kinds.extend([Watched::Clusters, Watched::Sets, Watched::Bindings]);
            }
            Inventory::ClusterProfiles => kinds.push(Watched::Profiles),
        }
        kinds.extend((settings.ocm_decisions == Output::Auto).then_some(Watched::Decisions));
        kinds.extend((settings.slices == Output::Auto).then_some(Watched::Slices));
        Scheduler {
            engine: Engine::new(settings.inventory),
            cache_sync: CacheSync::new(kinds),
            placements: HashMap::new(),
            by_label: HashMap::new(),
            decisions: DecisionCache::default(),
            slices: DecisionCache::default(),
            in_flight: BTreeMap::new(),
            dirty: BTreeSet::new(),
            foreign: BTreeSet::new(),
            fresh: BTreeSet::new(),
            unsure: BTreeSet::new(),
            departed: Vec::new(),
            absent: BTreeSet::new(),
            leavers: BTreeSet::new(),
            resting_leavers: BTreeSet::new(),
            rotation: Rotation::default(),
            backoff: Backoff::new(settings.longest_backoff),
            put_off: BTreeSet::new(),
            write_conflicts: WriteConflicts::default(),
            budget: Budget::new(settings.score_writes_per_second, now),
            timers: BTreeSet::new(),
            dates: BTreeSet::new(),
            refreshing: BTreeSet::new(),
            doubt: Doubt::default(),
            restoring: RestoreState::default(),
            unreadable: UnreadableInputs::default(),
            problems: BTreeMap::new(),
            missing_fields: MissingFields::default(),
            swept: false,
            sweep_at: None,
            settings,
        }
    }

    /// Whether an output is written.
    pub(super) fn writes(&self, kind: Watched) -> bool {
        self.cache_sync.is_served(kind)
    }

    /// What is known of a kind that decisions are written as, if they are.
    pub(crate) fn output(&self, kind: Watched) -> Option<SyncState> {
        self.cache_sync.knowledge(kind)
    }

    /// How many placements keep their decision because what it names may be on its way.
    pub(crate) fn restoring(&self) -> usize {
        self.restoring.kept()
    }

    /// What decisions wait for; empty when they are made.
    pub(crate) fn missing(&self) -> Vec<Missing> {
        self.cache_sync.missing()
    }

    /// Takes note of why resources cannot be read: a better reason than that they are still being listed.
    pub(crate) fn cannot_read(&mut self, problems: BTreeMap<String, String>) {
        self.problems = problems;
    }

    /// How many placements and clusters decisions are made of.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.engine.placements().count(), self.engine.fleet().len())
    }

    /// How many placements wait to be evaluated or written.
    pub(crate) fn depth(&self) -> usize {
        let due = self.engine.due().len() + self.put_off.len();
        let leavers = self.leavers.len() + self.resting_leavers.len();
        due + self.dirty.len() + self.in_flight.len() + leavers
    }

    /// Placements that are due, for whoever measures how long they wait.
    pub(crate) fn due(&self) -> impl Iterator<Item = &PlacementKey> {
        // Objects may be dirty that name a placement that is not there.
        let known = |key: &&PlacementKey| self.is_known(key);
        self.engine.due().iter().chain(&self.dirty).filter(known)
    }

    /// Whether there is such a placement, and it is ours.
    pub(crate) fn is_known(&self, key: &PlacementKey) -> bool {
        self.engine.placement(key).is_some()
    }

    /// Placements that ceased to be ours since the last call: deleted, or handed to another scheduler.
    pub(crate) fn departed(&mut self) -> Vec<PlacementKey> {
        std::mem::take(&mut self.departed)
    }

    /// When to ask again though nothing came in.
    pub(crate) fn next_timer(&self, now: Moment) -> Option<Instant> {
        let resting = self.backoff.next(now.instant);
        let timers = match self.cache_sync.is_open() {
            true => [
                self.engine.next_timer().map(|at| now.when(at)),
                self.timers.first().map(|(at, _)| *at),
                self.dates.first().map(|(at, _)| now.when(*at)),
                resting,
                self.sweep_at,
            ],
            // Nothing is evaluated before it opens.
            false => [self.next_doubt(now.instant), resting, None, None, None],
        };
        timers.into_iter().flatten().min()
    }
}

/// Results.
impl Scheduler {
    /// Takes in what became of a job.
    pub(crate) fn done(&mut self, report: Report, now: Instant) {
        let key = report.key;
        let flight = self.in_flight.remove(&key).unwrap_or_default();
        let (ours, exists) = self.take_in(&key, report.acknowledged);
        if self.in_flight.is_empty() {
            self.decisions.forget_deleted();
            self.slices.forget_deleted();
        }
        self.learn_of_scores();
        let foreign = flight.touched.iter().any(|change| !ours.contains(change));
        match report.result {
            Ok(()) => {
                self.backoff.succeeded(&key);
                self.unsure.remove(&key);
                if foreign {
                    self.foreign.insert(key.clone());
                }
                self.engine.complete(&key);
                if exists || !self.placements.contains_key(&key) && !self.has_objects(&key) {
                    self.leavers.remove(&key);
                }
            }
            Err(failure) => {
                let again = self.backoff.failed(&key, failure.severity, now) - now;
                // The failed request was logged where it was made.
                tracing::debug!(placement = %key, %failure, ?again, "the decision was not written; evaluating again");
                self.engine.reconsider(&key);
                self.doubt.told.remove(&key);
                self.restoring.forget_told(&key);
                self.unreadable.forget_told(&key);
                self.unsure.insert(key.clone());
            }
        }
        if foreign {
            self.dirty.insert(key);
        }
    }

    /// Takes in what the server answered. The changes that were written here, and whether the Placement exists, if the server
    /// was asked for that.
    fn take_in(
        &mut self,
        key: &PlacementKey,
        acknowledged: Vec<Acknowledged>,
    ) -> (BTreeSet<(&'static str, String, String)>, bool) {
        let mut ours: BTreeSet<(&'static str, String, String)> = BTreeSet::new();
        let mut exists = false;
        // What objects hold whose metadata was written last.
        let mut statuses = HashMap::new();
        // What a later write of the same plan replaced is ours, and nothing to keep.
        let are_last = Acknowledged::are_last(&acknowledged);
        for (acknowledged, is_last) in acknowledged.into_iter().zip(are_last) {
            match acknowledged {
                Acknowledged::Decision(object) => {
                    ours.insert(named(OCM, &object.metadata));
                    if is_last {
                        self.decisions.assume(&object);
                    } else {
                        statuses.insert(object.metadata.name.unwrap_or_default(), object.status);
                    }
                }
                Acknowledged::DecisionMetadata(metadata) => {
                    ours.insert(named(OCM, &metadata));
                    if is_last {
                        self.relabelled(*metadata, &mut statuses);
                    }
                }
                Acknowledged::Slice(object) => {
                    ours.insert(named(KEP, &object.metadata));
                    if is_last {
                        self.slices.assume(&object);
                    }
                }
                Acknowledged::DecisionDeleted(gone) => {
                    ours.insert((OCM, gone.name.clone(), String::new()));
                    self.decisions.remove_ours(&gone);
                }
                Acknowledged::SliceDeleted(gone) => {
                    ours.insert((KEP, gone.name.clone(), String::new()));
                    self.slices.remove_ours(&gone);
                }
                Acknowledged::PlacementStatus { metadata, status } => {
                    self.reported(key, *metadata, *status);
                }
                Acknowledged::PlacementExists => exists = true,
            }
        }
        (ours, exists)
    }

    /// Where definitions may not be read, what the server makes of a decision tells that scores are not served.
    pub(super) fn learn_of_scores(&mut self) {
        if self.decisions.lost_scores() {
            self.missing_fields.add(Field::SCORE);
        }
    }

    /// The metadata of a decision was written; what it holds was written before in the same plan, or long ago.
    fn relabelled(
        &mut self,
        metadata: ObjectMeta,
        statuses: &mut HashMap<String, Option<PlacementDecisionStatus>>,
    ) {
        let key = Key::of(&metadata);
        let status = match statuses.remove(&key.name) {
            Some(status) => status,
            None => self.decisions.get(&key).and_then(|held| held.status),
        };
        self.decisions
            .assume(&cluster::PlacementDecision { metadata, status });
    }

    fn has_objects(&self, key: &PlacementKey) -> bool {
        let owner = (
            key.namespace.to_string(),
            shorten::label_value(&key.name).into_owned(),
        );
        self.decisions.count(&owner) + self.slices.count(&owner) > 0
    }

    /// The next thing to do, if there is one.
    pub(crate) fn next(&mut self, now: Moment) -> Option<Step> {
        while let Some(key) = self.backoff.wake(now.instant) {
            self.put_off.remove(&key);
            self.engine.reconsider(&key);
            if self.resting_leavers.remove(&key) {
                self.leavers.insert(key.clone());
            }
            self.doubt.wake(&key);
            if !self.is_known(&key) && !self.leavers.contains(&key) {
                self.backoff.succeeded(&key);
            }
        }
        if !self.cache_sync.is_open() && !sabotaged(Rule::NeverDestroyOnDoubt) {
            return self.next_in_doubt(now);
        }
        self.doubt_is_over();
        self.restoring.look(now, self.settings.restore_grace);
        self.sweep(now.instant);
        if !self.settle() {
            return Some(Step::Reading);
        }
        self.engine.wake(now.wall);
        while let Some((at, key)) = self.timers.first().cloned().filter(|(at, _)| *at <= now.instant) {
            self.timers.remove(&(at, key.clone()));
            self.engine.reconsider(&key);
        }
        while let Some((at, key)) = self.dates.first().cloned().filter(|(at, _)| *at <= now.wall) {
            self.dates.remove(&(at, key.clone()));
            if self.engine.placement(&key).is_some() && !self.engine.due().contains(&key) {
                self.refreshing.insert(key.clone());
            }
            self.engine.reconsider(&key);
        }
        self.next_teardown(now.instant)
            .or_else(|| self.next_decision(now))
    }
}

fn named(kind: &'static str, metadata: &ObjectMeta) -> (&'static str, String, String) {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    (kind, text(&metadata.name), text(&metadata.resource_version))
}
