//! Reconciles one work: apply its manifests, remove what it no longer asks for, report its status.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use portolan_runtime::failure::Failure;
use portolan_runtime::logging::Operation;
use tokio::time::Instant;

use super::applying::Order;
use super::computing::Computing;
use super::evicting::Evictions;
use super::hub::Hub;
use super::items::{note_after, note_ahead, will_write};
use super::known::Remembered;
use super::lanes::Lanes;
use super::object_locks::{ObjectLocks, reach};
use super::preparing::Prepared;
use super::watching::Watches;
use super::work_queue::{Outcome, WorkQueue};
use crate::Clock;
use crate::cost::Cost;
use crate::monitor::Monitor;
use crate::plan::{Allowed, Judgements, Seen, Served, Trust, trust};
use crate::record::{Record, RecordError, Records};
use crate::report::{self, ManifestResult};
use crate::sabotage::{Rule, sabotaged};
use crate::settings::Settings;
use crate::spoke::{Answered, Objects, Problem, learn};
use crate::work::{Account, DesiredManifests, Executor, Kinds, ObjectId, Work, WorkKey, WorkKind};

/// Why a pass did not get to its end. It is made again later.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReconcileError {
    #[error("the hub: {0}")]
    Hub(Problem),
    #[error("the member cluster: {0}")]
    Spoke(Problem),
    #[error("{0}")]
    Record(#[from] RecordError),
}

/// Carries out looks at works.
pub(crate) struct WorkReconciler {
    pub(super) hub: Hub,
    pub(super) spoke: Client,
    pub(super) objects: Objects,
    pub(super) records: Records,
    /// The records as they are stored, by us alone or by somebody whom the next write will run into.
    kept: Mutex<BTreeMap<WorkKey, Record>>,
    pub(super) seen: Mutex<BTreeMap<WorkKey, BTreeMap<ObjectId, Seen>>>,
    kinds: Mutex<Arc<Kinds>>,
    /// What the member cluster was lately asked about kinds.
    answered: Mutex<Answered>,
    pub(super) claims: Mutex<Remembered>,
    pub(super) watches: Watches,
    pub(super) monitor: Monitor,
    /// What the hub last said about the kinds of works.
    pub(super) served: Mutex<BTreeMap<WorkKind, Served>>,
    /// What the executors of works may do, as it was last asked.
    pub(super) allowed: Mutex<BTreeMap<WorkKey, Allowed>>,
    /// What was found out about the objects that works ask for.
    judged: Mutex<Arc<Judgements>>,
    /// Records of another agent that were taken over, and whether it was said that it runs too.
    pub(super) taken_over: Mutex<BTreeMap<WorkKey, bool>>,
    /// Works that have no record under a former name any more.
    pub(super) moved: Mutex<BTreeSet<WorkKey>>,
    queue: Mutex<WorkQueue>,
    pub(super) taken: ObjectLocks,
    pub(super) computing: Computing,
    lanes: Lanes,
    pub(super) deletion_patience: Duration,
    pub(super) eviction_grace: Option<Duration>,
    /// How long records of works that are not on the hub have waited.
    pub(super) evictions: Mutex<Evictions>,
    pub(super) clock: Clock,
}

impl WorkReconciler {
    pub(crate) fn new(
        hub: Client,
        spoke: Client,
        watches: Watches,
        settings: &Settings,
        monitor: Monitor,
    ) -> WorkReconciler {
        let objects = Objects::new(spoke.clone());
        WorkReconciler {
            hub: Hub::new(hub, &settings.cluster, monitor.clone()),
            monitor,
            spoke,
            records: Records::new(objects.clone(), settings),
            objects,
            kept: Mutex::default(),
            seen: Mutex::default(),
            kinds: Mutex::default(),
            answered: Mutex::default(),
            claims: Mutex::default(),
            watches,
            served: Mutex::default(),
            allowed: Mutex::default(),
            judged: Mutex::default(),
            taken_over: Mutex::default(),
            moved: Mutex::default(),
            queue: Mutex::new(WorkQueue::new(settings)),
            taken: ObjectLocks::default(),
            computing: Computing::of_process(),
            lanes: Lanes::default(),
            deletion_patience: settings.deletion_patience,
            eviction_grace: settings.eviction_grace,
            evictions: Mutex::default(),
            clock: settings.clock.clone(),
        }
    }

