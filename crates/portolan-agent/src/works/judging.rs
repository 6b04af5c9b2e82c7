//! Which works have a say in an object: what was found out when they were dealt with, and what is asked where they were not.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::known::Known;
use super::work_reconciler::WorkReconciler;
use crate::plan::{Other, Right, Standing, Verdict};
use crate::record::Record;
use crate::report::{ApplyOutcome, ManifestResult};
use crate::spoke::Problem;
use crate::work::{Account, ObjectId, Work, WorkKey};

/// Reasons of a manifest that nobody applies until the work, or what its executor may do, is another one.
const REFUSALS: [&str; 4] = [
    "Refused",
    "InvalidExecutor",
    "InvalidManifest",
    "AppliedManifestSSAIgnoreFieldError",
];

/// What the member cluster said about the rights of executors, for one look at objects: most of them need the same.
#[derive(Debug, Default)]
pub(super) struct Answers(BTreeMap<(String, Right), bool>);

impl WorkReconciler {
    /// Keeps what came of the objects of a work, whose record this is.
    pub(super) fn judge(&self, work: &Work, record: &Record, findings: &[ManifestResult]) {
        let verdicts = findings.iter().filter_map(|finding| {
            let id = &finding.target.as_ref()?.id;
            let is_recorded = record.entries.contains_key(id);
            Some((id.clone(), verdict(&finding.applied, is_recorded)?))
        });
        Arc::make_mut(&mut self.judged()).note(work, verdicts);
    }

    /// Another work of these that has, or may have, a say in an object which the work `key` is to remove.
    pub(super) async fn other(
        &self,
        known: &Known,
        key: &WorkKey,
        id: &ObjectId,
        answers: &mut Answers,
    ) -> Option<Other> {
        let mut contenders = known.claims().contenders(&known.works, &known.judged, key, id);
        // Certainty first: it makes every question needless.
        contenders.sort_by_key(|contender| !contender.may_own());
        for contender in contenders {
            let is_allowed = self.may(&contender.standing, answers).await;
            let other = contender.settled(is_allowed);
            if other.is_some() {
                return other;
            }
        }
        None
    }

    /// Whether a work may have a say, as far as its executor goes. No answer leaves it in doubt.
    pub(super) async fn may(&self, standing: &Standing, answers: &mut Answers) -> bool {
        let Some(need) = standing.need() else {
            return true;
        };
        for verb in &need.verbs {
            let mut is_allowed = false;
            // Most roles are about all objects of a kind, which takes one question for all of them.
            for right in [Right::to_all(verb, &need.id), Right::to_one(verb, &need.id)] {
                is_allowed = is_allowed || self.answer(&need.account, right, answers).await;
            }
            if !is_allowed {
                return false;
            }
        }
        true
    }

    async fn answer(&self, account: &Account, right: Right, answers: &mut Answers) -> bool {
        let asked = (account.user(), right);
        if let Some(known) = answers.0.get(&asked) {
            return *known;
        }
        let is_allowed = match self.objects.may(account, &asked.1).await {
            Ok(is_allowed) => is_allowed,
            // An agent that may not ask applies nothing for an executor.
            Err(Problem::Refused(_)) => false,
            Err(_) => return true,
        };
        answers.0.insert(asked, is_allowed);
        is_allowed
    }
}

/// What came of an object; `None` where nobody knows. A work that is finished applies nothing any more, so it has a say in what it
/// has applied before and in nothing else: the rights to the rest were never asked.
fn verdict(applied: &ApplyOutcome, is_recorded: bool) -> Option<Verdict> {
    match applied {
        ApplyOutcome::Finished if !is_recorded => Some(Verdict::Refused),
        ApplyOutcome::Failed { reason, .. } if REFUSALS.contains(&reason.as_str()) => Some(Verdict::Refused),
        ApplyOutcome::Failed { reason, .. } if reason == "Unanswered" => None,
        ApplyOutcome::Done | ApplyOutcome::Finished | ApplyOutcome::Failed { .. } => Some(Verdict::Gets),
    }
}
