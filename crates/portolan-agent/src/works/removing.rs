//! Removes objects that a work no longer asks for.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_api::work::DeleteOption;
use portolan_runtime::logging::Operation;
use serde_json::Value;
use tokio::time::Instant;

use super::others::Others;
use super::work_queue::Outcome;
use super::work_reconciler::{ReconcileError, WorkReconciler, lock, worse};
use crate::plan::{
    DeletionCause, Other, Owner, RecordReference, Removal, Served, is_orphaned, meaning, removal,
};
use crate::record::Record;
use crate::report;
use crate::sabotage::{Rule, sabotaged};
use crate::spoke::{Place, Problem};
use crate::work::{ObjectId, Work, WorkKey, reserved};

/// What came of removing objects.
pub(super) struct Removed {
    pub(super) outcome: Outcome,
    /// What is still there, in words.
    pub(super) left: Vec<String>,
}

impl WorkReconciler {
    /// Removes everything that a deleted work has left, and then lets it go.
    pub(super) async fn tear_down(&self, work: Arc<Work>) -> Result<Outcome, ReconcileError> {
        let record = self.record(&work.key).await?;
        let mut outcome = Outcome::Quiet;
        if !record.entries.is_empty() {
            let means = match self.meaning(&work).await {
                Err(ReconcileError::Hub(problem @ Problem::Refused(_))) => {
                    let status = report::undecided(&work, &problem.to_string(), self.clock.now());
                    self.tell(&work, status).await?;
                    return Err(ReconcileError::Hub(problem));
                }
                means => means?,
            };
            match means {
                DeletionCause::Early(until) => return Ok(Outcome::Until(until)),
                // It was just asked.
                DeletionCause::Ask => return Ok(Outcome::Quiet),
                DeletionCause::KindGoes => return self.let_go(&work, &record).await,
                DeletionCause::Deleted => {}
            }
            let option = match &work.desired {
                Ok(desired) => desired.delete_option.clone(),
                Err(why) => {
                    let status = report::unreadable(&work, why, self.clock.now());
                    self.tell(&work, status).await?;
                    return Ok(Outcome::Done);
                }
            };
            if !self.queue().is_complete() {
                // The queue asks for it again when all other works are known.
                return Ok(Outcome::Quiet);
            }
            let mut after = record.clone();
            let all: Vec<ObjectId> = record.entries.keys().cloned().collect();
            let removed = self.remove(&work.key, &option, &mut after, &all).await;
            outcome = removed.outcome;
            self.save(&record, after).await?;
            if !removed.left.is_empty() {
                let status = report::waiting(&work, &removed.left, self.clock.now());
                self.tell(&work, status).await?;
                return Ok(outcome);
            }
        }
        let record = self.record(&work.key).await?;
        self.records.delete(&record).await?;
        self.forget(&work.key);
        self.release(&work).await?;
        Ok(worse(outcome, Outcome::Done))
    }

    /// What the deletion of the work means. Asks the hub where the last answer does not tell.
    async fn meaning(&self, work: &Work) -> Result<DeletionCause, ReconcileError> {
        let now = Instant::now();
        let heard = self.queue().heard_deleted(work).unwrap_or(now);
        let kind = work.key.kind;
        let means = |said: Option<Served>| meaning(heard, self.deletion_patience, said, now);
        let last = lock(&self.served).get(&kind).copied();
        let means = match means(last) {
            DeletionCause::Ask => {
                let lasting = self.hub.is_lasting(kind).await.map_err(ReconcileError::Hub)?;
                // Asked when the question was sent: what happened until the answer came is not in it.
                let said = Served { asked: now, lasting };
                let means = means(Some(said));
                lock(&self.served).insert(kind, said);
                means
            }
            means => means,
        };
        Ok(means)
    }

    /// Lets a work go that goes with its kind. What it has left stays, and the record with it, as if it was lost.
    async fn let_go(&self, work: &Work, record: &Record) -> Result<Outcome, ReconcileError> {
        self.release(work).await?;
        tracing::warn!(
            work = %work.key, objects = record.entries.len(), record = record.name,
            "the hub deletes the CustomResourceDefinition of the work and all works with it; the objects of the work are kept"
        );
        Ok(Outcome::Done)
    }

