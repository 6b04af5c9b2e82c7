use std::collections::BTreeMap;

use portolan_api::work::DeleteOption;

use super::desk::{Desk, Outcome};
use super::pass::{Passes, Trouble, worse};
use crate::plan::{Claims, Other, Owner, Removal, is_orphaned, removal};
use crate::record::{Record, Unkept};
use crate::report;
use crate::sabotage::{Rule, broken};
use crate::spoke::{Place, Problem, learn};
use crate::work::{ObjectId, Work, WorkKey, WorkKind};

/// What came of removing objects.
pub(super) struct Removed {
    pub(super) outcome: Outcome,
    /// What is still there, in words.
    pub(super) left: Vec<String>,
}

/// Who may own an object as well: what all works ask for, and all records.
struct Others {
    works: BTreeMap<WorkKey, Work>,
    records: Vec<(String, Record)>,
}

impl Passes {
    /// Removes everything that a deleted work has left, and then lets it go.
    pub(super) async fn tear_down(&mut self, desk: &mut Desk, work: Work) -> Result<Outcome, Trouble> {
        let record = self.record(&work.key).await?;
        let mut outcome = Outcome::Quiet;
        if !record.entries.is_empty() {
            let option = match &work.wish {
                Ok(wish) => wish.delete_option.clone(),
                Err(why) => {
                    let status = report::unreadable(&work, why, self.clock.now());
                    self.tell(desk, &work, status).await?;
                    return Ok(Outcome::Done);
                }
            };
            if !desk.is_complete() {
                // The desk asks for it again when all other works are known.
                return Ok(Outcome::Quiet);
            }
            let mut after = record.clone();
            let all: Vec<ObjectId> = record.entries.keys().cloned().collect();
            let removed = self.remove(desk, &work.key, &option, &mut after, &all).await;
            outcome = removed.outcome;
            self.save(&record, after).await?;
            if !removed.left.is_empty() {
                let status = report::waiting(&work, &removed.left, self.clock.now());
                self.tell(desk, &work, status).await?;
                return Ok(outcome);
            }
        }
        let record = self.record(&work.key).await?;
        self.records.delete(&record).await?;
        self.kept.remove(&work.key);
        if work.is_held() {
            match self.hub.release(&work).await {
                // Gone it is; the watch will say so.
                Ok(_) | Err(Problem::NotFound(_)) => {}
                Err(problem) => return Err(Trouble::Hub(problem)),
            }
        }
        Ok(worse(outcome, Outcome::Done))
    }

    /// Deals with objects that are to go. Those that are gone, kept on purpose or somebody else's leave the record.
    pub(super) async fn remove(
        &mut self,
        desk: &Desk,
        key: &WorkKey,
        option: &DeleteOption,
        record: &mut Record,
        ids: &[ObjectId],
    ) -> Removed {
        let mut removed = Removed {
            outcome: Outcome::Quiet,
            left: Vec::new(),
        };
        let others = match self.know_others(desk, key).await {
            Ok(others) => others,
            Err(trouble) => {
                tracing::warn!(work = %key, error = %trouble, "nothing is removed before all other owners are known");
                removed.left = ids.iter().map(ObjectId::to_string).collect();
                removed.outcome = Outcome::Failed;
                return removed;
            }
        };
        for id in ids {
            if is_orphaned(option, id) {
                tracing::info!(work = %key, object = %id, "the object is kept, as its work says");
                record.entries.remove(id);
                continue;
            }
            match self.remove_one(key, record, id, &others).await {
                Ok(None) => {
                    record.entries.remove(id);
                    removed.outcome = worse(removed.outcome, Outcome::Changed);
                }
                Ok(Some((why, outcome))) => {
                    removed.left.push(format!("{id} ({why})"));
                    removed.outcome = worse(removed.outcome, outcome);
                }
                Err(problem) => {
                    tracing::warn!(work = %key, object = %id, error = %problem, "an object could not be removed and is tried again");
                    removed.left.push(format!("{id} ({problem})"));
                    removed.outcome = Outcome::Failed;
                }
            }
        }
        removed
    }

    /// Deals with one object; says why it is still there, if it is.
    async fn remove_one(
        &self,
        key: &WorkKey,
        record: &Record,
        id: &ObjectId,
        others: &Others,
    ) -> Result<Option<(String, Outcome)>, Problem> {
        let Some(entry) = record.entries.get(id) else {
            return Ok(None);
        };
        let place = Place {
            id: id.clone(),
            version: entry.version.clone(),
        };
        let there = self.objects.get(&place).await?;
        let own = record.stored.as_ref().map(|stored| stored.uid.as_str());
        let by_reference = there.as_ref().and_then(|there| Owner::by_reference(there, own));
        let certain = by_reference.or_else(|| Owner::by_record(&others.records, record, id));
        let claims = Claims::new(&others.works, &self.kinds);
        let other = certain.map(Other::Owns).or_else(|| claims.other(key, id));
        match removal(entry, there.as_ref(), other) {
            Removal::Gone => Ok(None),
            Removal::Shared(owner) => {
                tracing::info!(work = %key, object = %id, owner = owner.0, "the object stays: somebody else owns it too");
                Ok(None)
            }
            Removal::Doubtful(owner) => Ok(Some((format!("{} may own it too", owner.0), Outcome::Quiet))),
            Removal::Going => Ok(Some(("its deletion is under way".to_owned(), Outcome::Quiet))),
            Removal::Delete { uid } => {
                self.objects.delete(&place, &uid).await?;
                tracing::info!(work = %key, object = %id, "the object is deleted: its work does not ask for it any more");
                // Many objects are gone at once, and those are not worth another look.
                match self.objects.get(&place).await? {
                    None => Ok(None),
                    Some(_) => Ok(Some(("its deletion is under way".to_owned(), Outcome::Changed))),
                }
            }
        }
    }

    /// Everything that can tell that an object has another owner.
    ///
    /// Each kind has a watch of its own, and one may lag behind the other: that an object was handed from a work of one
    /// kind to one of the other may be known by half. So the hub is asked for the other kind.
    async fn know_others(&mut self, desk: &Desk, key: &WorkKey) -> Result<Others, Trouble> {
        let mut works = desk.works().clone();
        if !broken(Rule::KnowAllFirst) {
            let other = key.kind.other();
            let fresh = self.hub.works(other).await.map_err(Trouble::Hub)?;
            works.retain(|key, _| key.kind != other);
            works.extend(fresh.into_iter().map(|work| (work.key.clone(), work)));
        }
        let wishes = works.values().filter_map(|work| work.wish.as_ref().ok());
        let manifests = wishes.flat_map(|wish| wish.manifests.iter().flatten());
        learn(&self.spoke, &mut self.kinds, manifests)
            .await
            .map_err(Trouble::Spoke)?;
        let mut records = self.all(WorkKind::ManifestWork).await?;
        records.extend(self.all(WorkKind::Work).await?);
        Ok(Others { works, records })
    }

    async fn all(&self, kind: WorkKind) -> Result<Vec<(String, Record)>, Unkept> {
        self.records.all(kind).await
    }
}
