//! The objects of one work: looked at side by side, then brought up to date by kind and in the order of the manifests.

use std::collections::BTreeMap;

use futures::StreamExt;
use portolan_runtime::logging::Operation;
use serde_json::Value;

use super::items::{Item, Noted, Reader};
use super::owning::ATTEMPTS;
use super::work_queue::Outcome;
use super::work_reconciler::{WorkReconciler, lock, worse};
use crate::cost::Cost;
use crate::plan::{Action, RecordReference, Seen, There, act, apply_order, fold};
use crate::record::{Entry, Record};
use crate::report::{ApplyOutcome, ManifestResult, ObservedObject};
use crate::spoke::{Place, Problem};
use crate::work::{FIELD_MANAGER, InvalidManifest, ObjectId, Strategy, Target, Work, WorkKey};

/// Objects of one work that are asked for side by side.
const PARALLEL: usize = 8;

/// What is seen of an object.
#[derive(Clone, Debug)]
pub(super) enum Sight {
    Full(Value),
    /// Only its metadata: whoever the work is applied for may not read it.
    Metadata(Value),
    Missing,
}

/// What is to be done about an object; `None` where nothing can be.
type Planned = Option<Result<Action, InvalidManifest>>;

/// For whom the objects of a work are brought up to date.
pub(super) struct Order<'a> {
    pub(super) key: &'a WorkKey,
    /// In whose name, if not in the agent's own.
    pub(super) user: Option<String>,
    /// The record that lists them, with what it says of them.
    pub(super) record: &'a Record,
    pub(super) owner: Option<RecordReference>,
}

/// What came of the objects of a work.
pub(super) struct CarriedOut {
    pub(super) findings: Vec<ManifestResult>,
    pub(super) noted: Vec<(ObjectId, Noted)>,
    pub(super) outcome: Outcome,
}

/// What came of one object.
struct Done {
    applied: ApplyOutcome,
    found: ObservedObject,
    noted: Noted,
    written: bool,
}

impl WorkReconciler {
    /// What is there for each of them.
    pub(super) async fn observe(&self, items: &[Item]) -> Vec<Result<Sight, Problem>> {
        // The places are made first: a stream of futures that borrow from the items would not be `Send`.
        let places: Vec<Option<(Place, Reader)>> = items
            .iter()
            .map(|item| Some((Place::of(item.target.as_ref()?), item.reader.clone())))
            .collect();
        futures::stream::iter(places)
            .map(|place| async move {
                match place {
                    Some((place, reader)) => self.sight(&place, &reader).await,
                    None => Ok(Sight::Missing),
                }
            })
            .buffered(PARALLEL)
            .collect()
            .await
    }

    async fn sight(&self, place: &Place, reader: &Reader) -> Result<Sight, Problem> {
        let read = match reader {
            Reader::Agent => self.objects.read(place, None).await,
            Reader::Account(user) => self.objects.read(place, Some(user)).await,
            Reader::Nobody => Err(Problem::Refused(String::new())),
        };
        match read {
            Ok(there) => Ok(Sight::Full(there)),
            Err(problem @ Problem::NotFound(_)) => {
                self.doubt_kinds(place, &problem);
                Ok(Sight::Missing)
            }
            Err(Problem::Refused(_)) if *reader != Reader::Agent => {
                let there = self.objects.look(place).await?;
                Ok(there.map_or(Sight::Missing, Sight::Metadata))
            }
            Err(problem) => Err(problem),
        }
    }

