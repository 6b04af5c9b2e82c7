//! What a deleted placement leaves behind.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::labels::SCHEDULER_NAME;
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{self, Observed};
use tokio::time::Instant;

use super::job::{Step, Teardown};
use super::scheduler::{Flight, Scheduler};

impl Scheduler {
    /// Finds objects of placements that were deleted while nobody watched.
    pub(super) fn sweep(&mut self, now: Instant) {
        if std::mem::replace(&mut self.swept, true) && self.sweep_at.is_none_or(|at| now < at) {
            return;
        }
        self.sweep_at = None;
        let owners = self.decisions.owners().chain(self.slices.owners());
        let keys: BTreeSet<PlacementKey> = owners
            .map(|(namespace, owner)| self.key_of(namespace, owner))
            .filter(|key| !self.placements.contains_key(key) && !self.absent.contains(key))
            .collect();
        for key in keys {
            match self.kept_without_placement(&key) {
                Some(until) => self.sweep_at = self.sweep_at.max(Some(until)),
                None => drop(self.leavers.insert(key)),
            }
        }
    }

    /// The next placement that is gone and has objects that say that it owned them. Objects without an owner were
    /// written by hand and stay.
    pub(super) fn next_teardown(&mut self, now: Instant) -> Option<Step> {
        loop {
            let is_ready = |key: &&PlacementKey| !self.in_flight.contains_key(*key);
            let key = self.leavers.iter().find(is_ready)?.clone();
            // It comes back when its rest ends. If it stayed, each search would pass over it again.
            if self.backoff.rests(&key, now) {
                self.leavers.remove(&key);
                self.resting_leavers.insert(key);
                continue;
            }
            let stored = self.stored(&key);
            let owned = |metadata: &ObjectMeta| {
                let mut owners = metadata.owner_references.iter().flatten();
                owners.any(|owner| owner.kind == "Placement" && *owner.name == *key.name)
            };
            let mut observed = Observed {
                status: None,
                decisions: stored.decisions,
                slices: stored.slices,
            };
            observed.decisions.retain(|object| owned(&object.metadata));
            observed.slices.retain(|object| {
                owned(&object.metadata) && object.scheduler_name.as_deref() == Some(SCHEDULER_NAME)
            });
            let plan = plan::teardown(&observed);
            if plan.is_empty() {
                self.leavers.remove(&key);
                continue;
            }
            self.in_flight.insert(key.clone(), Flight::default());
            return Some(Step::Teardown(Box::new(Teardown { key, plan })));
        }
    }
}
