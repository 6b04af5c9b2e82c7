//! While what decisions depend on cannot be read, they are kept, and each placement says so.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use portolan_api::shorten;
use portolan_engine::conditions::Condition;
use portolan_engine::placement::PlacementKey;
use portolan_engine::plan::{Plan, Reference};
use tokio::time::Instant;

use super::event_drafts;
use super::job::{Change, Job, Step, Summary};
use super::scheduler::{Flight, Scheduler};
use super::status::{self, Conditions, INPUT_UNREADABLE};
use crate::health::Missing;
use crate::moment::Moment;

/// What is over in less than this is nothing to speak of.
pub(super) const DOUBT_UNTOLD: Duration = Duration::from_secs(10);

/// Since when decisions could not be made, and the placements that say so.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    pub(super) since: Option<Instant>,
    pub(super) told: BTreeSet<PlacementKey>,
    /// Placements that are still to be told and do not rest, once there is something to tell.
    pub(super) untold: Option<BTreeSet<PlacementKey>>,
}

impl Doubt {
    /// A placement came, or its rest has ended.
    pub(super) fn wake(&mut self, key: &PlacementKey) {
        if let Some(untold) = &mut self.untold
            && !self.told.contains(key)
        {
            untold.insert(key.clone());
        }
    }
}

impl Scheduler {
    /// When placements are to be told, if that is still to come.
    pub(super) fn next_doubt(&self, now: Instant) -> Option<Instant> {
        let at = self.doubt.since? + DOUBT_UNTOLD;
        (at > now).then_some(at)
    }

    /// The next placement to tell that its decision is kept.
    pub(super) fn next_in_doubt(&mut self, now: Moment) -> Option<Step> {
        let since = *self.doubt.since.get_or_insert(now.instant);
        if now.instant < since + DOUBT_UNTOLD {
            return None;
        }
        let reason = |missing: Missing| {
            self.problems
                .get(&*missing.resource)
                .cloned()
                .unwrap_or(missing.text)
        };
        let missing: Vec<String> = self.missing().into_iter().map(reason).collect();
        let message = format!(
            "The last decision is kept: {}. The placement is evaluated again as soon as the kind can be read",
            missing.join("; ")
        );
        let condition = Condition::new(INPUT_UNREADABLE, true, "NotSynced", message);
        let key = self.next_untold(now.instant)?;
        self.doubt.told.insert(key.clone());
        self.tell(&key, condition, now.wall)
    }

    /// The next placement that is to be told. One that rests comes again when its rest ends: a search through all placements for
    /// each of them would take the square of them.
    fn next_untold(&mut self, now: Instant) -> Option<PlacementKey> {
        let all = || self.engine.placements().cloned().collect();
        let untold = self.doubt.untold.get_or_insert_with(all);
        loop {
            let is_ready = |key: &&PlacementKey| !self.in_flight.contains_key(*key);
            let key = untold.iter().find(is_ready)?.clone();
            untold.remove(&key);
            if self.engine.placement(&key).is_some() && !self.backoff.rests(&key, now) {
                return Some(key);
            }
        }
    }

    /// Says something in the status of a placement and leaves everything else as it is.
    pub(super) fn tell(&mut self, key: &PlacementKey, condition: Condition, now: Timestamp) -> Option<Step> {
        let placement = self.engine.placement(key)?;
        let status = status::with(placement, condition, now);
        let known = self.placements.get(key);
        let job = Job {
            summary: Summary {
                conditions: Conditions::of(Some(&status)),
                ..self.as_it_is(key)
            },
            placement: Reference {
                namespace: key.namespace.to_string(),
                name: key.name.to_string(),
                uid: placement.metadata.uid.clone(),
                resource_version: known.map(|known| known.version.clone()),
            },
            confirm: false,
            decisions: Plan::default(),
            slices: Plan::default(),
            profiles: None,
            notes: event_drafts::transitions(placement, &status),
            change: Change::default(),
            status: Some(status),
        };
        self.in_flight.insert(key.clone(), Flight::default());
        Some(Step::Publish(Box::new(job)))
    }

    /// What a placement has published, as its status and its objects tell.
    pub(super) fn as_it_is(&self, key: &PlacementKey) -> Summary {
        let status = self.engine.placement(key).and_then(|known| known.status.as_ref());
        let owner = (
            key.namespace.to_string(),
            shorten::label_value(&key.name).into_owned(),
        );
        Summary {
            key: key.clone(),
            clusters: status.map_or(0, |status| status.number_of_selected_clusters.max(0) as usize),
            decisions: self.decisions.count(&owner),
            slices: self.slices.count(&owner),
            conditions: Conditions::of(status),
        }
    }

    /// Everything can be read: who was told otherwise is looked at again.
    pub(super) fn doubt_is_over(&mut self) {
        let Doubt { told, .. } = std::mem::take(&mut self.doubt);
        told.iter().for_each(|key| self.engine.reconsider(key));
    }
}
