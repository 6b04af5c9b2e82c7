use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use kube::Client;
use serde_json::Value;

use super::desk::{Desk, Outcome};
use super::hub::Hub;
use super::items::{Item, note_ahead, note_uid, unrecorded};
use crate::Clock;
use crate::plan::{Action, Seen, Stance, act, stance};
use crate::record::{Record, Records, Unkept};
use crate::report::{self, Applied, Finding, Found};
use crate::sabotage::{Rule, broken};
use crate::settings::Settings;
use crate::spoke::{Objects, Place, Problem, learn};
use crate::work::{Fault, Kinds, ObjectId, Status, Target, Wish, Work, WorkKey};

/// Objects of one work that are asked for side by side.
const PARALLEL: usize = 8;

/// Why a pass did not get to its end. It is made again later.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("the hub: {0}")]
    Hub(Problem),
    #[error("the member cluster: {0}")]
    Spoke(Problem),
    #[error("{0}")]
    Record(#[from] Unkept),
}

/// Carries out looks at works.
pub(crate) struct Passes {
    pub(super) hub: Hub,
    pub(super) spoke: Client,
    pub(super) objects: Objects,
    pub(super) records: Records,
    /// The records as they are stored, by us alone or by somebody whom the next write will run into.
    pub(super) kept: BTreeMap<WorkKey, Record>,
    seen: BTreeMap<WorkKey, BTreeMap<ObjectId, Seen>>,
    pub(super) kinds: Kinds,
    pub(super) clock: Clock,
}

impl Passes {
    pub(crate) fn new(hub: Client, spoke: Client, settings: &Settings) -> Passes {
        let objects = Objects::new(spoke.clone());
        Passes {
            hub: Hub::new(hub, &settings.cluster),
            spoke,
            records: Records::new(objects.clone(), settings),
            objects,
            kept: BTreeMap::new(),
            seen: BTreeMap::new(),
            kinds: Kinds::default(),
            clock: settings.clock.clone(),
        }
    }

    /// A work is not on the hub any more. Deleted works wait for us, so one with objects was lost, and they stay.
    pub(crate) fn gone(&mut self, key: &WorkKey) {
        self.seen.remove(key);
        if let Some(record) = self.kept.remove(key)
            && !record.entries.is_empty()
        {
            tracing::warn!(
                work = %key, objects = record.entries.len(), record = self.records.name(key),
                "the work is gone from the hub without having been deleted; its objects stay as they are"
            );
        }
    }

    /// Looks at one work and does what is to be done.
    pub(crate) async fn pass(&mut self, desk: &mut Desk, key: &WorkKey) -> Outcome {
        let Some(work) = desk.works().get(key).cloned() else {
            return Outcome::Done;
        };
        let dealt = match work.deleting {
            true => self.tear_down(desk, work).await,
            false => self.keep_up(desk, work).await,
        };
        dealt.unwrap_or_else(|trouble| {
            // Whoever was faster has left something else than what is remembered.
            self.kept.remove(key);
            match &trouble {
                Trouble::Hub(Problem::Conflict(why)) | Trouble::Record(Unkept::Failed(Problem::Conflict(why))) => {
                    tracing::debug!(work = %key, why, "somebody else was faster; it is looked at again");
                }
                trouble => tracing::warn!(work = %key, error = %trouble, "a work could not be dealt with and is tried again"),
            }
            Outcome::Failed
        })
    }

