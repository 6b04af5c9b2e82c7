//! The objects of one work: looked at side by side, then brought up to date in the order of the manifests.

use std::collections::BTreeMap;

use futures::StreamExt;
use portolan_controllers::logging::Operation;
use serde_json::Value;

use super::desk::Outcome;
use super::items::Item;
use super::pass::{Passes, lock, worse};
use crate::plan::{Action, Seen, act};
use crate::report::{Applied, Finding, Found};
use crate::spoke::{Place, Problem};
use crate::work::{Fault, Wish, WorkKey};

/// Objects of one work that are asked for side by side.
const PARALLEL: usize = 8;

impl Passes {
    /// What is there for each of them.
    pub(super) async fn observe(&self, items: &[Item]) -> Vec<Result<Option<Value>, Problem>> {
        let objects = &self.objects;
        // The places are made first: a stream of futures that borrow from the items would not be `Send`.
        let places: Vec<Option<Place>> = items
            .iter()
            .map(|item| item.target.as_ref().map(Place::of))
            .collect();
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
    pub(super) fn actions(
        &self,
        key: &WorkKey,
        items: &[Item],
        observed: &[Result<Option<Value>, Problem>],
    ) -> Vec<Option<Result<Action, Fault>>> {
        let seen = lock(&self.seen);
        let seen = seen.get(key);
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
    pub(super) async fn carry_out(
        &self,
        key: &WorkKey,
        wish: &Wish,
        items: Vec<Item>,
        observed: Vec<Result<Option<Value>, Problem>>,
        actions: Vec<Option<Result<Action, Fault>>>,
    ) -> (Vec<Finding>, Outcome) {
        let mut outcome = Outcome::Quiet;
        let mut findings = Vec::new();
        let before = lock(&self.seen).remove(key).unwrap_or_default();
        let mut seen = BTreeMap::new();
        let mut written = 0;
        for ((item, observed), action) in items.into_iter().zip(observed).zip(actions) {
            let user = wish.executor.as_deref();
            let (finding, is_written) = self.one(item, observed, action, user).await;
            written += usize::from(is_written);
            if finding.applied.has_failed() {
                outcome = worse(outcome, Outcome::Failed);
            }
            if let (Some(target), Found::There(object)) = (&finding.target, &finding.found) {
                let now = Seen::of(target, object);
                // What is finished is never among what was seen, and nothing follows from it.
                if finding.applied != Applied::Finished && before.get(&target.id) != Some(&now) {
                    outcome = worse(outcome, Outcome::Changed);
                }
                // What was not applied is applied the next time, however much it looks as if it was.
                if finding.applied == Applied::Done {
                    seen.insert(target.id.clone(), now);
                }
            }
            findings.push(finding);
        }
        lock(&self.seen).insert(key.clone(), seen);
        if written > 0 {
            let all = findings.len();
            self.monitor
                .say(key, &format!("{written} of {all} objects applied"));
        }
        (findings, outcome)
    }

    /// Does one, and says what came of it and whether something was written.
    async fn one(
        &self,
        item: Item,
        observed: Result<Option<Value>, Problem>,
        action: Option<Result<Action, Fault>>,
        user: Option<&str>,
    ) -> (Finding, bool) {
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
            return (finding(item, refused, there), false);
        }
        let failed = |problem: &Problem| Applied::Failed {
            reason: match problem {
                Problem::Conflict(_) => "ApplyConflict".to_owned(),
                problem => problem.reason().to_owned(),
            },
            message: problem.to_string(),
        };
        let (place, action) = match (item.target.as_ref().map(Place::of), action, &observed) {
            (Some(place), Some(Ok(action)), _) => (place, action),
            (_, Some(Err(Fault(message))), _) => {
                let reason = "InvalidManifestConfig".to_owned();
                return (finding(item, Applied::Failed { reason, message }, there), false);
            }
            (_, _, Err(problem)) => return (finding(item, failed(problem), there), false),
            // An item without a place is refused, and one that was observed has an action.
            _ => return (finding(item, Applied::Done, there), false),
        };
        let answer = match action {
            Action::Leave => return (finding(item, Applied::Done, there), false),
            Action::Absent => {
                let message = "the object is only looked at, and is not there".to_owned();
                let reason = "NotFound".to_owned();
                return (finding(item, Applied::Failed { reason, message }, there), false);
            }
            Action::Create { body } => self.objects.create(&place, &body, user).await,
            Action::Apply { body, manager, force } => {
                self.objects.apply(&place, &body, &manager, force, user).await
            }
        };
        self.monitor.applied(&answer);
        let (kind, object) = (place.id.kind(), place.id.place());
        let operation = Operation {
            verb: "apply",
            resource: &kind,
            object: &object,
        };
        match answer {
            Ok(object) => {
                self.monitor.spoke.succeeded(operation);
                (finding(item, Applied::Done, Found::There(Box::new(object))), true)
            }
            Err(problem) => {
                self.monitor
                    .spoke
                    .failed_as(operation, problem.failure(), &problem.to_string());
                (finding(item, failed(&problem), there), false)
            }
        }
    }
}