    /// A work is not on the hub any more. Deleted works wait for us, so one with objects was lost, and they stay.
    pub(crate) fn gone(&self, key: &WorkKey) {
        self.watches.follow(key, None, std::iter::empty());
        self.monitor.gone(key);
        lock(&self.seen).remove(key);
        lock(&self.allowed).remove(key);
        Arc::make_mut(&mut self.judged()).forget(key);
        lock(&self.taken_over).remove(key);
        lock(&self.moved).remove(key);
        if let Some(record) = self.forget(key)
            && !record.entries.is_empty()
        {
            tracing::warn!(
                work = %key, objects = record.entries.len(), record = record.name,
                "the work disappeared from the hub without a deletion; its objects are kept"
            );
        }
    }

    /// Looks at one work and does what is to be done.
    pub(crate) async fn pass(&self, key: &WorkKey) -> Outcome {
        let operation = Operation {
            verb: "process",
            resource: key.kind.resource(),
            object: &key.name,
        };
        match self.in_turn(key).await {
            Ok(outcome) => {
                // A pass that has nothing to report asks the hub nothing; every pass reads its record on the member.
                self.monitor.hub.completed(operation);
                self.monitor.spoke.succeeded(operation);
                outcome
            }
            Err(trouble) => {
                // After a conflict, what is stored is not what is remembered.
                self.forget(key);
                self.log(operation, &trouble);
                Outcome::Failed
            }
        }
    }

    /// Logs what kept something from being done.
    pub(super) fn log(&self, operation: Operation<'_>, trouble: &ReconcileError) {
        let (log, failure) = match trouble {
            ReconcileError::Hub(problem) => (&self.monitor.hub, problem.failure()),
            ReconcileError::Spoke(problem) | ReconcileError::Record(RecordError::Failed(problem)) => {
                (&self.monitor.spoke, problem.failure())
            }
            ReconcileError::Record(RecordError::Unserved(_) | RecordError::Taken { .. }) => {
                (&self.monitor.spoke, Failure::Invalid)
            }
            // The work waits for its former record to go; nothing has failed.
            ReconcileError::Record(why @ RecordError::Leaving) => {
                tracing::debug!(work = operation.object, %why, "the work waits");
                return;
            }
        };
        log.failed_as(operation, failure, &trouble.to_string());
    }

    /// Waits until nobody else deals with anything that the work has a say in, and then deals with it.
    async fn in_turn(&self, key: &WorkKey) -> Result<Outcome, ReconcileError> {
        let known = || self.queue().works().get(key).cloned();
        // The record may have been deleted, and no object may name a record that is gone.
        self.forget(key);
        let record = match (self.lanes.in_turn(self.record(key)).await, known()) {
            (Err(ReconcileError::Record(why @ RecordError::Taken { .. })), Some(work)) => {
                return self.lanes.in_turn(self.without_record(work, why)).await;
            }
            (record, Some(work)) => self.lanes.in_turn(self.with_former(&work, record?)).await?,
            (record, None) => record?,
        };
        loop {
            let Some(before) = known() else {
                return Ok(Outcome::Done);
            };
            let prepared = self.lanes.in_turn(self.prepare(&before)).await;
            let others = self.queue().works().clone();
            let wanted = || reach(&before, &record, &prepared, &others);
            let wanted = self.computing.compute(wanted).await;
            drop(others);
            let _hold = self.taken.take(wanted).await;
            // Only now, so that those who wait for an object take nobody's turn.
            let done = self.lanes.in_turn(async {
                match known() {
                    // What it has a say in now may be something else.
                    Some(work) if (work.deleting, &work.content) != (before.deleting, &before.content) => {
                        None
                    }
                    Some(work) if work.deleting => {
                        self.monitor.told(&work, &work.status);
                        Some(self.tear_down(work).await)
                    }
                    Some(work) => Some(self.keep_up(work, prepared).await),
                    None => Some(Ok(Outcome::Done)),
                }
            });
            if let Some(done) = done.await {
                return done;
            }
        }
    }