    async fn keep_up(&mut self, desk: &mut Desk, work: Work) -> Result<Outcome, Trouble> {
        let wish = match &work.wish {
            Ok(wish) => wish.clone(),
            Err(why) => {
                let status = report::unreadable(&work, why, self.clock.now());
                self.tell(desk, &work, status).await?;
                return Ok(Outcome::Done);
            }
        };
        let work = match work.is_held() || broken(Rule::HoldFirst) {
            true => work,
            false => {
                let work = self.hub.hold(&work).await.map_err(Trouble::Hub)?;
                desk.answered(work.clone());
                work
            }
        };
        let record = self.record(&work.key).await?;
        let (stance, note) = stance(&work, &record);
        if let Stance::Hold { applied } = stance {
            let to = Record {
                note,
                ..record.clone()
            };
            self.save(&record, to).await?;
            let status = report::held(&work, applied, self.clock.now());
            self.tell(desk, &work, status).await?;
            return Ok(Outcome::Done);
        }
        let manifests = wish.manifests.iter().flatten();
        learn(&self.spoke, &mut self.kinds, manifests)
            .await
            .map_err(Trouble::Spoke)?;
        let items = self.items(desk, &work, &wish);
        let sound = items.iter().all(|item| item.target.is_some());
        let observed = self.observe(&items).await;
        let actions = self.actions(&work.key, &items, &observed);

        let mut ahead = Record {
            note,
            ..record.clone()
        };
        note_ahead(&mut ahead, &items, &actions);
        let first = match broken(Rule::RecordFirst) {
            true => record.clone(),
            false => ahead.clone(),
        };
        let saved = match self.save(&record, first).await {
            Err(Trouble::Record(unserved @ Unkept::Unserved(_))) => {
                let findings = items
                    .into_iter()
                    .map(|item| unrecorded(item, &unserved))
                    .collect();
                return self.conclude(desk, &work, findings, Outcome::Failed).await;
            }
            saved => saved?,
        };
        let (findings, mut outcome) = self.carry_out(&work.key, &wish, items, observed, actions).await;

        let mut after = Record {
            stored: saved.stored.clone(),
            ..ahead
        };
        for finding in &findings {
            note_uid(&mut after, finding);
        }
        let wanted: BTreeSet<ObjectId> = findings
            .iter()
            .filter_map(|finding| Some(finding.target.as_ref()?.id.clone()))
            .collect();
        let withdrawn: Vec<ObjectId> = after
            .entries
            .keys()
            .filter(|id| !wanted.contains(*id))
            .cloned()
            .collect();
        // A manifest that cannot be understood may be the new form of one that seems to have been withdrawn.
        if !withdrawn.is_empty() && stance == Stance::Sure && sound && desk.is_complete() {
            let removed = self
                .remove(desk, &work.key, &wish.delete_option, &mut after, &withdrawn)
                .await;
            outcome = worse(outcome, removed.outcome);
        }
        self.save(&saved, after).await?;
        self.conclude(desk, &work, findings, outcome).await
    }

    /// What is there for each of them.
    async fn observe(&self, items: &[Item]) -> Vec<Result<Option<Value>, Problem>> {
        let objects = &self.objects;
        // The places are made first: a stream of futures that borrow from the items would not be `Send`.
        let places: Vec<Option<Place>> = items.iter().map(|item| item.target.as_ref().map(place)).collect();
        futures::stream::iter(places)
            .map(|place| async move {
                match place {
                    Some(place) => objects.get(&place).await,
                    None => Ok(None),
                }
            })
            .buffered(PARALLEL)
            .collect()
            .await
    }

    /// What is to be done about each of them; `None` where nothing can be.
    fn actions(
        &self,
        key: &WorkKey,
        items: &[Item],
        observed: &[Result<Option<Value>, Problem>],
    ) -> Vec<Option<Result<Action, Fault>>> {
        let seen = self.seen.get(key);
        items
            .iter()
            .zip(observed)
            .map(|(item, observed)| {
                let target = item.target.as_ref().filter(|_| item.refused.is_none())?;
                let there = observed.as_ref().ok()?;
                Some(act(
                    target,
                    there.as_ref(),
                    seen.and_then(|seen| seen.get(&target.id)),
                ))
            })
            .collect()
    }

    /// Does it, in the order of the manifests: a namespace comes before what is in it.
    async fn carry_out(
        &mut self,
        key: &WorkKey,
        wish: &Wish,
        items: Vec<Item>,
        observed: Vec<Result<Option<Value>, Problem>>,
        actions: Vec<Option<Result<Action, Fault>>>,
    ) -> (Vec<Finding>, Outcome) {
        let mut outcome = Outcome::Quiet;
        let mut findings = Vec::new();
        let before = self.seen.remove(key).unwrap_or_default();
        let mut seen = BTreeMap::new();
        for ((item, observed), action) in items.into_iter().zip(observed).zip(actions) {
            let user = wish.executor.as_deref();
            let finding = self.one(item, observed, action, user).await;
            if finding.applied != Applied::Done {
                outcome = worse(outcome, Outcome::Failed);
            }
            if let (Some(target), Found::There(object)) = (&finding.target, &finding.found) {
                let now = Seen::of(target, object);
                if before.get(&target.id) != Some(&now) {
                    outcome = worse(outcome, Outcome::Changed);
                }
                // What was not applied is applied the next time, however much it looks as if it was.
                if finding.applied == Applied::Done {
                    seen.insert(target.id.clone(), now);
                }
            }
            findings.push(finding);
        }
        self.seen.insert(key.clone(), seen);
        (findings, outcome)
    }

