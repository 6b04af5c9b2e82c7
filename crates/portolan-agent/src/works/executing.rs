//! What the executor of a work may do, asked before anything is done.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;

use super::items::{Item, Reader};
use super::work_reconciler::{WorkReconciler, lock};
use crate::plan::{Allowed, Right, Scope, denial, verbs};
use crate::report::ApplyOutcome;
use crate::sabotage::{Rule, sabotaged};
use crate::spoke::Problem;
use crate::work::{Account, DesiredManifests, Executor, Target, Work};

/// Questions that are asked side by side.
const PARALLEL: usize = 8;

impl WorkReconciler {
    /// Takes those manifests out that the executor may not apply, and says in whose name the rest is read.
    pub(super) async fn confine(&self, work: &Work, desired: &DesiredManifests, items: &mut [Item]) {
        match &desired.executor {
            Executor::Agent => {}
            Executor::Invalid(_) if sabotaged(Rule::WholeExecutor) => {}
            Executor::Invalid(why) => {
                for item in items {
                    item.reader = Reader::Nobody;
                    item.refused.get_or_insert_with(|| ApplyOutcome::Failed {
                        reason: "InvalidExecutor".to_owned(),
                        message: why.clone(),
                    });
                }
            }
            Executor::Account(account) => {
                if !sabotaged(Rule::ExecutorReads) {
                    let readers = items.iter_mut().map(|item| &mut item.reader);
                    let readers = readers.filter(|reader| **reader != Reader::Nobody);
                    readers.for_each(|reader| *reader = Reader::Account(account.user()));
                }
                if !sabotaged(Rule::AskFirst) {
                    self.ask(work, account, items).await;
                }
            }
        }
    }

    async fn ask(&self, work: &Work, account: &Account, items: &mut [Item]) {
        let now = self.clock.now();
        let known = lock(&self.allowed).remove(&work.key);
        let known = known.filter(|known| known.is_about(&work.uid, work.generation, account));
        let mut allowed = known.unwrap_or_else(|| Allowed::new(&work.uid, work.generation, account));
        let mut problems = BTreeMap::new();
        // Most roles are about all objects of a kind, which takes one question for all of them.
        for scope in [Scope::All, Scope::One] {
            let open: BTreeSet<Right> = items
                .iter()
                .filter(|item| item.refused.is_none())
                .filter_map(|item| Some((needs(item)?, item.target.as_ref()?)))
                .flat_map(|(verbs, target)| verbs.into_iter().map(move |verb| (verb, &target.id)))
                .filter(|(verb, id)| !allowed.has(verb, id, now))
                .map(|(verb, id)| scope.right(verb, id))
                .collect();
            let questions = allowed.next_questions(scope, &open);
            for (right, answer) in self.answers(account, questions).await {
                match answer {
                    Ok(true) => allowed.note(right, now),
                    Ok(false) => allowed.note_denied(right),
                    Err(problem) => {
                        allowed.forget(&right);
                        problems.insert(right, problem);
                    }
                }
            }
        }
        for item in items.iter_mut().filter(|item| item.refused.is_none()) {
            let (Some(verbs), Some(target)) = (needs(item), &item.target) else {
                continue;
            };
            let denied: Vec<&'static str> = verbs
                .into_iter()
                .filter(|verb| !allowed.counts(verb, &target.id))
                .collect();
            if denied.is_empty() {
                continue;
            }
            let unanswered = denied
                .iter()
                .find_map(|verb| problems.get(&Right::to_one(verb, &target.id)));
            let is_known = |verb: &&'static str| allowed.is_denied(verb, &target.id);
            let refused = match unanswered.is_none() && !denied.iter().all(is_known) {
                true => not_asked_yet(account),
                false => refusal(account, target, &denied, unanswered),
            };
            if denied.contains(&"get") && !sabotaged(Rule::ExecutorReads) {
                item.reader = Reader::Nobody;
            }
            item.refused = Some(refused);
        }
        lock(&self.allowed).insert(work.key.clone(), allowed);
    }

    async fn answers(&self, account: &Account, rights: Vec<Right>) -> Vec<(Right, Result<bool, Problem>)> {
        let objects = &self.objects;
        futures::stream::iter(rights)
            .map(|right| async move {
                let answer = objects.may(account, &right).await;
                (right, answer)
            })
            .buffered(PARALLEL)
            .collect()
            .await
    }
}

/// The verbs that the manifest takes.
fn needs(item: &Item) -> Option<Vec<&'static str>> {
    let target = item.target.as_ref()?;
    Some(verbs(&target.config.strategy, item.owned))
}

/// An object that is not applied because others of the work come first.
fn not_asked_yet(account: &Account) -> ApplyOutcome {
    ApplyOutcome::Failed {
        reason: "RightsNotKnownYet".to_owned(),
        message: format!(
            "the agent has not checked yet what the executor {} may do with this object: the agent checks some hundred objects at \
             a time, and this object comes in one of the next checks",
            account.user()
        ),
    }
}

fn refusal(
    account: &Account,
    target: &Target,
    denied: &[&str],
    unanswered: Option<&Problem>,
) -> ApplyOutcome {
    match unanswered {
        None => ApplyOutcome::Failed {
            reason: "Refused".to_owned(),
            message: denial(account, &target.id, denied),
        },
        Some(problem) => ApplyOutcome::Failed {
            reason: problem.reason().to_owned(),
            message: format!(
                "the member cluster does not tell what the executor {} may do, and nothing is applied before that: \
                 {problem}; accepted: an agent that may create subjectaccessreviews.authorization.k8s.io",
                account.user()
            ),
        },
    }
}
