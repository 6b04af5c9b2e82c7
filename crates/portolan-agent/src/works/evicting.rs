//! Records of this agent whose works it does not have: their hub is another one now, or has lost the work. By default they stay,
//! since nothing was deleted. With a grace period, they go after it, with the objects that they own.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use portolan_api::work::DeleteOption;
use tokio::time::Instant;

use super::object_locks::all_of;
use super::work_reconciler::{ReconcileError, WorkReconciler, lock};
use crate::plan::{Owner, RecordReference};
use crate::record::Record;
use crate::spoke::Problem;
use crate::work::{ObjectId, WorkKind};

/// What is to be done about such a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eviction {
    /// Nothing, now.
    Wait,
    /// Its time starts to run.
    Start,
    /// Its work is there, or nothing is evicted: its time does not run any more.
    Stop,
    /// Its time is over.
    Evict,
}

/// What is to be done about a record whose time has run for so long, if it does. Objects are deleted at the end of it, so it must
/// never be shorter than it should be: it is measured on the clock of the process, which nobody sets. That clock does not
/// outlast the process, and the time that the record has was written by a clock which may have been wrong. So an agent that
/// starts counts the whole period again: a restart makes it longer, and nothing makes it shorter.
fn eviction(is_unmanaged: bool, passed: Option<Duration>, grace: Option<Duration>) -> Eviction {
    match (is_unmanaged, passed, grace) {
        // Without a grace period, too: an agent that gets one later must not count the time in between.
        (false, Some(_), _) | (true, Some(_), None) => Eviction::Stop,
        (false, None, _) | (true, None, None) => Eviction::Wait,
        (true, None, Some(_)) => Eviction::Start,
        (true, Some(passed), Some(grace)) if passed >= grace => Eviction::Evict,
        (true, Some(_), Some(_)) => Eviction::Wait,
    }
}

/// Since when this process has seen the time of records run, by their names.
#[derive(Debug, Default)]
pub(super) struct Evictions(BTreeMap<String, Running>);

#[derive(Debug)]
struct Running {
    /// What the record says: another start is another period.
    start: Timestamp,
    seen: Instant,
}

impl Evictions {
    /// How long the time of the record has run before the eyes of this process; `None` if it does not run.
    fn passed(&mut self, record: &Record, now: Instant) -> Option<Duration> {
        let Some(start) = record.eviction else {
            self.0.remove(&record.name);
            return None;
        };
        let fresh = || Running { start, seen: now };
        let running = self.0.entry(record.name.clone()).or_insert_with(fresh);
        if running.start != start {
            *running = fresh();
        }
        Some(now.duration_since(running.seen))
    }
}

impl WorkReconciler {
    /// Deals with a record that has the id of this agent, whichever hub it is of. All works of this hub are known.
    pub(super) async fn look_after(&self, record: &Record) -> Result<(), ReconcileError> {
        let is_of_another_hub = self.records.is_of_another_hub(record);
        let is_unmanaged = is_of_another_hub || !self.queue().works().contains_key(&record.key);
        if is_of_another_hub
            && self
                .is_taken_by_others(record)
                .await
                .map_err(ReconcileError::Spoke)?
        {
            return self.leave_to_others(record).await;
        }
        let passed = lock(&self.evictions).passed(record, Instant::now());
        match eviction(is_unmanaged, passed, self.eviction_grace) {
            Eviction::Wait => Ok(()),
            Eviction::Stop => Ok(self.records.set_eviction(record, None).await?),
            _ if !self.is_certain(record).await? => Ok(()),
            Eviction::Start => Ok(self.records.set_eviction(record, Some(self.clock.now())).await?),
            Eviction::Evict => self.evict(record).await,
        }
    }

    /// Whether both servers have all that they ever had, as far as that can be told: a kind that is going, or is not served,
    /// loses works that were not deleted.
    async fn is_certain(&self, record: &Record) -> Result<bool, ReconcileError> {
        let lasts = self
            .hub
            .is_lasting(record.key.kind)
            .await
            .map_err(ReconcileError::Hub)?
            && self.records.is_lasting(record.key.kind).await?;
        let is_missing = self.records.is_of_another_hub(record)
            || self
                .hub
                .find(&record.key)
                .await
                .map_err(ReconcileError::Hub)?
                .is_none();
        Ok(lasts && is_missing && self.queue().is_complete())
    }

