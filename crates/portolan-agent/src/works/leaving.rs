//! Records that somebody deletes on the member cluster, and records from before objects named theirs.
//!
//! A record waits for us before it goes, since the member cluster collects every object that names a record that is gone.
//! What its work still asks for goes to a new record and stays as it is; the rest goes with the record. When the definition
//! of records goes, nobody has given up any object, and all stay.

use std::sync::Arc;
use std::time::Duration;

use portolan_api::work::DeleteOption;
use portolan_runtime::logging::Operation;
use tokio::sync::watch;

use super::object_locks::all_of;
use super::preparing::Prepared;
use super::work_queue::Outcome;
use super::work_reconciler::{ReconcileError, WorkReconciler, is_sound};
use crate::plan::{Trust, is_orphaned, trust};
use crate::record::{Record, RecordError};
use crate::sabotage::{Rule, sabotaged};
use crate::work::{DesiredManifests, Executor, ObjectId, Work, WorkKind, place};

/// Looks for records of works that are not on the hub once in so many looks at works.
const SELDOM: u32 = 6;

/// A grace period is measured by looks at the record: with so many of them, its start and its end together are late by at
/// most half of it. More would read all records more often.
const LOOKS_PER_GRACE_PERIOD: u32 = 4;

/// How long to wait between two looks at the records of works that are not on the hub.
fn sweep_interval(poll: Duration, grace: Option<Duration>) -> Duration {
    let seldom = poll * SELDOM;
    match grace {
        Some(grace) => (grace / LOOKS_PER_GRACE_PERIOD).clamp(poll, seldom),
        None => seldom,
    }
}

/// Deals with records whose works are not on the hub, until it is told to stop.
pub(super) async fn sweep(reconciler: Arc<WorkReconciler>, poll: Duration, mut stop: watch::Receiver<bool>) {
    let interval = sweep_interval(poll, reconciler.eviction_grace);
    loop {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            changed = stop.changed() => match changed {
                Ok(()) if !*stop.borrow() => continue,
                _ => return,
            },
        }
        for kind in [WorkKind::ManifestWork, WorkKind::Work] {
            reconciler.sweep(kind).await;
        }
    }
}

impl WorkReconciler {
    /// Deals with a deleted record whose work is there.
    pub(super) async fn hand_over(
        &self,
        work: &Work,
        desired: &DesiredManifests,
        record: Record,
        prepared: Prepared,
    ) -> Result<Outcome, ReconcileError> {
        if !record.is_held() {
            return Err(RecordError::Leaving.into());
        }
        prepared.learned?;
        let places = desired.manifests.iter().map(|manifest| {
            let manifest = manifest.as_ref().ok()?;
            place(manifest, &prepared.kinds)?.ok()
        });
        let places: Vec<Option<ObjectId>> = places.collect();
        let certain = is_sound(desired, places.iter().map(Option::is_some))
            && trust(work, &record).0 == Trust::Full
            && self.records.is_lasting(record.key.kind).await?;
        let wanted: Vec<ObjectId> = places.into_iter().flatten().collect();
        let entries = record.entries.clone().into_iter();
        let (staying, going): (Vec<_>, Vec<_>) = entries.partition(|(id, _)| !certain || wanted.contains(id));
        let mut after = record.clone();
        if !going.is_empty() {
            if !self.queue().is_complete() {
                return Ok(Outcome::Quiet);
            }
            let going: Vec<ObjectId> = going.into_iter().map(|(id, _)| id).collect();
            let removed = self
                .remove(&work.key, &desired.delete_option, &mut after, &going)
                .await;
            if !removed.left.is_empty() {
                self.save(&record, after).await?;
                return Ok(removed.outcome);
            }
        }
        for (id, _) in &staying {
            self.leave(&record, id).await.map_err(ReconcileError::Spoke)?;
        }
        let released = self.records.release(&record).await?;
        self.forget(&work.key);
        if self.records.read(&work.key).await?.stored.is_some() {
            // Another finalizer holds the object as well.
            tracing::debug!(work = %released.key, "the record of the work waits for others before it goes");
            return Err(RecordError::Leaving.into());
        }
        // The objects are the same, so that what is known of them counts.
        let next = Record {
            note: released.note,
            entries: staying.into_iter().collect(),
            header: released.header,
            ..self.records.fresh(&work.key)
        };
        self.save(&self.records.fresh(&work.key), next).await?;
        Ok(Outcome::Changed)
    }

    /// Asks the hub once more before the first object of a work is applied. Another agent may be ending or starting: it may
    /// have found no record, and let the work go. The record that is made too late is deleted.
    pub(super) async fn is_still_wanted(
        &self,
        work: &Work,
        before: &Record,
        now: &Record,
    ) -> Result<bool, ReconcileError> {
        let is_wanted =
            sabotaged(Rule::AskAfterRecord) || self.hub.is_wanted(work).await.map_err(ReconcileError::Hub)?;
        if !is_wanted {
            self.forget(&work.key);
            if before.stored.is_none() {
                self.records.delete(now).await?;
            }
        }
        Ok(is_wanted)
    }