    pub(super) async fn release(&self, work: &Work) -> Result<(), ReconcileError> {
        if !work.is_held() {
            return Ok(());
        }
        match self.hub.release(work).await {
            // Gone it is; the watch will say so.
            Ok(_) | Err(Problem::NotFound(_)) => Ok(()),
            Err(problem) => Err(ReconcileError::Hub(problem)),
        }
    }

    /// Deals with objects that are to go. Those that are gone, kept on purpose or somebody else's leave the record.
    pub(super) async fn remove(
        &self,
        key: &WorkKey,
        option: &DeleteOption,
        record: &mut Record,
        ids: &[ObjectId],
    ) -> Removed {
        let mut removed = Removed {
            outcome: Outcome::Quiet,
            left: Vec::new(),
        };
        let mut others = match self.know_others(key, record, ids).await {
            Ok(others) => others,
            Err(trouble) => {
                let operation = Operation {
                    verb: "find other owners of the objects of",
                    resource: key.kind.resource(),
                    object: &key.name,
                };
                self.log(operation, &trouble);
                removed.left = ids.iter().map(ObjectId::to_string).collect();
                removed.outcome = Outcome::Failed;
                return removed;
            }
        };
        let (mut gone, mut kept) = (0, 0);
        for id in ids {
            let (kind, place) = (id.kind(), id.place());
            let is_kept = is_orphaned(option, id);
            let operation = Operation {
                verb: if is_kept { "release" } else { "delete" },
                resource: &kind,
                object: &place,
            };
            let dealt_with = match is_kept {
                true => self.leave(record, id).await.map(|()| None),
                false => self.remove_one(key, record, id, &mut others).await,
            };
            match dealt_with {
                Ok(None) if is_kept => {
                    self.monitor.spoke.succeeded(operation);
                    tracing::debug!(work = %key, object = %id, "the object is kept, as its work says");
                    record.entries.remove(id);
                    kept += 1;
                }
                Ok(None) => {
                    self.monitor.spoke.succeeded(operation);
                    record.entries.remove(id);
                    gone += 1;
                    removed.outcome = worse(removed.outcome, Outcome::Changed);
                }
                Ok(Some((why, outcome))) => {
                    removed.left.push(format!("{id} ({why})"));
                    removed.outcome = worse(removed.outcome, outcome);
                }
                Err(problem) => {
                    self.monitor
                        .spoke
                        .failed_as(operation, problem.failure(), &problem.to_string());
                    removed.left.push(format!("{id} ({problem})"));
                    removed.outcome = Outcome::Failed;
                }
            }
        }
        let words = [(gone, "removed"), (kept, "kept")].into_iter();
        let words = words.filter(|(count, _)| *count > 0);
        let words: Vec<String> = words
            .map(|(count, what)| format!("{} {what}", portolan_api::count::counted(count, "object")))
            .collect();
        if !words.is_empty() {
            self.monitor.say(key, &words.join(", "));
        }
        removed
    }