    async fn evict(&self, record: &Record) -> Result<(), ReconcileError> {
        let _hold = self.taken.take(all_of(record)).await;
        // Other works may have held the objects for long: the work may be back, or its record another one.
        let is_lost = !self.is_back(record).await?
            && self.is_certain(record).await?
            && self.records.reread(record).await?.stored == record.stored;
        if !is_lost {
            return Ok(());
        }
        let mut after = record.clone();
        let all: Vec<ObjectId> = record.entries.keys().cloned().collect();
        let removed = self
            .remove(&record.key, &DeleteOption::default(), &mut after, &all)
            .await;
        let after = self.save(record, after).await?;
        self.forget(&record.key);
        if removed.left.is_empty() {
            self.records.delete(&after).await?;
            tracing::info!(
                record = record.name, work = %record.key, objects = all.len(),
                "the grace period of a work that is not on the hub is over; its record is gone"
            );
        }
        Ok(())
    }

    /// Whether the work of a record that seemed to be lost is on the hub.
    pub(super) async fn is_back(&self, record: &Record) -> Result<bool, ReconcileError> {
        // A work of the same name on another hub is another work.
        if self.records.is_of_another_hub(record) {
            return Ok(false);
        }
        let is_known = self.queue().works().contains_key(&record.key);
        Ok(is_known
            || self
                .hub
                .find(&record.key)
                .await
                .map_err(ReconcileError::Hub)?
                .is_some())
    }

    /// Whether every object of the record that is there names another record of a ManifestWork: then no object is lost.
    async fn is_taken_by_others(&self, record: &Record) -> Result<bool, Problem> {
        let own = self.records.reference(record);
        for (id, entry) in &record.entries {
            // A server that does not serve a kind, perhaps not yet, does not know what there is of it.
            if !self.is_served(id, &entry.version).await {
                return Ok(false);
            }
            let there = self.objects.look(&entry.place(id)).await?;
            if there.is_some_and(|there| Owner::by_reference(&there, own.as_ref()).is_none()) {
                return Ok(false);
            }
        }
        Ok(!record.entries.is_empty())
    }

    async fn leave_to_others(&self, record: &Record) -> Result<(), ReconcileError> {
        let _hold = self.taken.take(all_of(record)).await;
        for id in record.entries.keys() {
            self.leave(record, id).await.map_err(ReconcileError::Spoke)?;
        }
        self.records.delete(record).await?;
        let named = self
            .records
            .reference(record)
            .map(|RecordReference { name, .. }| name);
        tracing::info!(
            record = named,
            "the record of another hub is gone: its objects have other records"
        );
        Ok(())
    }

    /// Whether the record is one of those that this is about.
    pub(super) fn has_own_id(&self, record: &Record) -> bool {
        record.key.kind == WorkKind::ManifestWork && record.header.agent_id == self.records.agent_id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_goes_after_its_grace_period_and_only_where_there_is_one() {
        let passed = |seconds| Some(Duration::from_secs(seconds));
        let grace = passed(60);
        assert_eq!(eviction(true, None, None), Eviction::Wait);
        assert_eq!(eviction(true, passed(1000), None), Eviction::Stop);
        assert_eq!(eviction(true, None, grace), Eviction::Start);
        assert_eq!(eviction(true, passed(59), grace), Eviction::Wait);
        assert_eq!(eviction(true, passed(60), grace), Eviction::Evict);
        assert_eq!(eviction(false, passed(90), grace), Eviction::Stop);
        assert_eq!(eviction(false, None, grace), Eviction::Wait);
    }

    #[test]
    fn the_time_of_a_record_is_what_this_process_has_seen_whatever_clocks_say() {
        let key = crate::work::WorkKey {
            kind: WorkKind::ManifestWork,
            name: "web".to_owned(),
        };
        let record = |start: Option<i64>| Record {
            eviction: start.map(|second| Timestamp::from_second(second).unwrap()),
            ..Record::new(&key, String::new())
        };
        let (mut evictions, start) = (Evictions::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let passed = |seconds| Some(Duration::from_secs(seconds));
        // Written long ago, or by a clock that was behind.
        assert_eq!(evictions.passed(&record(Some(7)), after(0)), passed(0));
        assert_eq!(evictions.passed(&record(Some(7)), after(5)), passed(5));
        assert_eq!(
            evictions.passed(&record(Some(8)), after(9)),
            passed(0),
            "started anew"
        );
        assert_eq!(evictions.passed(&record(None), after(10)), None);
        assert_eq!(evictions.passed(&record(Some(8)), after(12)), passed(0));
    }
}
