//! Owner references on objects: each is written by itself, with the rights of the agent.

use serde_json::Value;

use super::work_reconciler::WorkReconciler;
use crate::plan::RecordReference;
use crate::sabotage::{Rule, sabotaged};
use crate::spoke::{Part, Place, Problem};
use crate::work::reserved;

/// How often a reference is tried again when somebody else has written the object meanwhile.
pub(super) const ATTEMPTS: usize = 5;

impl WorkReconciler {
    /// Makes the object name the record as its owner. Gives the object as it is then, read in the name of `user`; `None`
    /// if it is gone. The record of another work is never owned: it would go with ours.
    pub(super) async fn own(
        &self,
        place: &Place,
        there: Value,
        record: &RecordReference,
        user: Option<&str>,
    ) -> Result<Option<Value>, Problem> {
        if reserved(&place.id).is_some() && !sabotaged(Rule::RecordsReserved) {
            return Ok(Some(there));
        }
        self.refer(place, there, user, |there| record.to_add(there)).await
    }

    /// Takes the record off the owners of the object.
    pub(super) async fn disown(
        &self,
        place: &Place,
        there: Value,
        record: &RecordReference,
        user: Option<&str>,
    ) -> Result<Option<Value>, Problem> {
        self.refer(place, there, user, |there| record.to_remove(there))
            .await
    }

    async fn refer(
        &self,
        place: &Place,
        mut there: Value,
        user: Option<&str>,
        patch: impl Fn(&Value) -> Option<Value>,
    ) -> Result<Option<Value>, Problem> {
        let uid = |object: &Value| object.pointer("/metadata/uid").cloned();
        let mut interrupted = false;
        for _ in 0..ATTEMPTS {
            let Some(patch) = patch(&there) else {
                return match interrupted {
                    true => self.objects.get(place, user).await,
                    false => Ok(Some(there)),
                };
            };
            match self.objects.merge(place, Part::Object, &patch).await {
                Ok(written) if !interrupted => {
                    // The answer is the agent's to read. But for this it is the object that was there.
                    there["metadata"] = written["metadata"].clone();
                    return Ok(Some(there));
                }
                Ok(_) => return self.objects.get(place, user).await,
                Err(Problem::NotFound(_)) => return Ok(None),
                Err(Problem::Conflict(_)) => {
                    interrupted = true;
                    let before = uid(&there);
                    match self.objects.look(place).await? {
                        Some(now) if uid(&now) == before => there = now,
                        // Another object has its name by now.
                        _ => return Ok(None),
                    }
                }
                Err(problem) => return Err(problem),
            }
        }
        Err(Problem::Conflict(format!(
            "the owner references of {} were changed by others {ATTEMPTS} times in a row",
            place.id
        )))
    }
}