    /// What is to be done about each of them.
    pub(super) fn actions(
        &self,
        work: &Work,
        record: &Record,
        items: &[Item],
        observed: &[Result<Sight, Problem>],
        cost: &mut Cost,
    ) -> Vec<Planned> {
        // Not held while anything is computed.
        let seen = lock(&self.seen).get(&record.key).cloned();
        let seen = seen.as_ref();
        let is_settled = work.is_applied();
        items
            .iter()
            .zip(observed)
            .enumerate()
            .map(|(number, (item, observed))| {
                cost.enter(number);
                let target = item.target.as_ref().filter(|_| item.refused.is_none())?;
                let there = match observed.as_ref().ok()? {
                    Sight::Full(object) => Some(There { object, is_settled }),
                    Sight::Missing => None,
                    Sight::Metadata(_) => return None,
                };
                // What the record does not know is applied once more, and written down before that.
                let entry = record.entries.get(&target.id);
                let known = entry.is_some_and(|entry| entry.uid.is_some());
                let seen = seen.filter(|_| known).and_then(|seen| seen.get(&target.id));
                Some(act(target, there.as_ref(), seen, cost))
            })
            .collect()
    }

    /// Does it, by kind and in the order of the manifests: a namespace comes before what is in it. The findings are in the
    /// order of the manifests.
    pub(super) async fn carry_out(
        &self,
        order: Order<'_>,
        items: Vec<Item>,
        observed: Vec<Result<Sight, Problem>>,
        actions: Vec<Planned>,
    ) -> CarriedOut {
        let mut outcome = Outcome::Quiet;
        let (mut findings, mut notes) = (BTreeMap::new(), Vec::new());
        let before = lock(&self.seen).remove(order.key).unwrap_or_default();
        let mut seen = BTreeMap::new();
        let mut written = 0;
        let mut open: Vec<_> = items.into_iter().zip(observed).zip(actions).enumerate().collect();
        open.sort_by_key(|(_, ((item, _), _))| apply_order(&item.meta.group, &item.meta.kind));
        for (ordinal, ((item, observed), action)) in open {
            let done = self.one(&order, &item, observed, action).await;
            written += usize::from(done.written);
            if let Some(target) = &item.target {
                notes.push((target.id.clone(), done.noted));
            }
            let finding = ManifestResult {
                meta: item.meta,
                target: item.target,
                applied: done.applied,
                found: done.found,
            };
            if finding.applied.has_failed() {
                outcome = worse(outcome, Outcome::Failed);
            }
            if let (Some(target), ObservedObject::There(object)) = (&finding.target, &finding.found) {
                let now = Seen::of(target, object);
                // What is finished is never among what was seen, and nothing follows from it.
                if finding.applied != ApplyOutcome::Finished && before.get(&target.id) != Some(&now) {
                    outcome = worse(outcome, Outcome::Changed);
                }
                // What was not applied is applied the next time, however much it looks as if it was.
                if finding.applied == ApplyOutcome::Done {
                    seen.insert(target.id.clone(), now);
                }
            }
            findings.insert(ordinal, finding);
        }
        let findings: Vec<ManifestResult> = findings.into_values().collect();
        lock(&self.seen).insert(order.key.clone(), seen);
        if written > 0 {
            let done = findings
                .iter()
                .filter(|finding| finding.applied == ApplyOutcome::Done)
                .count();
            let unchanged = match done.saturating_sub(written) {
                0 => String::new(),
                unchanged => format!(", {unchanged} unchanged"),
            };
            let written = portolan_api::count::counted(written, "object");
            self.monitor
                .say(order.key, &format!("{written} applied{unchanged}"));
        }
        CarriedOut {
            findings,
            noted: notes,
            outcome,
        }
    }

