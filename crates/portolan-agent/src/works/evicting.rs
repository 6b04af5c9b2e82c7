//! Records of this agent whose works it does not have: their hub is another one now, or has lost the work. By default they stay,
//! since nothing was deleted. With a grace period, they go after it, with the objects that they own.

use std::time::Duration;

use jiff::Timestamp;
use portolan_api::work::DeleteOption;

use super::pass::{Passes, Trouble};
use super::reach::all_of;
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

fn eviction(
    is_unmanaged: bool,
    since: Option<Timestamp>,
    grace: Option<Duration>,
    now: Timestamp,
) -> Eviction {
    match (is_unmanaged, since, grace) {
        // Without a grace period, too: an agent that gets one later must not count the time in between.
        (false, Some(_), _) | (true, Some(_), None) => Eviction::Stop,
        (false, None, _) | (true, None, None) => Eviction::Wait,
        (true, None, Some(_)) => Eviction::Start,
        (true, Some(since), Some(grace)) => match since.checked_add(grace) {
            Ok(end) if now >= end => Eviction::Evict,
            _ => Eviction::Wait,
        },
    }
}

impl Passes {
    /// Deals with a record that has the id of this agent, whichever hub it is of. All works of this hub are known.
    pub(super) async fn look_after(&self, record: &Record) -> Result<(), Trouble> {
        let is_of_another_hub = record.header.hub_hash != self.records.hub_hash();
        let is_unmanaged = is_of_another_hub || !self.desk().works().contains_key(&record.key);
        if is_of_another_hub && self.is_taken_by_others(record).await.map_err(Trouble::Spoke)? {
            return self.leave_to_others(record).await;
        }
        let now = self.clock.now();
        match eviction(is_unmanaged, record.eviction, self.eviction_grace, now) {
            Eviction::Wait => Ok(()),
            Eviction::Stop => Ok(self.records.set_eviction(record, None).await?),
            _ if !self.is_certain(record, is_of_another_hub).await? => Ok(()),
            Eviction::Start => Ok(self.records.set_eviction(record, Some(now)).await?),
            Eviction::Evict => self.evict(record).await,
        }
    }

    /// Whether both servers have all that they ever had, as far as that can be told: a kind that is going, or is not served,
    /// loses works that were not deleted.
    async fn is_certain(&self, record: &Record, is_of_another_hub: bool) -> Result<bool, Trouble> {
        let lasts = self.hub.is_lasting(record.key.kind).await.map_err(Trouble::Hub)?
            && self.records.is_lasting(record.key.kind).await?;
        let is_missing =
            is_of_another_hub || self.hub.find(&record.key).await.map_err(Trouble::Hub)?.is_none();
        Ok(lasts && is_missing && self.desk().is_complete())
    }

    async fn evict(&self, record: &Record) -> Result<(), Trouble> {
        let _hold = self.taken.take(all_of(record)).await;
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

    async fn leave_to_others(&self, record: &Record) -> Result<(), Trouble> {
        let _hold = self.taken.take(all_of(record)).await;
        for id in record.entries.keys() {
            self.leave(record, id).await.map_err(Trouble::Spoke)?;
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
        let at = |second| Timestamp::from_second(second).unwrap();
        let grace = Some(Duration::from_secs(60));
        assert_eq!(eviction(true, None, None, at(0)), Eviction::Wait);
        assert_eq!(eviction(true, Some(at(0)), None, at(1000)), Eviction::Stop);
        assert_eq!(eviction(true, None, grace, at(0)), Eviction::Start);
        assert_eq!(eviction(true, Some(at(0)), grace, at(59)), Eviction::Wait);
        assert_eq!(eviction(true, Some(at(0)), grace, at(60)), Eviction::Evict);
        assert_eq!(eviction(false, Some(at(0)), grace, at(90)), Eviction::Stop);
        assert_eq!(eviction(false, None, grace, at(90)), Eviction::Wait);
    }
}
