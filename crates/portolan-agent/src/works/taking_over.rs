//! Records that somebody else has written: another agent, or an earlier version of this one.

use crate::plan::is_orphaned;
use crate::record::{Header, Record};
use crate::spoke::Problem;
use crate::work::{DesiredManifests, Executor, Work};

use super::work_reconciler::{ReconcileError, WorkReconciler, lock};

impl WorkReconciler {
    /// What the record of a work is to say about whose it is. A record of another agent is taken over, once: where it is
    /// changed back, the other agent still runs, and the two would overwrite each other without end.
    pub(super) fn header(&self, work: &Work, record: &Record) -> Header {
        let mut wanted = Record {
            header: record.header.labelled_as(work),
            ..record.clone()
        };
        let mut taken_over = lock(&self.taken_over);
        let theirs = &record.header.agent_id;
        let is_theirs = record.stored.is_some() && !theirs.is_empty() && theirs != self.records.agent_id();
        match taken_over.get_mut(&work.key) {
            Some(is_said) if is_theirs => {
                if !std::mem::replace(is_said, true) {
                    tracing::warn!(
                        work = %work.key, record = record.name, theirs, ours = self.records.agent_id(),
                        "another agent runs for this cluster: the record of the work has its id again after this agent has taken the \
                         record over; accepted: one agent for a cluster and a hub, so stop one of the two"
                    );
                }
            }
            _ => self.records.sign(&mut wanted),
        }
        wanted.header
    }

    /// Remembers that a record of another agent was taken over.
    pub(super) fn note_taken_over(&self, from: &Record, to: &Record) {
        let (before, now) = (&from.header.agent_id, &to.header.agent_id);
        if from.stored.is_some() && !before.is_empty() && before != now {
            tracing::info!(
                record = to.name,
                theirs = before,
                ours = now,
                "the record of another agent is taken over"
            );
            lock(&self.taken_over).insert(to.key.clone(), false);
        }
    }

    /// The record of a work with what the one lists that an earlier version of this agent has kept under another name. That
    /// one goes when no object names it any more.
    pub(super) async fn with_former(&self, work: &Work, record: Record) -> Result<Record, ReconcileError> {
        if record.is_leaving() || lock(&self.moved).contains(&work.key) {
            return Ok(record);
        }
        let former = self.records.read_former(&work.key).await?;
        let (Some(_), Some(named)) = (&former.stored, self.records.reference(&former)) else {
            lock(&self.moved).insert(work.key.clone());
            return Ok(record);
        };
        let mut next = record.clone();
        if next.note.uid.is_empty() {
            next.note = former.note.clone();
        }
        for (id, entry) in &former.entries {
            next.entries.entry(id.clone()).or_insert_with(|| entry.clone());
        }
        self.records.sign(&mut next);
        let next = self.save(&record, next).await?;
        let moved = self
            .move_references(work.desired.as_ref().ok(), &former, &next)
            .await;
        moved.map_err(ReconcileError::Spoke)?;
        self.records.delete(&former).await?;
        tracing::info!(work = %work.key, from = named.name, to = next.name, "the record of the work has another name now");
        lock(&self.moved).insert(work.key.clone());
        Ok(next)
    }

    /// Makes every object that names the former record name the new one, and nothing that stays name the former one.
    async fn move_references(
        &self,
        desired: Option<&DesiredManifests>,
        former: &Record,
        next: &Record,
    ) -> Result<(), Problem> {
        let (Some(old), Some(new)) = (self.records.reference(former), self.records.reference(next)) else {
            return Ok(());
        };
        for (id, entry) in &former.entries {
            let place = entry.place(id);
            let Some(there) = self.objects.look(&place).await? else {
                continue;
            };
            let uid = there.pointer("/metadata/uid").and_then(serde_json::Value::as_str);
            let is_the_one = entry.uid.is_none() || entry.uid.as_deref() == uid;
            let named = old.is_owner_of(&there) || old.has_made(&there);
            // One from before objects named theirs goes by the UID that it has.
            let by_uid = !former.is_held()
                && entry.uid.is_some()
                && desired.is_some_and(|desired| {
                    desired.executor == Executor::Agent && !is_orphaned(&desired.delete_option, id)
                });
            let there = match is_the_one && (named || by_uid) {
                true => self.own(&place, there, &new, None).await?,
                false => Some(there),
            };
            if let Some(there) = there {
                self.disown(&place, there, &old, None).await?;
            }
        }
        Ok(())
    }
}
