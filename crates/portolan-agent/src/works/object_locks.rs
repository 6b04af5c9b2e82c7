//! Which objects are being dealt with. Works are dealt with side by side, and those that want the same object as well; but
//! nobody has a say in an object while another may remove it. That is what makes "no other work owns this object" a fact
//! at the moment of a deletion.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use tokio::sync::Notify;

use super::preparing::Prepared;
use super::work_queue::Works;
use super::work_reconciler::lock;
use crate::record::Record;
use crate::sabotage::{Rule, sabotaged};
use crate::work::{Kinds, Manifest, ObjectId, Work, place};

/// An object by what can be told of it without asking what kinds there are: group, namespace and name. Objects of
/// several kinds may share one, which costs time and nothing else.
type LockKey = (String, String, String);

/// The objects that a work has a say in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LockSet {
    /// Those that it wants.
    shared: BTreeSet<LockKey>,
    /// Those that it may remove, and those that it has a different opinion of than another work.
    alone: BTreeSet<LockKey>,
}

/// The objects that a work asks for or may have left, beside all works that are known. What is not applied for the work and is
/// not in its record is nothing to it: whoever may have it does not wait.
pub(super) fn reach(work: &Work, record: &Record, prepared: &Prepared, works: &Works) -> LockSet {
    let kinds = &*prepared.kinds;
    let desired = work.desired.as_ref().ok().filter(|_| !work.deleting);
    let manifests = || {
        desired
            .iter()
            .flat_map(|desired| desired.manifests.iter().flatten())
    };
    let numbered = desired
        .iter()
        .flat_map(|desired| desired.manifests.iter().enumerate());
    let numbered = numbered.filter_map(|(number, manifest)| Some((number, manifest.as_ref().ok()?)));
    let is_recorded = |manifest: &Manifest| {
        let id = place(manifest, kinds).and_then(Result::ok);
        id.is_some_and(|id| record.entries.contains_key(&id))
    };
    let claimed =
        numbered.filter(|(number, manifest)| !prepared.idle.contains(number) || is_recorded(manifest));
    // A manifest whose kind is not known yet may be any of the objects that were left, and keeps none of them.
    let stay: BTreeSet<ObjectId> = manifests()
        .filter_map(|manifest| place(manifest, kinds)?.ok())
        .collect();
    let left = record.entries.keys().filter(|id| !stay.contains(id));
    let mut alone: BTreeSet<LockKey> = left
        .map(|id| (id.group.clone(), id.namespace.clone(), id.name.clone()))
        .collect();
    let wanted: BTreeMap<LockKey, &Manifest> = claimed
        .flat_map(|(_, manifest)| {
            spots(manifest, kinds)
                .into_iter()
                .map(move |spot| (spot, manifest))
        })
        .collect();
    // Of two who want an object in different words one has the last word, and must not be overwritten by what the other
    // had in hand before it heard of that.
    for rival in works
        .values()
        .filter(|other| other.key != work.key && !other.deleting)
    {
        let theirs = rival
            .desired
            .iter()
            .flat_map(|desired| desired.manifests.iter().flatten());
        for theirs in theirs {
            let same = spots(theirs, kinds).into_iter().filter(|spot| {
                let ours = wanted.get(spot);
                ours.is_some_and(|ours| ours.body != theirs.body)
            });
            alone.extend(same);
        }
    }
    if sabotaged(Rule::RemoveAlone) {
        alone.clear();
    }
    LockSet {
        shared: wanted.into_keys().collect(),
        alone,
    }
}

/// The objects that a record lists, to be had alone.
pub(super) fn all_of(record: &Record) -> LockSet {
    let listed = record.entries.keys();
    LockSet {
        shared: BTreeSet::new(),
        alone: listed
            .map(|id| (id.group.clone(), id.namespace.clone(), id.name.clone()))
            .collect(),
    }
}

/// Where a manifest may have its place. A namespace means nothing to a kind without, and of a kind that is not known yet it
/// cannot be told.
fn spots(manifest: &Manifest, kinds: &Kinds) -> Vec<LockKey> {
    let spot = |namespace: &str| {
        (
            manifest.group.clone(),
            namespace.to_owned(),
            manifest.name.clone(),
        )
    };
    match kinds.find(manifest) {
        Some(resource) if resource.namespaced => vec![spot(&manifest.namespace)],
        None if !manifest.namespace.is_empty() => vec![spot(&manifest.namespace), spot("")],
        _ => vec![spot("")],
    }
}

