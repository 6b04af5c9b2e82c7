//! What a deleted placement leaves behind.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portolan_api::labels::SCHEDULER_NAME;
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{self, Observed};

use super::desk::{Desk, Flight};
use super::job::{Step, Teardown};

impl Desk {
    /// The next placement that is gone and has objects that say that it owned them. Objects without an owner were
    /// written by hand and stay.
    pub(super) fn next_teardown(&mut self, now: Timestamp) -> Option<Step> {
        let candidates: Vec<PlacementKey> = self
            .leavers
            .iter()
            .filter(|key| !self.in_flight.contains_key(*key) && !self.backoff.rests(key, now))
            .cloned()
            .collect();
        for key in candidates {
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
        None
    }
}