    /// Deals with records of works that are not on the hub. Who deletes the record of a lost work gives its objects up. One
    /// of which nothing was applied was made by an agent that ended before it could ask whether the work is still there.
    pub(crate) async fn sweep(&self, kind: WorkKind) {
        let operation = Operation {
            verb: "list the records of",
            resource: kind.resource(),
            object: "",
        };
        let records = match self.all(kind).await {
            Ok(records) => records,
            Err(unkept) => return self.log(operation, &unkept.into()),
        };
        for record in records {
            if let Err(trouble) = self.sweep_one(&record).await {
                let operation = Operation {
                    verb: "give up the record of",
                    object: &record.key.name,
                    ..operation
                };
                self.log(operation, &trouble);
            }
        }
    }

    async fn sweep_one(&self, record: &Record) -> Result<(), ReconcileError> {
        let is_ours = self.records.is_ours(record);
        if self.records.is_in_doubt(record) {
            return Ok(());
        }
        if !is_ours && !self.has_own_id(record) || !self.queue().is_complete() {
            return Ok(());
        }
        // A work of the same name on another hub is another work.
        let lost = !is_ours || !self.queue().works().contains_key(&record.key);
        let is_deleted = record.is_leaving() && record.is_held();
        let has_applied = record.entries.values().any(|entry| entry.uid.is_some());
        match (lost, is_deleted) {
            (true, true) => self.give_up(record).await,
            (true, false) if is_ours && !has_applied => self.clear_away(record).await,
            (_, false) if self.has_own_id(record) => self.look_after(record).await,
            _ => Ok(()),
        }
    }

    /// Deletes the record of a work that is not on the hub, if nothing of what it lists was ever applied.
    async fn clear_away(&self, record: &Record) -> Result<(), ReconcileError> {
        let Some(owner) = self.records.reference(record) else {
            return Ok(());
        };
        for (id, entry) in &record.entries {
            let there = self.objects.look(&entry.place(id)).await;
            let there = there.map_err(ReconcileError::Spoke)?;
            if there.is_some_and(|there| owner.is_owner_of(&there) || owner.has_made(&there)) {
                return Ok(());
            }
        }
        let found = self.hub.find(&record.key).await.map_err(ReconcileError::Hub)?;
        if found.is_none() {
            self.records.delete(record).await?;
        }
        Ok(())
    }

    async fn give_up(&self, record: &Record) -> Result<(), ReconcileError> {
        let _hold = self.taken.take(all_of(record)).await;
        // The objects of a work that is back meanwhile go to a new record.
        if self.is_back(record).await? {
            return Ok(());
        }
        let mut after = record.clone();
        let all: Vec<ObjectId> = record.entries.keys().cloned().collect();
        if self.records.is_lasting(record.key.kind).await? {
            let option = DeleteOption::default();
            let removed = self.remove(&record.key, &option, &mut after, &all).await;
            self.save(record, after.clone()).await?;
            self.forget(&record.key);
            if !removed.left.is_empty() {
                return Ok(());
            }
            after = self.records.reread(record).await?;
        } else {
            for id in &all {
                self.leave(record, id).await.map_err(ReconcileError::Spoke)?;
            }
        }
        self.records.release(&after).await?;
        Ok(())
    }

    /// Makes the objects of a record from before name it, and then the record wait for us. An object that an executor may
    /// not delete does not get to name it here.
    pub(super) async fn bring_up_to_date(
        &self,
        desired: &DesiredManifests,
        record: Record,
    ) -> Result<(), ReconcileError> {
        let Some(owner) = self.records.reference(&record).filter(|_| !record.is_held()) else {
            return Ok(());
        };
        if desired.excess.is_some() {
            return Ok(());
        }
        for (id, entry) in &record.entries {
            if is_orphaned(&desired.delete_option, id) || entry.uid.is_none() {
                continue;
            }
            let place = entry.place(id);
            let Some(there) = self.objects.look(&place).await.map_err(ReconcileError::Spoke)? else {
                continue;
            };
            let uid = there.pointer("/metadata/uid").and_then(serde_json::Value::as_str);
            if uid != entry.uid.as_deref() || owner.is_owner_of(&there) {
                continue;
            }
            if desired.executor != Executor::Agent {
                return Ok(());
            }
            let owned = self.own(&place, there, &owner, None).await;
            owned.map_err(ReconcileError::Spoke)?;
        }
        self.records.hold(&record).await?;
        self.forget(&record.key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_grace_period_makes_the_sweep_of_records_more_frequent() {
        let seconds = Duration::from_secs;
        let poll = seconds(3);
        assert_eq!(sweep_interval(poll, None), seconds(18));
        assert_eq!(sweep_interval(poll, Some(seconds(3600))), seconds(18));
        assert_eq!(sweep_interval(poll, Some(seconds(40))), seconds(10));
        assert_eq!(sweep_interval(poll, Some(seconds(10))), poll);
        assert_eq!(sweep_interval(poll, Some(Duration::ZERO)), poll);
    }
}