/// The objects that are being dealt with.
#[derive(Debug, Default)]
pub(super) struct ObjectLocks {
    spots: Mutex<Spots>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Spots {
    shared: BTreeMap<LockKey, usize>,
    alone: BTreeSet<LockKey>,
    /// What is waited for to be had alone, and by whom: those who want it too and came later come after that, or it might
    /// never be free. Who came first waits for nobody but those who have something.
    asked_for: BTreeMap<LockKey, BTreeSet<Ticket>>,
    next: Ticket,
}

/// The order of those who wait.
type Ticket = u64;

/// Objects that nobody else deals with, or only those who want them too, as long as this lives.
#[derive(Debug)]
pub(super) struct LockGuard<'t> {
    taken: &'t ObjectLocks,
    reach: LockSet,
}

impl Spots {
    fn are_free(&self, reach: &LockSet, ticket: Ticket) -> bool {
        let asked = |spot: &LockKey| {
            let first = self.asked_for.get(spot).and_then(BTreeSet::first);
            first.is_some_and(|first| *first < ticket)
        };
        let held =
            |spot: &LockKey| self.shared.contains_key(spot) || self.alone.contains(spot) || asked(spot);
        let closed = |spot: &LockKey| self.alone.contains(spot) || asked(spot);
        // What a work may remove and wants as well it has alone.
        let mut shared = reach.shared.difference(&reach.alone);
        !reach.alone.iter().any(held) && !shared.any(closed)
    }
}

fn count(counts: &mut BTreeMap<LockKey, usize>, spots: &BTreeSet<LockKey>) {
    spots
        .iter()
        .for_each(|spot| *counts.entry(spot.clone()).or_default() += 1);
}

fn discount(counts: &mut BTreeMap<LockKey, usize>, spots: &BTreeSet<LockKey>) {
    for spot in spots {
        if let Some(number) = counts.get_mut(spot) {
            *number -= 1;
        }
    }
    counts.retain(|_, number| *number > 0);
}

impl ObjectLocks {
    /// Takes all of them at once, as soon as all are free: nobody waits who has taken anything.
    pub(super) async fn take(&self, reach: LockSet) -> LockGuard<'_> {
        let asking = Waiter::new(self, &reach.alone);
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // From here on nothing is missed.
            freed.as_mut().enable();
            {
                let mut spots = lock(&self.spots);
                if spots.are_free(&reach, asking.ticket) {
                    count(&mut spots.shared, &reach.shared);
                    spots.alone.extend(reach.alone.iter().cloned());
                    drop(spots);
                    drop(asking);
                    return LockGuard { taken: self, reach };
                }
            }
            freed.await;
        }
    }
}

/// A waiting request for exclusive access to objects.
struct Waiter<'t> {
    taken: &'t ObjectLocks,
    alone: BTreeSet<LockKey>,
    ticket: Ticket,
}

