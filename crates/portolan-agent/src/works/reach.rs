//! Which objects are being dealt with. Works are dealt with side by side, but two that may have a say in the same object
//! one after the other: that is what makes "no other work owns this object" a fact at the moment of a deletion.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::record::Record;
use crate::work::Work;

/// An object by what can be told of it without asking what kinds there are: group, namespace and name. Objects of
/// several kinds may share one, which costs time and nothing else.
pub(super) type Spot = (String, String, String);

/// The objects that a work asks for or may have left.
pub(super) fn reach(work: &Work, record: &Record) -> BTreeSet<Spot> {
    let left = record.entries.keys();
    let left = left.map(|id| (id.group.clone(), id.namespace.clone(), id.name.clone()));
    let wishes = work.wish.iter().flat_map(|wish| wish.manifests.iter().flatten());
    let wanted = wishes.map(|manifest| {
        (
            manifest.group.clone(),
            manifest.namespace.clone(),
            manifest.name.clone(),
        )
    });
    left.chain(wanted).collect()
}

/// The objects that are being dealt with.
#[derive(Debug, Default)]
pub(super) struct Taken {
    spots: Mutex<BTreeSet<Spot>>,
    freed: Notify,
}

/// Objects that nobody else deals with as long as this lives.
#[derive(Debug)]
pub(super) struct Hold<'t> {
    taken: &'t Taken,
    spots: BTreeSet<Spot>,
}

impl Taken {
    /// Takes all of them at once, as soon as all are free: nobody waits who has taken anything.
    pub(super) async fn take(&self, spots: BTreeSet<Spot>) -> Hold<'_> {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // From here on nothing is missed.
            freed.as_mut().enable();
            {
                let mut taken = self.spots.lock().unwrap_or_else(PoisonError::into_inner);
                if taken.is_disjoint(&spots) {
                    taken.extend(spots.iter().cloned());
                    return Hold { taken: self, spots };
                }
            }
            freed.await;
        }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut taken = self.taken.spots.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|spot| !self.spots.contains(spot));
        drop(taken);
        self.taken.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn spots(names: &[&str]) -> BTreeSet<Spot> {
        let spot = |name: &&str| (String::new(), "n".to_owned(), (*name).to_owned());
        names.iter().map(spot).collect()
    }

    #[test]
    fn what_is_taken_is_waited_for_and_what_is_free_is_not() {
        let taken = Taken::default();
        let mut context = Context::from_waker(Waker::noop());
        let mut first = Box::pin(taken.take(spots(&["a", "b"])));
        let Poll::Ready(first) = first.as_mut().poll(&mut context) else {
            panic!("nothing is taken yet");
        };
        let mut shared = Box::pin(taken.take(spots(&["b", "c"])));
        assert!(shared.as_mut().poll(&mut context).is_pending());
        let mut other = Box::pin(taken.take(spots(&["c", "d"])));
        assert!(
            other.as_mut().poll(&mut context).is_ready(),
            "who waits holds nothing"
        );
        drop(first);
        assert!(shared.as_mut().poll(&mut context).is_ready());
        let mut again = Box::pin(taken.take(spots(&["a"])));
        assert!(again.as_mut().poll(&mut context).is_ready());
    }
}