    /// What is known. Not to be held while anything is waited for.
    pub(crate) fn queue(&self) -> MutexGuard<'_, WorkQueue> {
        lock(&self.queue)
    }

    pub(super) fn kinds(&self) -> MutexGuard<'_, Arc<Kinds>> {
        lock(&self.kinds)
    }

    pub(super) fn answered(&self) -> MutexGuard<'_, Answered> {
        lock(&self.answered)
    }

    pub(super) fn judged(&self) -> MutexGuard<'_, Arc<Judgements>> {
        lock(&self.judged)
    }

    /// Forgets the record as it was last seen.
    pub(super) fn forget(&self, key: &WorkKey) -> Option<Record> {
        lock(&self.kept).remove(key)
    }

    /// Finds out about kinds that are not known yet. Fails if not all that was asked was answered.
    pub(super) async fn learn(&self, api_versions: BTreeSet<String>) -> Result<(), ReconcileError> {
        // When the question is sent: what happens until the answer comes is not in it.
        let asked = Instant::now();
        let learned = learn(&self.spoke, api_versions).await;
        self.answered().note(&learned, asked);
        let mut kinds = self.kinds();
        for (api_version, served) in learned.kinds {
            if !kinds.has(&api_version, &served) {
                Arc::make_mut(&mut kinds).learn(&api_version, served);
            }
        }
        learned
            .problem
            .map_or(Ok(()), |problem| Err(ReconcileError::Spoke(problem)))
    }

    async fn keep_up(&self, work: Arc<Work>, mut prepared: Prepared) -> Result<Outcome, ReconcileError> {
        let asked = work.clone();
        let desired = match &asked.desired {
            Ok(desired) => desired,
            Err(why) => return self.say_unreadable(&work, why).await,
        };
        let work = self.held(work).await?;
        let record = self.record(&work.key).await?;
        // What is written into it would go with it, and objects would be left that no record has.
        if record.is_leaving() {
            return self.hand_over(&work, desired, record, prepared).await;
        }
        let (trust, note) = trust(&work, &record);
        if let Trust::None { applied } = trust {
            let to = Record {
                note,
                ..record.clone()
            };
            self.save(&record, to).await?;
            return self.say_held(&work, applied).await;
        }
        std::mem::replace(&mut prepared.learned, Ok(()))?;
        let known = self.known_with(&prepared.kinds);
        let mut items = self.items(&work, desired, &known).await;
        drop(known);
        prepared.refuse(&mut items);
        let sound = is_sound(desired, items.iter().map(|item| item.target.is_some()));
        self.confine(&work, desired, &mut items).await;
        self.give_way(&mut items).await?;
        let observed = self.observe(&items).await;
        let mut cost = Cost::of_work();
        let actions = || self.actions(&work, &record, &items, &observed, &mut cost);
        let actions = self.computing.compute(actions).await;

        let mut ahead = Record {
            note,
            header: self.header(&work, &record),
            ..record.clone()
        };
        note_ahead(&mut ahead, &items, &actions);
        let first = match sabotaged(Rule::RecordFirst) {
            true => record.clone(),
            false => ahead.clone(),
        };
        let saved = match self.save(&record, first).await {
            Err(ReconcileError::Record(unserved @ RecordError::Unserved(_))) => {
                return self
                    .say_unrecorded(&work, desired, &record, items, &unserved)
                    .await;
            }
            saved => saved?,
        };
        let is_first = record.entries.values().all(|entry| entry.uid.is_none());
        if is_first && will_write(&actions) && !self.is_still_wanted(&work, &record, &saved).await? {
            return Ok(Outcome::Quiet);
        }
        let order = Order {
            key: &work.key,
            user: desired.executor.account().map(Account::user),
            record: &saved,
            owner: self.records.reference(&saved),
        };
        let done = self.carry_out(order, items, observed, actions).await;
        let (findings, mut outcome) = (done.findings, done.outcome);
        self.judge(&work, &record, &findings);

        let mut after = Record {
            stored: saved.stored.clone(),
            ..ahead
        };
        note_after(&mut after, &record, done.noted);
        if sound {
            let removed = self.withdraw(&work.key, desired, trust, &findings, &mut after);
            outcome = worse(outcome, removed.await);
        }
        let saved = self.save(&saved, after).await?;
        self.bring_up_to_date(desired, saved).await?;
        self.conclude(&work, desired, findings, cost, outcome).await
    }

    /// The work with the finalizer of the agent.
    async fn held(&self, work: Arc<Work>) -> Result<Arc<Work>, ReconcileError> {
        if work.is_held() || sabotaged(Rule::HoldFirst) {
            return Ok(work);
        }
        let held = self.hub.hold(&work).await.map_err(ReconcileError::Hub)?;
        self.queue().answered(&work, held.clone(), Instant::now());
        Ok(Arc::new(held))
    }

    async fn say_unreadable(&self, work: &Work, why: &str) -> Result<Outcome, ReconcileError> {
        let status = report::unreadable(work, why, self.clock.now());
        self.tell(work, status).await?;
        Ok(Outcome::Done)
    }

    /// Says that the work is older than what was applied, so that nothing is done for it.
    async fn say_held(&self, work: &Work, applied: i64) -> Result<Outcome, ReconcileError> {
        let status = report::held(work, applied, self.clock.now());
        self.tell(work, status).await?;
        Ok(Outcome::Done)
    }

    /// Removes the objects of the record that the work does not name any more, as far as the hub's copy of the work is trusted.
    async fn withdraw(
        &self,
        key: &WorkKey,
        desired: &DesiredManifests,
        trust: Trust,
        findings: &[ManifestResult],
        after: &mut Record,
    ) -> Outcome {
        let wanted: BTreeSet<&ObjectId> = findings
            .iter()
            .filter_map(|finding| Some(&finding.target.as_ref()?.id))
            .collect();
        let withdrawn: Vec<ObjectId> = after
            .entries
            .keys()
            .filter(|id| !wanted.contains(*id))
            .cloned()
            .collect();
        // One that is over is left as it is.
        if report::is_over(findings) {
            return Outcome::Done;
        }
        if !withdrawn.is_empty() && trust == Trust::Full && self.queue().is_complete() {
            let removed = self.remove(key, &desired.delete_option, after, &withdrawn).await;
            return removed.outcome;
        }
        if trust == Trust::ApplyOnly {
            self.forget_absent(after, &withdrawn).await;
        }
        Outcome::Done
    }

    pub(super) async fn record(&self, key: &WorkKey) -> Result<Record, ReconcileError> {
        if let Some(record) = lock(&self.kept).get(key) {
            return Ok(record.clone());
        }
        let record = self.records.read(key).await?;
        lock(&self.kept).insert(key.clone(), record.clone());
        Ok(record)
    }

    pub(super) async fn save(&self, from: &Record, to: Record) -> Result<Record, ReconcileError> {
        if *from == to {
            return Ok(to);
        }
        let saved = self.records.save(from, to).await?;
        self.note_taken_over(from, &saved);
        lock(&self.kept).insert(saved.key.clone(), saved.clone());
        Ok(saved)
    }
}

/// Whether it is certain what the work asks for, and for whom: a manifest that cannot be understood may be the new form of
/// one that seems to have been withdrawn.
pub(super) fn is_sound(desired: &DesiredManifests, mut has_place: impl Iterator<Item = bool>) -> bool {
    let is_known = !matches!(desired.executor, Executor::Invalid(_)) && desired.excess.is_none();
    is_known && has_place.all(|has_place| has_place)
}

/// A poisoned lock is safe to reuse: no code panics between two changes of the map.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The outcome that asks for more attention.
pub(super) fn worse(a: Outcome, b: Outcome) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Done | Outcome::Until(_) => 0,
        Outcome::Quiet => 1,
        Outcome::Changed => 2,
        Outcome::Failed => 3,
    };
    if rank(&b) > rank(&a) { b } else { a }
}
