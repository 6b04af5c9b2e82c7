//! Works that have no place for a record. Nothing is applied that cannot be written down first, so they have left nothing either.

use std::sync::Arc;

use super::items::Item;
use super::work_queue::Outcome;
use super::work_reconciler::{ReconcileError, WorkReconciler};
use crate::cost::Cost;
use crate::record::{Record, RecordError};
use crate::report::{self, ApplyOutcome, ManifestResult, ObservedObject};
use crate::work::{DesiredManifests, Work};

impl WorkReconciler {
    /// Says on the hub why nothing of the work is applied, or lets it go.
    pub(super) async fn without_record(
        &self,
        work: Arc<Work>,
        why: RecordError,
    ) -> Result<Outcome, ReconcileError> {
        if work.deleting {
            self.monitor.told(&work, &work.status);
            self.release(&work).await?;
            return Ok(Outcome::Done);
        }
        let desired = match &work.desired {
            Ok(desired) => desired,
            Err(fault) => {
                let status = report::unreadable(&work, fault, self.clock.now());
                self.tell(&work, status).await?;
                return Ok(Outcome::Done);
            }
        };
        let prepared = self.prepare(&work).await;
        let known = self.known_with(&prepared.kinds);
        let mut items = self.items(&work, desired, &known).await;
        prepared.refuse(&mut items);
        let fresh = self.records.fresh(&work.key);
        self.say_unrecorded(&work, desired, &fresh, items, &why).await?;
        // Logged once per cause, and tried again: the other work may go.
        Err(why.into())
    }

    /// Says of every manifest that is not refused anyway why it is not applied.
    pub(super) async fn say_unrecorded(
        &self,
        work: &Work,
        desired: &DesiredManifests,
        record: &Record,
        items: Vec<Item>,
        why: &RecordError,
    ) -> Result<Outcome, ReconcileError> {
        let findings: Vec<ManifestResult> = items.into_iter().map(|item| unrecorded(item, why)).collect();
        self.judge(work, record, &findings);
        self.conclude(work, desired, findings, Cost::of_work(), Outcome::Failed)
            .await
    }
}

fn unrecorded(item: Item, why: &RecordError) -> ManifestResult {
    ManifestResult {
        meta: item.meta,
        target: item.target,
        applied: item.refused.unwrap_or_else(|| ApplyOutcome::Failed {
            reason: "NoRecord".to_owned(),
            message: why.to_string(),
        }),
        found: ObservedObject::Unknown("nothing was applied".to_owned()),
    }
}