    async fn one(
        &self,
        item: Item,
        observed: Result<Option<Value>, Problem>,
        action: Option<Result<Action, Fault>>,
        user: Option<&str>,
    ) -> Finding {
        let there = match &observed {
            Ok(Some(object)) => Found::There(Box::new(object.clone())),
            Ok(None) => Found::Missing,
            Err(problem) => Found::Unknown(problem.to_string()),
        };
        let finding = |item: Item, applied, found| Finding {
            meta: item.meta,
            target: item.target,
            applied,
            found,
        };
        if let Some(refused) = item.refused.clone() {
            return finding(item, refused, there);
        }
        let failed = |problem: &Problem| Applied::Failed {
            reason: match problem {
                Problem::Conflict(_) => "ApplyConflict".to_owned(),
                problem => problem.reason().to_owned(),
            },
            message: problem.to_string(),
        };
        let (place, action) = match (item.target.as_ref().map(place), action, &observed) {
            (Some(place), Some(Ok(action)), _) => (place, action),
            (_, Some(Err(Fault(message))), _) => {
                let reason = "InvalidManifestConfig".to_owned();
                return finding(item, Applied::Failed { reason, message }, there);
            }
            (_, _, Err(problem)) => return finding(item, failed(problem), there),
            // An item without a place is refused, and one that was observed has an action.
            _ => return finding(item, Applied::Done, there),
        };
        let answer = match action {
            Action::Leave => return finding(item, Applied::Done, there),
            Action::Absent => {
                let message = "the object is only looked at, and is not there".to_owned();
                let reason = "NotFound".to_owned();
                return finding(item, Applied::Failed { reason, message }, there);
            }
            Action::Create { body } => self.objects.create(&place, &body, user).await,
            Action::Apply { body, manager, force } => {
                self.objects.apply(&place, &body, &manager, force, user).await
            }
        };
        match answer {
            Ok(object) => finding(item, Applied::Done, Found::There(Box::new(object))),
            Err(problem) => finding(item, failed(&problem), there),
        }
    }

    /// Says what came of it.
    async fn conclude(
        &mut self,
        desk: &mut Desk,
        work: &Work,
        findings: Vec<Finding>,
        outcome: Outcome,
    ) -> Result<Outcome, Trouble> {
        let status = report::report(work, &findings, self.clock.now());
        self.tell(desk, work, status).await?;
        Ok(outcome)
    }

    /// Writes the status, if it is another one.
    pub(super) async fn tell(&self, desk: &mut Desk, work: &Work, status: Status) -> Result<(), Trouble> {
        if status != work.status {
            let work = self.hub.report(work, &status).await.map_err(Trouble::Hub)?;
            desk.answered(work);
        }
        Ok(())
    }

    pub(super) async fn record(&mut self, key: &WorkKey) -> Result<Record, Trouble> {
        if let Some(record) = self.kept.get(key) {
            return Ok(record.clone());
        }
        let record = self.records.read(key).await?;
        self.kept.insert(key.clone(), record.clone());
        Ok(record)
    }

    pub(super) async fn save(&mut self, from: &Record, to: Record) -> Result<Record, Trouble> {
        if *from == to {
            return Ok(to);
        }
        let saved = self.records.save(from, to).await?;
        self.kept.insert(saved.key.clone(), saved.clone());
        Ok(saved)
    }
}

/// The outcome that asks for more attention.
pub(super) fn worse(a: Outcome, b: Outcome) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Done => 0,
        Outcome::Quiet => 1,
        Outcome::Changed => 2,
        Outcome::Failed => 3,
    };
    if rank(&b) > rank(&a) { b } else { a }
}

pub(super) fn place(target: &Target) -> Place {
    Place {
        id: target.id.clone(),
        version: target.version.clone(),
    }
}