    /// Does one, and says what came of it.
    async fn one(
        &self,
        order: &Order<'_>,
        item: &Item,
        observed: Result<Sight, Problem>,
        action: Planned,
    ) -> Done {
        let place = item.target.as_ref().map(Place::of);
        let found = found(&observed);
        let unchanged = |applied, noted| Done {
            applied,
            found: found.clone(),
            noted,
            written: false,
        };
        if let Some(refused) = item.refused.clone() {
            let applied = self.refuse(order, item, place.as_ref(), observed, refused).await;
            return unchanged(applied, Noted::Unknown);
        }
        let (target, place, there) = match (&item.target, place, observed) {
            (Some(target), Some(place), Ok(Sight::Full(there))) => (target, place, Some(there)),
            (Some(target), Some(place), Ok(Sight::Missing)) => (target, place, None),
            (_, _, Ok(Sight::Metadata(_))) => {
                let why = "the executor may not get the object; accepted: a role on the member cluster that allows it";
                return unchanged(failed(&Problem::Refused(why.to_owned())), Noted::Unknown);
            }
            (_, _, Err(problem)) => return unchanged(failed(&problem), Noted::Unknown),
            // An item without a place is refused.
            _ => return unchanged(ApplyOutcome::Done, Noted::Unknown),
        };
        let (body, managed) = match action {
            Some(Ok(Action::Create { body })) => (body, None),
            Some(Ok(Action::Apply { body, manager, force })) => (body, Some((manager, force))),
            Some(Err(InvalidManifest(message))) => {
                let reason = "AppliedManifestSSAIgnoreFieldError".to_owned();
                return unchanged(ApplyOutcome::Failed { reason, message }, Noted::Unknown);
            }
            Some(Ok(Action::Leave)) | None => {
                let Some(there) = there else {
                    // One that is only looked at, and is not there.
                    return unchanged(ApplyOutcome::Done, Noted::NotOurs);
                };
                let entry = order.record.entries.get(&target.id);
                let ours = is_ours(target, entry, &there, order.owner.as_ref());
                return self.refer_to(order, item, &place, there, ours, false).await;
            }
        };
        let body = match &order.owner {
            Some(owner) if there.is_none() && item.owned => owner.mark(&body),
            _ => body,
        };
        let answer = match managed {
            None => self.objects.create(&place, &body, order.user()).await,
            Some((manager, force)) => match self.fold(&place, there.as_ref(), &manager, order).await {
                Ok(()) => {
                    self.objects
                        .apply(&place, &body, &manager, force, order.user())
                        .await
                }
                Err(problem) => Err(problem),
            },
        };
        self.monitor.applied(&answer);
        self.log_answer(&place, &answer);
        match answer {
            Ok(object) => self.refer_to(order, item, &place, object, true, true).await,
            Err(problem) => {
                self.doubt_kinds(&place, &problem);
                unchanged(failed(&problem), noted(&problem))
            }
        }
    }

    /// What came of a manifest that is not applied. Its object loses the owner where the object is to stay: that counts, whoever
    /// may apply the manifest.
    async fn refuse(
        &self,
        order: &Order<'_>,
        item: &Item,
        place: Option<&Place>,
        observed: Result<Sight, Problem>,
        refused: ApplyOutcome,
    ) -> ApplyOutcome {
        if refused != ApplyOutcome::Finished
            && !item.owned
            && let (Some(place), Some(owner)) = (place, &order.owner)
            && let Ok(Sight::Full(there) | Sight::Metadata(there)) = observed
            && let Err(problem) = self.disown(place, there, owner, order.user()).await
        {
            return unreferenced(&problem);
        }
        refused
    }

    /// Logs whether the member cluster answers. The line about the work says what it answered (`log_applied`).
    fn log_answer(&self, place: &Place, answer: &Result<Value, Problem>) {
        let (kind, object) = (place.id.kind(), place.id.place());
        let operation = Operation {
            verb: "apply",
            resource: &kind,
            object: &object,
        };
        match answer {
            Ok(_) => self.monitor.spoke.succeeded(operation),
            Err(problem @ (Problem::Unanswered(why) | Problem::TooLarge(why))) => {
                self.monitor.spoke.failed_as(operation, problem.failure(), why);
            }
            Err(_) => {}
        }
    }

