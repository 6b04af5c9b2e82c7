//! What is to be written for one replica set, and when to look at it again.

use std::collections::BTreeMap;
use std::time::Duration;

use portolan_api::labels::ocm;

use super::attempts::Attempts;
use super::decisions::{Reading, read};
use super::evaluate::evaluate;
use super::key::{SetKey, WorkKey};
use super::message::{Job, SetWrite, WorkWrite};
use super::refusals::{Cause, REFUSALS, Refusal};
use super::set::Set;
use super::state::State;
use super::status;
use super::verdict::{Verdict, View};
use super::works::Work;
use crate::bound::{Bound, Right};
use crate::moment::Moment;
use crate::reconcile::Action;

/// How long only figures of a status wait, so that a thousand works do not cost a thousand writes.
const STATUS_PAUSE: Duration = Duration::from_secs(1);
/// How long a decision may be unsettled before the status says so: being rewritten is no news.
const UNSETTLED_PAUSE: Duration = Duration::from_secs(10);

impl State {
    /// Shows what is known of a replica set at a moment.
    pub(super) fn look_at<T>(
        &self,
        key: &SetKey,
        now: Moment,
        look: impl FnOnce(&View<'_>) -> T,
    ) -> Option<T> {
        let set = self.sets.get(key)?;
        let (no_works, no_refusals, no_attempts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let reading = |placement: &str| -> Reading {
            let place = (key.namespace.clone(), placement.to_owned());
            read(self.placements.get(&place), self.decisions.get(&place))
        };
        let wanted = |placement: &str| -> Option<usize> {
            let place = (key.namespace.clone(), placement.to_owned());
            self.placements.get(&place)?.wanted
        };
        Some(look(&View {
            set,
            works: self.works.get(key).unwrap_or(&no_works),
            read: &reading,
            wanted: &wanted,
            offline: &self.offline,
            absences: &self.absences,
            right: &|cluster: &str| self.bound.right(&key.namespace, cluster),
            refusals: self.refusals.get(key).unwrap_or(&no_refusals),
            attempts: self.attempts.get(key).map_or(&no_attempts, |of| &of.clusters),
            now,
        }))
    }

    /// What is to be done for a replica set now.
    pub(super) fn decide(&mut self, key: &SetKey, now: Moment) -> Action<Job> {
        let Some(set) = self.sets.get(key) else {
            return Action::AwaitChange;
        };
        let nothing = BTreeMap::new();
        let works = self.works.get(key).unwrap_or(&nothing);
        let template = set.template;
        let job = |works, object, is_farewell| {
            Action::Write(Job {
                set: key.clone(),
                template,
                works,
                object,
                is_farewell,
            })
        };
        if set.is_leaving() {
            let is_waiting = self.unreadable.has_any_of(key);
            let (writes, object) = farewell(set, works, is_waiting);
            return match writes.is_empty() && object.is_none() {
                true => Action::AwaitChange,
                false => job(writes, object, true),
            };
        }
        if let Some(write) = missing_finalizer(set) {
            return job(Vec::new(), Some(write), false);
        }
        if !self.known.decisions() {
            // Not all is known that it takes; when it is, everything is looked at.
            return Action::AwaitChange;
        }
        let Some(verdict) = self.judge(key, now) else {
            return Action::AwaitChange;
        };
        let Some(set) = self.sets.get(key) else {
            return Action::AwaitChange;
        };
        if !verdict.works.is_empty() {
            // What there is to tell follows when this has ended.
            return job(verdict.works, None, false);
        }
        if verdict.tally.unsettled.is_empty() {
            self.unsettled.remove(key);
        } else {
            let since = *self.unsettled.entry(key.clone()).or_insert(now.instant);
            if now.instant < since + UNSETTLED_PAUSE {
                return Action::RequeueAt(since + UNSETTLED_PAUSE);
            }
        }
        let rest = match verdict.recheck {
            Some(at) => Action::RequeueAt(at),
            None => Action::AwaitChange,
        };
        let Some(status) = status::status(set, &verdict.tally, now.wall) else {
            return rest;
        };
        let due = self.told.get(key).map(|told| *told + STATUS_PAUSE);
        match due.filter(|due| now.instant < *due && !status::is_news(set.object.status.as_ref(), &status)) {
            Some(due) => Action::RequeueAt(verdict.recheck.map_or(due, |recheck| recheck.min(due))),
            None => {
                self.told.insert(key.clone(), now.instant);
                let (version, status) = (set.version.clone(), Box::new(status));
                job(Vec::new(), Some(SetWrite::Status { version, status }), false)
            }
        }
    }

    /// Takes note of what the works report and of who refuses a work, and decides.
    fn judge(&mut self, key: &SetKey, now: Moment) -> Option<Verdict> {
        let set = self.sets.get(key)?;
        let attempts = self.attempts.entry(key.clone());
        let attempts = attempts.or_insert_with(|| Attempts::at(set.template));
        attempts.observe(set, self.works.get_mut(key).unwrap_or(&mut BTreeMap::new()), now);
        recall(&mut self.refusals, &self.bound, key);
        let mut verdict = self.look_at(key, now, evaluate)?;
        let room = match verdict.unbound.is_empty() {
            true => 0,
            false => self.room_for_refusals(&key.namespace),
        };
        if note_unbound(&mut self.refusals, key, (&verdict.unbound, room), now) {
            // They count as failed now, and that may stop the rollout.
            verdict = self.look_at(key, now, evaluate)?;
        }
        let attempts = self.attempts.get_mut(key)?;
        if let Some(selected) = &verdict.selected {
            attempts.keep(selected);
        }
        if attempts.begin(&verdict.losing, now) {
            // Their time runs from now on.
            verdict = self.look_at(key, now, evaluate)?;
        }
        Some(verdict)
    }
}

/// The write that gives a replica set the finalizer, unless the replica set has the finalizer.
fn missing_finalizer(set: &Set) -> Option<SetWrite> {
    let mut finalizers = set.finalizers().to_vec();
    let is_ours = |finalizer: &String| finalizer == ocm::REPLICA_SET_FINALIZER;
    if finalizers.iter().any(is_ours) {
        return None;
    }
    finalizers.push(ocm::REPLICA_SET_FINALIZER.to_owned());
    let version = set.version.clone();
    Some(SetWrite::Finalizers { version, finalizers })
}

/// The clusters that refuse their work, by replica set.
type Refusals = BTreeMap<SetKey, BTreeMap<String, Refusal>>;

/// Forgets that clusters were not bound, where that is not so any more.
fn recall(refusals: &mut Refusals, bound: &Bound, key: &SetKey) {
    if let Some(refusals) = refusals.get_mut(key) {
        refusals.retain(|cluster, refusal| {
            refusal.cause != Cause::NotBound || bound.right(&key.namespace, cluster) == Right::Missing
        });
    }
}

/// Takes note of clusters that no bound set has, as of those whose server refuses their work, and of so many new ones at most.
/// Whether that is news.
fn note_unbound(
    refusals: &mut Refusals,
    key: &SetKey,
    (clusters, mut room): (&[String], usize),
    now: Moment,
) -> bool {
    let mut is_news = false;
    if clusters.is_empty() {
        return false;
    }
    let refusals = refusals.entry(key.clone()).or_default();
    for cluster in clusters {
        let known = refusals.get_mut(cluster);
        match known.filter(|known| known.cause == Cause::NotBound) {
            Some(known) => {
                is_news |= known.times < REFUSALS;
                known.times = REFUSALS;
            }
            None if room == 0 => {}
            None => {
                room -= 1;
                refusals.insert(cluster.clone(), Refusal::unbound(now));
                is_news = true;
            }
        }
    }
    is_news
}

/// What is left to do for a replica set that is being deleted: its works go, and then it may. It is waiting for works that
/// cannot be read: whoever mends or deletes them ends that.
fn farewell(
    set: &Set,
    works: &BTreeMap<WorkKey, Work>,
    is_waiting: bool,
) -> (Vec<WorkWrite>, Option<SetWrite>) {
    let is_ours = |finalizer: &String| finalizer == ocm::REPLICA_SET_FINALIZER;
    if !set.finalizers().iter().any(is_ours) {
        return (Vec::new(), None);
    }
    let staying = works.iter().filter(|(_, work)| !work.is_leaving);
    let deletions: Vec<WorkWrite> = staying
        .map(|(key, work)| WorkWrite::Delete {
            key: key.clone(),
            uid: work.uid.clone(),
        })
        .collect();
    let may_go = works.is_empty() && !is_waiting || !set.waits_for_works();
    let object = may_go.then(|| SetWrite::Finalizers {
        version: set.version.clone(),
        finalizers: set
            .finalizers()
            .iter()
            .filter(|finalizer| !is_ours(finalizer))
            .cloned()
            .collect(),
    });
    (deletions, object)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn no_more_refusals_are_remembered_than_there_is_room_for() {
        let (mut refusals, key) = (Refusals::new(), SetKey::new("shop", "web"));
        let now = Moment::from(Timestamp::UNIX_EPOCH);
        let clusters = ["a", "b", "c"].map(str::to_owned);
        assert!(note_unbound(&mut refusals, &key, (&clusters, 2), now));
        assert_eq!(refusals[&key].keys().collect::<Vec<_>>(), ["a", "b"]);
        assert!(
            note_unbound(&mut refusals, &key, (&clusters, 0), now),
            "these are seen again"
        );
        assert!(!note_unbound(&mut refusals, &key, (&clusters, 0), now));
        assert_eq!(refusals[&key].len(), 2);
    }
}