    /// Deals with one object; says why it is still there, if it is.
    async fn remove_one(
        &self,
        key: &WorkKey,
        record: &Record,
        id: &ObjectId,
        others: &mut Others,
    ) -> Result<Option<(String, Outcome)>, Problem> {
        let Some(entry) = record.entries.get(id) else {
            return Ok(None);
        };
        if let Some(why) = reserved(id).filter(|_| !sabotaged(Rule::RecordsReserved)) {
            // Versions of this agent that let works have records have listed it.
            tracing::warn!(work = %key, object = %id, why, "the object is kept: no work may delete it");
            return self.leave(record, id).await.map(|()| None);
        }
        let place = entry.place(id);
        let there = self.objects.look(&place).await?;
        let licence = self.records.licence(record);
        let own = licence.record();
        let by_reference = there.as_ref().and_then(|there| Owner::by_reference(there, own));
        let certain = by_reference.or_else(|| others.owners.listed(id).cloned());
        let other = match certain {
            Some(owner) => Some(Other::Owns(owner)),
            None => self.say_of_others(key, id, others).await,
        };
        match removal(entry, there.as_ref(), other, &licence) {
            Removal::Gone => {
                if there.is_some() {
                    tracing::info!(work = %key, object = %id, "the object is kept: it is not the one that was applied for the work");
                }
                self.let_stay(&place, there, own).await?;
                Ok(None)
            }
            Removal::Shared(owner) => {
                self.let_stay(&place, there, own).await?;
                tracing::info!(work = %key, object = %id, owner = owner.0, "the object is kept: it has another owner");
                Ok(None)
            }
            Removal::Doubtful(owner) => Ok(Some((format!("{} may own it too", owner.0), Outcome::Quiet))),
            Removal::Going => Ok(Some(("its deletion is under way".to_owned(), Outcome::Quiet))),
            Removal::Delete { uid } => {
                self.objects.delete(&place, &uid).await?;
                tracing::debug!(work = %key, object = %id, "the object is deleted: it is not in its work any more");
                // Many objects are gone at once, and those are not worth another look.
                match self.objects.look(&place).await? {
                    None => Ok(None),
                    Some(_) => Ok(Some(("its deletion is under way".to_owned(), Outcome::Changed))),
                }
            }
        }
    }

    /// What other works, and the contents of the object, have to say about it.
    async fn say_of_others(&self, key: &WorkKey, id: &ObjectId, others: &mut Others) -> Option<Other> {
        for known in [&self.known(), &others.listed] {
            let other = self.other(known, key, id, &mut others.answers).await;
            if other.is_some() {
                return other;
            }
        }
        others.owners.inside(id).cloned().map(Other::Perhaps)
    }

    /// Takes entries out of the record whose objects are not there, or go with their namespace whatever the work says. One
    /// that cannot be asked for stays.
    pub(super) async fn forget_absent(&self, record: &mut Record, ids: &[ObjectId]) {
        let mut namespaces = BTreeMap::new();
        for id in ids {
            let Some(entry) = record.entries.get(id) else {
                continue;
            };
            let going = match namespaces.get(&id.namespace) {
                Some(going) => *going,
                None => {
                    let going = self.is_namespace_going(&id.namespace).await;
                    namespaces.insert(id.namespace.clone(), going);
                    going
                }
            };
            let is_served = self.is_served(id, &entry.version).await;
            if going || is_served && matches!(self.objects.look(&entry.place(id)).await, Ok(None)) {
                record.entries.remove(id);
            }
        }
    }

    async fn is_namespace_going(&self, name: &str) -> bool {
        if name.is_empty() {
            return false;
        }
        let place = Place {
            id: ObjectId {
                resource: "namespaces".to_owned(),
                name: name.to_owned(),
                ..ObjectId::default()
            },
            version: "v1".to_owned(),
        };
        let namespace = self.objects.look(&place).await.ok().flatten();
        namespace.is_some_and(|namespace| namespace.pointer("/metadata/deletionTimestamp").is_some())
    }

    /// Whether the member cluster serves the kind of an object. Where it does not, perhaps not yet, it does not know what there
    /// is of it.
    pub(super) async fn is_served(&self, id: &ObjectId, version: &str) -> bool {
        if id.group.is_empty() {
            return true;
        }
        let api_version = format!("{}/{version}", id.group);
        let verbs = self.objects.verbs(&api_version, &id.resource).await;
        verbs.is_ok_and(|verbs| !verbs.is_empty())
    }

    /// Takes the record off the owners of an object that stays. One that named a record that is gone would be collected.
    pub(super) async fn leave(&self, record: &Record, id: &ObjectId) -> Result<(), Problem> {
        let Some(entry) = record.entries.get(id) else {
            return Ok(());
        };
        let place = entry.place(id);
        let there = self.objects.look(&place).await?;
        let own = self.records.reference(record);
        self.let_stay(&place, there, own.as_ref()).await
    }

    async fn let_stay(
        &self,
        place: &Place,
        there: Option<Value>,
        own: Option<&RecordReference>,
    ) -> Result<(), Problem> {
        if let (Some(there), Some(own)) = (there, own)
            && !sabotaged(Rule::StaysUnowned)
        {
            self.disown(place, there, own, None).await?;
        }
        Ok(())
    }
}
