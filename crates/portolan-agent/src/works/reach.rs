//! Which objects are being dealt with. Works are dealt with side by side, and those that want the same object as well; but
//! nobody has a say in an object while another may remove it. That is what makes "no other work owns this object" a fact
//! at the moment of a deletion.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use tokio::sync::Notify;

use super::pass::lock;
use crate::record::Record;
use crate::work::{Kinds, ObjectId, Work, resolve};

/// An object by what can be told of it without asking what kinds there are: group, namespace and name. Objects of
/// several kinds may share one, which costs time and nothing else.
type Spot = (String, String, String);

/// The objects that a work has a say in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// Those that it wants.
    shared: BTreeSet<Spot>,
    /// Those that it may remove.
    alone: BTreeSet<Spot>,
}

/// The objects that a work asks for or may have left.
pub(super) fn reach(work: &Work, record: &Record, kinds: &Kinds) -> Reach {
    let wish = work.wish.as_ref().ok().filter(|_| !work.deleting);
    let manifests = || wish.iter().flat_map(|wish| wish.manifests.iter().flatten());
    // A manifest whose kind is not known yet may be any of the objects that were left, and keeps none of them.
    let stay: BTreeSet<ObjectId> = manifests()
        .filter_map(|manifest| Some(resolve(manifest, &[], kinds)?.ok()?.id))
        .collect();
    let left = record.entries.keys().filter(|id| !stay.contains(id));
    let spot =
        |group: &String, namespace: &String, name: &String| (group.clone(), namespace.clone(), name.clone());
    let wanted = manifests().map(|manifest| spot(&manifest.group, &manifest.namespace, &manifest.name));
    Reach {
        shared: wanted.collect(),
        alone: left.map(|id| spot(&id.group, &id.namespace, &id.name)).collect(),
    }
}

/// The objects that are being dealt with.
#[derive(Debug, Default)]
pub(super) struct Taken {
    spots: Mutex<Spots>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Spots {
    shared: BTreeMap<Spot, usize>,
    alone: BTreeSet<Spot>,
    /// What somebody waits to have alone: whoever wants it too comes after that, or it might never be free.
    asked_for: BTreeMap<Spot, usize>,
}

/// Objects that nobody else deals with, or only those who want them too, as long as this lives.
#[derive(Debug)]
pub(super) struct Hold<'t> {
    taken: &'t Taken,
    reach: Reach,
}

impl Spots {
    fn are_free(&self, reach: &Reach) -> bool {
        let held = |spot: &Spot| self.shared.contains_key(spot) || self.alone.contains(spot);
        let closed = |spot: &Spot| self.alone.contains(spot) || self.asked_for.contains_key(spot);
        // What a work may remove and wants as well it has alone.
        let mut shared = reach.shared.difference(&reach.alone);
        !reach.alone.iter().any(held) && !shared.any(closed)
    }
}

fn count(counts: &mut BTreeMap<Spot, usize>, spots: &BTreeSet<Spot>) {
    spots
        .iter()
        .for_each(|spot| *counts.entry(spot.clone()).or_default() += 1);
}

fn discount(counts: &mut BTreeMap<Spot, usize>, spots: &BTreeSet<Spot>) {
    for spot in spots {
        if let Some(number) = counts.get_mut(spot) {
            *number -= 1;
        }
    }
    counts.retain(|_, number| *number > 0);
}

impl Taken {
    /// Takes all of them at once, as soon as all are free: nobody waits who has taken anything.
    pub(super) async fn take(&self, reach: Reach) -> Hold<'_> {
        let asking = Asking::new(self, &reach.alone);
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // From here on nothing is missed.
            freed.as_mut().enable();
            {
                let mut spots = lock(&self.spots);
                if spots.are_free(&reach) {
                    count(&mut spots.shared, &reach.shared);
                    spots.alone.extend(reach.alone.iter().cloned());
                    drop(spots);
                    drop(asking);
                    return Hold { taken: self, reach };
                }
            }
            freed.await;
        }
    }
}

/// Somebody waits to have objects alone.
struct Asking<'t> {
    taken: &'t Taken,
    spots: BTreeSet<Spot>,
}

impl Asking<'_> {
    fn new<'t>(taken: &'t Taken, spots: &BTreeSet<Spot>) -> Asking<'t> {
        count(&mut lock(&taken.spots).asked_for, spots);
        Asking {
            taken,
            spots: spots.clone(),
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        discount(&mut lock(&self.taken.spots).asked_for, &self.spots);
    }
}

impl Drop for Hold<'_> {
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
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn reach(shared: &[&str], alone: &[&str]) -> Reach {
        let spot = |name: &&str| (String::new(), "n".to_owned(), (*name).to_owned());
        Reach {
            shared: shared.iter().map(spot).collect(),
            alone: alone.iter().map(spot).collect(),
        }
    }

    type Taking<'t> = Pin<Box<dyn Future<Output = Hold<'t>> + 't>>;

    fn poll<'t>(taking: &mut Taking<'t>) -> Option<Hold<'t>> {
        match taking.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(hold) => Some(hold),
            Poll::Pending => None,
        }
    }

    #[test]
    fn what_is_wanted_is_shared_and_what_may_be_removed_is_not() {
        let taken = Taken::default();
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
}
