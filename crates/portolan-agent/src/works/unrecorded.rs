//! Works that have no place for a record. Nothing is applied that cannot be written down first, so they have left nothing either.

use std::sync::Arc;

use super::desk::Outcome;
use super::items::Item;
use super::pass::{Passes, Trouble};
use crate::cost::Cost;
use crate::record::{Record, Unkept};
use crate::report::{self, Applied, Finding, Found};
use crate::work::{Wish, Work};

impl Passes {
    /// Says on the hub why nothing of the work is applied, or lets it go.
    pub(super) async fn without_record(&self, work: Arc<Work>, why: Unkept) -> Result<Outcome, Trouble> {
        if work.deleting {
            self.monitor.told(&work, &work.status);
            self.release(&work).await?;
            return Ok(Outcome::Done);
        }
        let wish = match &work.wish {
            Ok(wish) => wish,
            Err(fault) => {
                let status = report::unreadable(&work, fault, self.clock.now());
                self.tell(&work, status).await?;
                return Ok(Outcome::Done);
            }
        };
        let prepared = self.prepare(&work).await;
        let known = self.known_with(&prepared.kinds);
        let mut items = self.items(&work, wish, &known).await;
        prepared.refuse(&mut items);
        let fresh = self.records.fresh(&work.key);
        self.say_unrecorded(&work, wish, &fresh, items, &why).await?;
        // Logged once per cause, and tried again: the other work may go.
        Err(why.into())
    }

    /// Says of every manifest that is not refused anyway why it is not applied.
    pub(super) async fn say_unrecorded(
        &self,
        work: &Work,
        wish: &Wish,
        record: &Record,
        items: Vec<Item>,
        why: &Unkept,
    ) -> Result<Outcome, Trouble> {
        let findings: Vec<Finding> = items.into_iter().map(|item| unrecorded(item, why)).collect();
        self.judge(work, record, &findings);
        self.conclude(work, wish, findings, Cost::of_work(), Outcome::Failed)
            .await
    }
}

fn unrecorded(item: Item, why: &Unkept) -> Finding {
    Finding {
        meta: item.meta,
        target: item.target,
        applied: item.refused.unwrap_or_else(|| Applied::Failed {
            reason: "NoRecord".to_owned(),
            message: why.to_string(),
        }),
        found: Found::Unknown("nothing was applied".to_owned()),
    }
}