impl Waiter<'_> {
    fn new<'t>(taken: &'t ObjectLocks, alone: &BTreeSet<LockKey>) -> Waiter<'t> {
        let mut spots = lock(&taken.spots);
        let ticket = spots.next;
        spots.next += 1;
        for spot in alone {
            spots.asked_for.entry(spot.clone()).or_default().insert(ticket);
        }
        Waiter {
            taken,
            alone: alone.clone(),
            ticket,
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut spots = lock(&self.taken.spots);
        for spot in &self.alone {
            if let Some(tickets) = spots.asked_for.get_mut(spot) {
                tickets.remove(&self.ticket);
            }
        }
        spots.asked_for.retain(|_, tickets| !tickets.is_empty());
        drop(spots);
        // A later request may be the first one now.
        self.taken.freed.notify_waiters();
    }
}

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        let mut spots = lock(&self.taken.spots);
        discount(&mut spots.shared, &self.reach.shared);
        spots.alone.retain(|spot| !self.reach.alone.contains(spot));
        drop(spots);
        self.taken.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};

    use portolan_api::work::ManifestWork;
    use serde_json::json;

    use super::*;
    use crate::record::Entry;
    use crate::sabotage::with_sabotaged;
    use crate::work::{Resource, Untyped, WorkKind, read};

    fn reach(shared: &[&str], alone: &[&str]) -> LockSet {
        let spot = |name: &&str| (String::new(), "n".to_owned(), (*name).to_owned());
        LockSet {
            shared: shared.iter().map(spot).collect(),
            alone: alone.iter().map(spot).collect(),
        }
    }

    type Taking<'t> = Pin<Box<dyn Future<Output = LockGuard<'t>> + 't>>;

    fn poll<'t>(taking: &mut Taking<'t>) -> Option<LockGuard<'t>> {
        match taking.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(hold) => Some(hold),
            Poll::Pending => None,
        }
    }

    #[test]
    fn what_is_wanted_is_shared_and_what_may_be_removed_is_not() {
        let taken = ObjectLocks::default();
        let taking =
            |shared: &[&str], alone: &[&str]| -> Taking<'_> { Box::pin(taken.take(reach(shared, alone))) };
        let one = poll(&mut taking(&["a", "b"], &[])).unwrap();
        let two = poll(&mut taking(&["b", "c"], &[])).unwrap();
        let mut removal = taking(&["d"], &["b"]);
        assert!(poll(&mut removal).is_none());
        assert!(
            poll(&mut taking(&["e"], &["f"])).is_some(),
            "that is something else"
        );
        drop(one);
        assert!(poll(&mut removal).is_none());
        assert!(
            poll(&mut taking(&["b"], &[])).is_none(),
            "it was asked for before"
        );
        assert!(
            poll(&mut taking(&["d"], &[])).is_some(),
            "who waits holds nothing"
        );
        drop(two);
        let removal = poll(&mut removal).unwrap();
        let mut late = taking(&["b"], &[]);
        assert!(poll(&mut late).is_none() && poll(&mut taking(&[], &["b"])).is_none());
        drop(removal);
        assert!(poll(&mut late).is_some());
        assert!(poll(&mut taking(&["b"], &["b"])).is_some(), "nobody is left");
    }

    #[test]
    fn of_two_who_want_alone_what_the_other_wants_too_the_first_gets_it() {
        let taken = ObjectLocks::default();
        let taking =
            |shared: &[&str], alone: &[&str]| -> Taking<'_> { Box::pin(taken.take(reach(shared, alone))) };
        let both = poll(&mut taking(&["x", "y"], &[])).unwrap();
        let (mut one, mut other) = (taking(&["y"], &["x"]), taking(&["x"], &["y"]));
        assert!(poll(&mut one).is_none() && poll(&mut other).is_none());
        drop(both);
        assert!(poll(&mut other).is_none());
        let one = poll(&mut one).unwrap();
        assert!(poll(&mut other).is_none());
        drop(one);
        assert!(poll(&mut other).is_some());
    }

    #[test]
    fn whoever_gives_up_waiting_is_waited_for_no_longer() {
        let taken = ObjectLocks::default();
        let holder: Taking<'_> = Box::pin(taken.take(reach(&["x"], &[])));
        let holder = poll(&mut { holder }).unwrap();
        let mut removal: Taking<'_> = Box::pin(taken.take(reach(&[], &["x"])));
        let mut reader: Taking<'_> = Box::pin(taken.take(reach(&["x"], &[])));
        assert!(poll(&mut removal).is_none() && poll(&mut reader).is_none());
        drop(removal);
        assert!(poll(&mut reader).is_some());
        drop(holder);
    }

    fn work(name: &str, deleting: bool, value: &str) -> Work {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "n" }, "data": { "k": value },
        });
        let object: Untyped<ManifestWork> = serde_json::from_value(json!({
            "metadata": { "name": name }, "spec": { "workload": { "manifests": [map] } },
        }))
        .unwrap();
        let mut work = read(
            WorkKind::ManifestWork,
            &object.metadata,
            &object.spec,
            &object.status,
        );
        work.deleting = deleting;
        work
    }

    /// Whether what these works want or may remove keeps one waiting for the other.
    fn wait_for_each_other(one: &Work, other: &Work) -> bool {
        let works = [one, other].map(|work| (work.key.clone(), std::sync::Arc::new(work.clone())));
        let works = BTreeMap::from(works);
        let left = |work: &Work| {
            let id = ObjectId {
                resource: "configmaps".to_owned(),
                namespace: "n".to_owned(),
                name: "a".to_owned(),
                ..ObjectId::default()
            };
            Record {
                entries: BTreeMap::from([(id, Entry::default())]),
                ..Record::new(&work.key, String::new())
            }
        };
        let mut kinds = Kinds::default();
        let resource = Resource {
            plural: "configmaps".to_owned(),
            namespaced: true,
        };
        kinds.learn("v1", BTreeMap::from([("ConfigMap".to_owned(), resource)]));
        let taken = ObjectLocks::default();
        let prepared = Prepared::open(Arc::new(kinds), Ok(()));
        let of = |work: &Work| super::reach(work, &left(work), &prepared, &works);
        let first: Taking<'_> = Box::pin(taken.take(of(one)));
        let first = poll(&mut { first });
        let second: Taking<'_> = Box::pin(taken.take(of(other)));
        first.is_some() && poll(&mut { second }).is_none()
    }

    #[test]
    fn nobody_touches_what_another_may_remove_and_a_broken_rule_is_noticed() {
        let (gone, kept) = (work("gone", true, "1"), work("kept", false, "1"));
        assert!(wait_for_each_other(&gone, &kept) && wait_for_each_other(&kept, &gone));
        with_sabotaged(Rule::RemoveAlone, || assert!(!wait_for_each_other(&gone, &kept)));
    }

    #[test]
    fn those_who_want_the_same_go_side_by_side_and_those_who_differ_do_not() {
        let (one, same, other) = (
            work("one", false, "1"),
            work("same", false, "1"),
            work("other", false, "2"),
        );
        assert!(!wait_for_each_other(&one, &same));
        assert!(wait_for_each_other(&one, &other));
    }
}