    /// Makes fields that our name holds because of an update count as applied.
    async fn fold(
        &self,
        place: &Place,
        there: Option<&Value>,
        manager: &str,
        order: &Order<'_>,
    ) -> Result<(), Problem> {
        let api_version = place.api_version();
        let mut there = there.filter(|_| manager == FIELD_MANAGER).cloned();
        for _ in 0..ATTEMPTS {
            let Some(patch) = there.as_ref().and_then(|there| fold(there, &api_version)) else {
                return Ok(());
            };
            let folded = self.objects.patch_by_operations(place, &patch, order.user());
            match folded.await {
                // Another work that wants the object may have done the same. That is no failure of this one.
                Err(Problem::Conflict(_)) => there = self.objects.get(place, order.user()).await?,
                answer => return answer,
            }
        }
        Err(Problem::Conflict(format!(
            "the managed fields of {} were changed by others {ATTEMPTS} times in a row",
            place.id
        )))
    }

    /// Makes an object that is as it should be name its record, or not, and says what came of it.
    async fn refer_to(
        &self,
        order: &Order<'_>,
        item: &Item,
        place: &Place,
        there: Value,
        ours: bool,
        written: bool,
    ) -> Done {
        let before = ObservedObject::There(Box::new(there.clone()));
        let referred = match &order.owner {
            Some(owner) if ours && item.owned => self.own(place, there, owner, order.user()).await,
            Some(owner) => self.disown(place, there, owner, order.user()).await,
            None => Ok(Some(there)),
        };
        let done = |applied, found, noted| Done {
            applied,
            found,
            noted,
            written,
        };
        match referred {
            Ok(Some(there)) => {
                let uid = there.pointer("/metadata/uid").and_then(Value::as_str);
                let noted = match uid {
                    Some(uid) if ours => Noted::Applied(uid.to_owned()),
                    _ => Noted::NotOurs,
                };
                done(ApplyOutcome::Done, ObservedObject::There(Box::new(there)), noted)
            }
            Ok(None) => {
                let gone = Problem::NotFound("the object was deleted while it was applied".to_owned());
                done(failed(&gone), ObservedObject::Missing, Noted::Unknown)
            }
            Err(problem) => done(unreferenced(&problem), before, Noted::Unknown),
        }
    }
}

impl Order<'_> {
    fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }
}

/// Whether an object that needs no write is one that was written for this work.
fn is_ours(target: &Target, entry: Option<&Entry>, there: &Value, owner: Option<&RecordReference>) -> bool {
    match &target.config.strategy {
        Strategy::ReadOnly => false,
        // It is left alone only after it was applied.
        Strategy::Apply { .. } => true,
        Strategy::CreateOnly => entry.is_some_and(|entry| match &entry.uid {
            Some(uid) => there.pointer("/metadata/uid").and_then(Value::as_str) == Some(uid),
            None => owner.is_some_and(|owner| owner.has_made(there) || owner.is_owner_of(there)),
        }),
    }
}

fn found(observed: &Result<Sight, Problem>) -> ObservedObject {
    match observed {
        Ok(Sight::Full(object)) => ObservedObject::There(Box::new(object.clone())),
        Ok(Sight::Metadata(_)) => ObservedObject::Hidden,
        Ok(Sight::Missing) => ObservedObject::Missing,
        Err(problem) => ObservedObject::Unknown(problem.to_string()),
    }
}

/// What the record says of an object whose request failed.
fn noted(problem: &Problem) -> Noted {
    match problem {
        // It may have arrived.
        Problem::Unanswered(_) | Problem::TooLarge(_) => Noted::Unknown,
        _ => Noted::Refused,
    }
}

fn failed(problem: &Problem) -> ApplyOutcome {
    ApplyOutcome::Failed {
        reason: match problem {
            Problem::Conflict(_) => "ApplyConflict".to_owned(),
            problem => problem.reason().to_owned(),
        },
        message: problem.to_string(),
    }
}

fn unreferenced(problem: &Problem) -> ApplyOutcome {
    ApplyOutcome::Failed {
        reason: problem.reason().to_owned(),
        message: format!("the owner references of the object cannot be written: {problem}"),
    }
}
